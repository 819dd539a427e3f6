/**
 * Concurrent writes of records share two statements, and concurrent reads share one. A write that loses a race with
 * another writer is planned again from the current data. After a few rounds it uses a separate transaction, with
 * locks.
 */
import {
  corruptValue,
  type EngineCall,
  type FirstClaimed,
  type FirstClaims,
  GroupCommit,
  type RecordName,
  type RecordOutcome,
  type RecordWrite,
  type StoredRecord,
} from '@tidemark/core/engine';
import {
  type AloneRecords,
  type ChainRows,
  type FieldRow,
  fieldSum,
  gatherRecords,
  type MadeChange,
  recordStart,
  type SharedRecords,
} from '@tidemark/sql';
import { ColumnSets } from './binary-arrays.ts';
import type { Database } from './database.ts';
import { isRefused, translateRead, translateWrite } from './errors.ts';
import type { ClaimsOfType } from './job-step.ts';
import { JobSteps } from './job-steps.ts';
import {
  type ChainOfGroup,
  chainsOf,
  type GroupPlan,
  type LookRow,
  lookStatement,
  planGroup,
  push,
  type Statement,
  writeStatement,
} from './record-group.ts';
import { READ, READ_PARAMETERS } from './record-group-sql.ts';

const MAX_ROUNDS = 3;
const MAX_WRITES = 250;
const MAX_READS = 128;
/** Bytes of values after which a group continues with the next statement. */
const MAX_BYTES = 4 * 1024 * 1024;

/** A record, or one field of it. */
interface ReadRequest {
  name: RecordName;
  field: string | null;
}

const readColumns = new ColumnSets(READ_PARAMETERS);

type ReadAnswer = StoredRecord | Uint8Array | null;
type Outcome = RecordOutcome | Error;

/** A write, or the claims of a type. */
type Operation = RecordWrite | ClaimsOfType;

export class GroupedRecords implements SharedRecords {
  readonly #database: Database;
  readonly #alone: AloneRecords;
  readonly #jobs: JobSteps;
  readonly #writes: GroupCommit<Operation, RecordOutcome | FirstClaimed>;
  readonly #reads: GroupCommit<ReadRequest, ReadAnswer>;
  /** Whether a worker has just moved a job, and may claim the next one in the same turn. */
  #expectsClaims = false;

  constructor(database: Database, alone: AloneRecords) {
    this.#database = database;
    this.#alone = alone;
    this.#jobs = new JobSteps(database, (changes) => alone.report(changes));
    this.#writes = new GroupCommit((take) => this.#commit(take), { maxGroup: MAX_WRITES });
    this.#reads = new GroupCommit((take) => this.#readAll(take()), { maxGroup: MAX_READS, reads: true });
  }

  write(write: RecordWrite, call: EngineCall): Promise<RecordOutcome> {
    this.#expectsClaims ||= this.#jobs.knows(write);
    return this.#writes.submit(write, call) as Promise<RecordOutcome>;
  }

  claimFirst(tenantId: string, step: FirstClaims, call: EngineCall): Promise<FirstClaimed> {
    return this.#writes.submit({ tenantId, step }, call) as Promise<FirstClaimed>;
  }

  awaitClaims(tenantId: string, taskType: string, call: EngineCall): Promise<void> {
    return this.#jobs.awaitClaims(tenantId, taskType, call);
  }

  async get(name: RecordName, call: EngineCall): Promise<StoredRecord | null> {
    return (await this.#reads.submit({ name, field: null }, call)) as StoredRecord | null;
  }

  async getField(name: RecordName, field: string, call: EngineCall): Promise<Uint8Array | null> {
    const found = (await this.#reads.submit({ name, field }, call)) as Uint8Array | null;
    // Only the whole record shows whether the field is absent or lost.
    return found ?? (await this.get(name, call))?.fields.get(field) ?? null;
  }

  drain(): Promise<void> {
    return this.#writes.drain();
  }

  async #commit(take: () => readonly Operation[]): Promise<(RecordOutcome | FirstClaimed | Error)[]> {
    if (this.#expectsClaims) await claimsToJoin();
    this.#expectsClaims = false;
    const operations = take();
    const writes = operations.filter((it) => 'name' in it);
    const claims = operations.filter((it) => 'step' in it);
    const outcomes: Outcome[] = [];
    const claimed = await this.#commitBoth(chainsOf(writes), claims, outcomes);
    if (claims.length === 0) return outcomes;
    let [write, claim] = [0, 0];
    return operations.map((it) => ('step' in it ? claimed[claim++]! : outcomes[write++]!));
  }

  /** Adds the outcomes of the chains, and returns those of the claims. */
  async #commitBoth(
    chains: readonly ChainOfGroup[],
    claims: readonly ClaimsOfType[],
    outcomes: Outcome[],
  ): Promise<(FirstClaimed | Error)[]> {
    const isMove = ({ writes }: ChainOfGroup) => writes.length === 1 && this.#jobs.knows(writes[0]!);
    const moves = chains.filter(isMove);
    const others = moves.length === 0 ? chains : chains.filter((chain) => !isMove(chain));
    this.#jobs.forget(others);
    const [step] = await Promise.all([this.#jobs.perform(moves, claims), this.#commitChains(others, outcomes)]);
    for (const [at, outcome] of step.moves.entries()) if (outcome) outcomes[moves[at]!.indexes[0]!] = outcome;
    await this.#commitChains(
      moves.filter((_, at) => step.moves[at] === null),
      outcomes,
    );
    return step.claims;
  }

  async #commitChains(chains: readonly ChainOfGroup[], outcomes: Outcome[]): Promise<void> {
    for (const part of partsOf(chains)) await this.#commitPart(part, outcomes);
  }

  async #commitPart(chains: readonly ChainOfGroup[], outcomes: Outcome[]): Promise<void> {
    let left = [...chains];
    const alone: ChainOfGroup[] = [];
    for (let round = 0; round < MAX_ROUNDS && left.length > 0; round++) {
      left = await this.#tryTogether(left, outcomes, alone);
    }
    await Promise.all([...alone, ...left].map((chain) => this.#writeAlone(chain, outcomes)));
  }

  /**
   * Reads the records of the chains, and writes those that have not changed since. Adds the outcomes, and the chains
   * that need separate transactions. Returns the chains whose record was changed by another writer.
   */
  async #tryTogether(
    chains: readonly ChainOfGroup[],
    outcomes: Outcome[],
    alone: ChainOfGroup[],
  ): Promise<ChainOfGroup[]> {
    const settle = ({ indexes }: ChainOfGroup, results: readonly Outcome[]) => {
      for (const [at, index] of indexes.entries()) outcomes[index] = results[at]!;
    };
    const fail = (chain: ChainOfGroup, error: unknown) =>
      settle(
        chain,
        chain.writes.map(() => error as Error),
      );
    let plan: GroupPlan;
    try {
      plan = await this.#look(chains);
    } catch (error) {
      for (const chain of chains) fail(chain, translateRead(error));
      return [];
    }
    const rows = new Map<number, ChainRows>();
    for (const [no, planned] of plan.plans.entries()) {
      if (planned.rows === 'alone') alone.push(chains[no]!);
      else if (planned.rows) rows.set(no, planned.rows);
      else settle(chains[no]!, planned.outcomes);
    }
    if (rows.size === 0) return [];
    let written: ReadonlySet<number>;
    try {
      written = await this.#write(chains, rows, plan.now);
    } catch (error) {
      for (const no of rows.keys()) {
        if (isRefused(error)) alone.push(chains[no]!);
        else fail(chains[no]!, translateWrite(error));
      }
      return [];
    }
    const changes: MadeChange[] = [];
    const raced: ChainOfGroup[] = [];
    for (const no of rows.keys()) {
      if (!written.has(no)) raced.push(chains[no]!);
      else {
        changes.push(...plan.plans[no]!.changes);
        settle(chains[no]!, plan.plans[no]!.outcomes);
      }
    }
    this.#alone.report(changes);
    return raced;
  }

  async #look(chains: readonly ChainOfGroup[]): Promise<GroupPlan> {
    const rows = await this.#send(lookStatement(chains), tenantsOf(chains));
    return planGroup(chains, rows as unknown as LookRow[]);
  }

  /** Returns the numbers of the chains that were written. */
  async #write(
    chains: readonly ChainOfGroup[],
    rows: ReadonlyMap<number, ChainRows>,
    readAt: number,
  ): Promise<ReadonlySet<number>> {
    const written = await this.#send(writeStatement(chains, rows, readAt), tenantsOf(chains));
    return new Set(written.map(([no]) => no as number));
  }

  async #send({ text, values, release }: Statement, tenants: readonly string[]): Promise<unknown[][]> {
    try {
      return await this.#database.statement(text, values, tenants);
    } finally {
      release();
    }
  }

  async #writeAlone({ writes, indexes }: ChainOfGroup, outcomes: Outcome[]): Promise<void> {
    for (const [at, write] of writes.entries()) {
      outcomes[indexes[at]!] = await this.#alone.write(write, {}).catch((error: Error) => error);
    }
  }

  async #readAll(requests: readonly ReadRequest[]): Promise<(ReadAnswer | Error)[]> {
    const columns = readColumns.take();
    for (const [no, { name, field }] of requests.entries()) push(columns, [no, name.tenantId, name.key, field]);
    const values = columns.map((column) => column.finish());
    const tenants = tenantsOf(requests);
    const rows = await this.#database
      .statement(READ, values, tenants, 'READ ONLY')
      .catch((error: unknown) => {
        throw translateRead(error);
      })
      .finally(() => readColumns.giveBack(columns));
    const found: ReadRow[][] = requests.map(() => []);
    for (const row of rows as unknown as ReadRow[]) found[row[0]]!.push(row);
    return requests.map((request, no) => (request.field === null ? recordIn : fieldIn)(request, found[no]!));
  }
}

/** A result row of a read. */
type ReadRow = readonly [
  no: number,
  revision: number | null,
  expiresAt: number | null,
  sum: number | null,
  field: string | null,
  value: Uint8Array | null,
  fieldSum: number | null,
  now: number,
];

/**
 * Returns the record of a read. A record and its fields are written and removed in one step, so fields without a record
 * belong to a damaged record. An expired record must match its checksum too.
 */
function recordIn({ name }: ReadRequest, rows: readonly ReadRow[]): StoredRecord | Error | null {
  const { tenantId, key } = name;
  const [first] = rows;
  if (!first || first[1] === null) return first && first[4] !== null ? corruptValue('record', key) : null;
  const joined = rows.map(
    ([, revision, expires_at, sum, field, value, , now]): FieldRow => ({
      ...{ key, revision: revision!, expires_at, sum, now, field, value },
    }),
  );
  const [record] = gatherRecords(tenantId, joined);
  if (record!.damaged) return corruptValue('record', key);
  const { fields, revision, ttlMs } = record!;
  return ttlMs !== null && ttlMs <= 0 ? null : { fields, revision, ttlMs };
}

/** Returns the field of a live record, or `null` if the whole record must be read. */
function fieldIn({ name, field }: ReadRequest, [row]: readonly ReadRow[]): Uint8Array | Error | null {
  const [, revision, expiresAt, , , value, sum, now] = row!;
  if (revision === null || !value || (expiresAt !== null && expiresAt <= now)) return null;
  const isIntact = sum === null || fieldSum(recordStart(name.tenantId, name.key), field!, value) === sum;
  return isIntact ? value : corruptValue('record', name.key);
}

function tenantsOf(items: readonly { name: RecordName }[]): string[] {
  return [...new Set(items.map(({ name }) => name.tenantId))];
}

/** Divides a group so that no statement contains too many bytes. */
function* partsOf(chains: readonly ChainOfGroup[]): Generator<readonly ChainOfGroup[]> {
  let [from, bytes] = [0, 0];
  for (const [at, { writes }] of chains.entries()) {
    if (bytes > MAX_BYTES) {
      yield chains.slice(from, at);
      [from, bytes] = [at, 0];
    }
    for (const { set } of writes) for (const value of set.values()) bytes += value?.length ?? 0;
  }
  if (chains.length > from) yield chains.slice(from);
}

/** Waits for two turns of the event loop: concurrent claims of a type wait for the end of a turn before they arrive. */
async function claimsToJoin(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}

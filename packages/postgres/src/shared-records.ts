/**
 * Concurrent writes of records share two statements, and concurrent reads share one. A write that loses a race with
 * another writer is planned again from the current data. After a few rounds it uses a transaction of its own, with
 * locks.
 */
import {
  corruptValue,
  type EngineCall,
  GroupCommit,
  type IndexStep,
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
import { BinaryArray } from './binary-arrays.ts';
import type { Database } from './database.ts';
import {
  isFenced,
  isSerializationFailure,
  isUniqueViolation,
  sqlState,
  translateRead,
  translateWrite,
} from './errors.ts';
import { type IndexedRow, indexKeysStatement, planIndexStep } from './index-step.ts';
import {
  type ChainOfGroup,
  chainsOf,
  type GroupPlan,
  type LookRow,
  lookStatement,
  planGroup,
  push,
  writeStatement,
} from './record-group.ts';
import { READ, READ_PARAMETERS } from './record-group-sql.ts';

const MOST_ROUNDS = 3;
const MOST_WRITES = 250;
const MOST_READS = 128;
/** Bytes of values after which a group continues with the next statement. */
const MOST_BYTES = 4 * 1024 * 1024;

/** A record, or one field of it. */
interface ReadRequest {
  name: RecordName;
  field: string | null;
}

const NOTHING: ReadonlySet<number> = new Set();

/** The outcome of a write that lost a race with another writer. */
const LOST: RecordOutcome = { applied: false, record: null, existed: true };

type ReadAnswer = StoredRecord | Uint8Array | null;
type Outcome = RecordOutcome | Error;

export class GroupedRecords implements SharedRecords {
  readonly #database: Database;
  readonly #alone: AloneRecords;
  readonly #writes: GroupCommit<RecordWrite, RecordOutcome>;
  readonly #reads: GroupCommit<ReadRequest, ReadAnswer>;

  constructor(database: Database, alone: AloneRecords) {
    this.#database = database;
    this.#alone = alone;
    this.#writes = new GroupCommit((take) => this.#commit(take()), { maxGroup: MOST_WRITES });
    this.#reads = new GroupCommit((take) => this.#readAll(take()), { maxGroup: MOST_READS, reads: true });
  }

  write(write: RecordWrite, call: EngineCall): Promise<RecordOutcome> {
    return this.#writes.submit(write, call);
  }

  async get(name: RecordName, call: EngineCall): Promise<StoredRecord | null> {
    return (await this.#reads.submit({ name, field: null }, call)) as StoredRecord | null;
  }

  async getField(name: RecordName, field: string, call: EngineCall): Promise<Uint8Array | null> {
    const found = (await this.#reads.submit({ name, field }, call)) as Uint8Array | null;
    // Only the whole record shows whether the field is absent or lost.
    return found ?? (await this.get(name, call))?.fields.get(field) ?? null;
  }

  async stepIndex(tenantId: string, step: IndexStep): Promise<RecordOutcome[]> {
    const { text, values } = indexKeysStatement(tenantId, step);
    const found = await this.#database.statement(text, values, [tenantId]).catch((error: unknown) => {
      throw translateRead(error);
    });
    const { chains, plans, now } = planIndexStep(tenantId, step, found as unknown as IndexedRow[]);
    const rows = new Map<number, ChainRows>();
    for (const [no, planned] of plans.entries())
      if (planned.rows !== null && planned.rows !== 'alone') rows.set(no, planned.rows);
    const written = rows.size === 0 ? NOTHING : await this.#writeOrLose(chains, rows, now);
    const outcomes: RecordOutcome[] = [];
    const changes: MadeChange[] = [];
    for (const [no, { indexes }] of chains.entries()) {
      const { rows: planned, outcomes: results, changes: made } = plans[no]!;
      const isSettled = planned === null || written.has(no);
      if (isSettled) changes.push(...made);
      for (const [at, index] of indexes.entries()) {
        const result = results[at]!;
        if (isSettled && result instanceof Error) throw result;
        outcomes[index] = isSettled ? (result as RecordOutcome) : LOST;
      }
    }
    this.#alone.report(changes);
    return outcomes;
  }

  /** Like `#write`, but returns an empty set if the server refused the statement because of a conflict. */
  async #writeOrLose(
    chains: readonly ChainOfGroup[],
    rows: ReadonlyMap<number, ChainRows>,
    readAt: number,
  ): Promise<ReadonlySet<number>> {
    try {
      return await this.#write(chains, rows, readAt);
    } catch (error) {
      if (isRefused(error)) return NOTHING;
      throw translateWrite(error);
    }
  }

  drain(): Promise<void> {
    return this.#writes.drain();
  }

  async #commit(writes: readonly RecordWrite[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    for (const part of partsOf(writes)) outcomes.push(...(await this.#commitPart(part)));
    return outcomes;
  }

  async #commitPart(writes: readonly RecordWrite[]): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    let left = chainsOf(writes);
    const alone: ChainOfGroup[] = [];
    for (let round = 0; round < MOST_ROUNDS && left.length > 0; round++) {
      left = await this.#tryTogether(left, outcomes, alone);
    }
    await Promise.all([...alone, ...left].map((chain) => this.#writeAlone(chain, outcomes)));
    return outcomes;
  }

  /**
   * Reads the records of the chains, and writes those that have not changed since. Adds the outcomes, and the chains
   * that need transactions of their own. Returns the chains whose record was changed by another writer.
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
    const { text, values } = lookStatement(chains);
    const rows = await this.#database.statement(text, values, tenantsOf(chains));
    return planGroup(chains, rows as unknown as LookRow[]);
  }

  /** Returns the numbers of the chains that were written. */
  async #write(
    chains: readonly ChainOfGroup[],
    rows: ReadonlyMap<number, ChainRows>,
    readAt: number,
  ): Promise<ReadonlySet<number>> {
    const { text, values } = writeStatement(chains, rows, readAt);
    const written = await this.#database.statement(text, values, tenantsOf(chains));
    return new Set(written.map(([no]) => no as number));
  }

  async #writeAlone({ writes, indexes }: ChainOfGroup, outcomes: Outcome[]): Promise<void> {
    for (const [at, write] of writes.entries()) {
      outcomes[indexes[at]!] = await this.#alone.write(write, {}).catch((error: Error) => error);
    }
  }

  async #readAll(requests: readonly ReadRequest[]): Promise<(ReadAnswer | Error)[]> {
    const columns = READ_PARAMETERS.map((type) => new BinaryArray(type));
    for (const [no, { name, field }] of requests.entries()) push(columns, [no, name.tenantId, name.key, field]);
    const values = columns.map((column) => column.finish());
    const tenants = tenantsOf(requests);
    const rows = await this.#database.statement(READ, values, tenants, 'READ ONLY').catch((error: unknown) => {
      throw translateRead(error);
    });
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

/** Whether the server refused the statement because of one of its writes, or in favour of another. */
function isRefused(error: unknown): boolean {
  if (isUniqueViolation(error) || isSerializationFailure(error) || isFenced(error)) return true;
  return /^(21|22|23|54)/.test(sqlState(error) ?? '');
}

function tenantsOf(items: readonly { name: RecordName }[]): string[] {
  return [...new Set(items.map(({ name }) => name.tenantId))];
}

/** Divides a group so that no statement carries too many bytes. */
function* partsOf(writes: readonly RecordWrite[]): Generator<readonly RecordWrite[]> {
  let [from, bytes] = [0, 0];
  for (const [at, { set }] of writes.entries()) {
    if (bytes > MOST_BYTES) {
      yield writes.slice(from, at);
      [from, bytes] = [at, 0];
    }
    for (const value of set.values()) bytes += value?.length ?? 0;
  }
  yield writes.slice(from);
}

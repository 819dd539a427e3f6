/**
 * The writes of a group of records: encodes the parameters of its two statements, and applies the steps in between.
 * Writes on the same record form a chain and behave as if they came one after the other.
 */
import { compareKeys, type RecordName, type RecordWrite, requestName } from '@tidemark/core/engine';
import {
  type ChainPlan,
  type ChainRows,
  idOf,
  needsFields,
  planChain,
  type RecordRow,
  type SqlInteger,
  seenRows,
} from '@tidemark/sql';
import { type BinaryArray, ColumnSets } from './binary-arrays.ts';
import {
  ANSWER_ROW,
  CLOCK_ROW,
  FIELDS_READ,
  INPUTS,
  type InputName,
  LOOK,
  LOOK_AT_REQUESTS,
  LOOK_PARAMETERS,
  WRITE_WITHIN_MS,
  writeSql,
} from './record-group-sql.ts';

/** A statement with its parameters. */
export interface Statement {
  text: string;
  values: unknown[];
  /** Call it once the statement has settled. The memory of the parameters is then reused. */
  release(): void;
}

/** The writes of a group on one record, in order. */
export interface ChainOfGroup {
  name: RecordName;
  writes: RecordWrite[];
  /** The indexes of the writes in the group. */
  indexes: number[];
}

/** A result row of the first statement. */
export type LookRow = readonly [
  no: number,
  revision: SqlInteger | null,
  expiresAt: SqlInteger | null,
  requests: string | null,
  sum: number | null,
  field: string | null,
  value: Uint8Array | null,
];

/** Divides writes by record, in the order in which every group locks its records. */
export function chainsOf(writes: readonly RecordWrite[]): ChainOfGroup[] {
  const chains = new Map<string, ChainOfGroup>();
  for (const [at, write] of writes.entries()) {
    const id = idOf(write.name);
    const chain = chains.get(id);
    if (!chain) chains.set(id, { name: write.name, writes: [write], indexes: [at] });
    else {
      chain.writes.push(write);
      chain.indexes.push(at);
    }
  }
  const byName = (a: ChainOfGroup, b: ChainOfGroup) =>
    compareKeys(a.name.tenantId, b.name.tenantId) || compareKeys(a.name.key, b.name.key);
  return chains.size === 1 ? [...chains.values()] : [...chains.values()].sort(byName);
}

/** Returns the statement that reads what the chains need. */
export function lookStatement(chains: readonly ChainOfGroup[]): Statement {
  const columns = lookColumns.take();
  const requestColumns = requestIdColumns.take();
  let [changes, requests] = [0, 0];
  for (const [no, { name, writes }] of chains.entries()) {
    changes += writes.length;
    const fields = writes.some(readsFields) ? FIELDS_READ.values : FIELDS_READ.names;
    push(columns, [no, name.tenantId, name.key, fields]);
    for (const { requestId, requestIsNew } of writes) {
      if (requestId === undefined || requestIsNew) continue;
      requests++;
      push(requestColumns, [name.tenantId, requestName(name, requestId).key]);
    }
  }
  const release = () => {
    lookColumns.giveBack(columns);
    requestIdColumns.giveBack(requestColumns);
  };
  const values = [...columns.map((column) => column.finish()), changes];
  if (requests === 0) return { text: LOOK, values, release };
  return { text: LOOK_AT_REQUESTS, values: [...values, ...requestColumns.map((column) => column.finish())], release };
}

const lookColumns = new ColumnSets(LOOK_PARAMETERS);
const requestIdColumns = new ColumnSets(['text', 'text']);

/** The result must have the fields unless its caller does not need them. */
function readsFields(write: RecordWrite): boolean {
  return needsFields(write) || !write.brief;
}

/** The plan of each chain, and the server's clock when their records were read. */
export interface GroupPlan {
  plans: ChainPlan[];
  now: number;
}

/** Applies the steps of the chains to the records that were read. */
export function planGroup(chains: readonly ChainOfGroup[], rows: readonly LookRow[]): GroupPlan {
  const ofChain: RecordRow[][] = chains.map(() => []);
  const stored = new Set<string>();
  let [now, revisions] = [0, [] as string[]];
  for (const row of rows) {
    const [no, revision, expiresAt, requests, sum, field, value] = row;
    if (no === CLOCK_ROW) [now, revisions] = [Number(revision), requests!.split(',')];
    else if (no === ANSWER_ROW) stored.add(storedId(field!, requests!));
    else if (revision !== null)
      ofChain[no]!.push({ revision, expires_at: expiresAt, requests, sum, now: 0, field, value });
  }
  let issued = 0;
  const nextRevision = () => Number(revisions[issued++]);
  const plans = chains.map(({ name, writes }, no) => {
    const found = ofChain[no]!;
    for (const row of found) row.now = now;
    const before = seenRows(name, found, writes.some(readsFields));
    const storedFields = found.flatMap(({ field }) => field ?? []);
    return planChain(
      { name, before, storedFields, writes, answered: answeredOf(name, writes, stored) },
      now,
      nextRevision,
    );
  });
  return { plans, now };
}

const NONE: ReadonlySet<string> = new Set();

function answeredOf(
  name: RecordName,
  writes: readonly RecordWrite[],
  stored: ReadonlySet<string>,
): ReadonlySet<string> {
  if (stored.size === 0) return NONE;
  const ids = writes.flatMap(({ requestId }) => requestId ?? []);
  return new Set(ids.filter((id) => stored.has(storedId(name.tenantId, requestName(name, id).key))));
}

/**
 * Returns the key of a request in the set of stored requests. It contains the tenant, because two tenants may use the
 * same id for the same key.
 */
function storedId(tenantId: string, id: string): string {
  return `${tenantId}\0${id}`;
}

/**
 * Returns the statement that writes the rows of some chains. Its result contains the numbers of the chains that it
 * wrote.
 */
export function writeStatement(
  chains: readonly ChainOfGroup[],
  rows: ReadonlyMap<number, ChainRows>,
  readAt: number,
): Statement {
  const tables = new Map<InputName, BinaryArray[]>();
  const add = (name: InputName, values: readonly (string | number | null | Uint8Array)[]) => {
    let columns = tables.get(name);
    if (!columns) {
      columns = inputColumns[name].take();
      tables.set(name, columns);
    }
    push(columns, values);
  };
  const kinds = { makes: false, moves: false, removes: false };
  const requestIds: [no: number, id: string, isNew: number][] = [];
  for (const [no, it] of rows) {
    const { tenantId, key } = chains[no]!.name;
    kinds[it.before === 0 ? 'makes' : it.revision === 0 ? 'removes' : 'moves'] = true;
    add('records', [no, tenantId, key, it.before, it.revision, it.expiresAt, it.requests, it.sum]);
    for (const { field, value, sum } of it.fields) add('fields', [no, field, value, sum]);
    for (const field of it.goneFields) add('goneFields', [no, field]);
    for (const indexKey of it.removedIndexKeys) add('removedIndexKeys', [no, indexKey]);
    for (const indexKey of it.addedIndexKeys) add('addedIndexKeys', [no, indexKey]);
    for (const { id, isNew } of it.requestIds) requestIds.push([no, id, Number(isNew)]);
  }
  // All groups store request ids in the same order, like records, to avoid deadlocks.
  for (const row of requestIds.sort((a, b) => compareKeys(a[1], b[1]))) add('requestIds', row);
  const inputs = ORDER.filter((name) => tables.has(name));
  const values: unknown[] = inputs.flatMap((name) => tables.get(name)!.map((column) => column.finish()));
  values.push(readAt + WRITE_WITHIN_MS);
  const release = () => {
    for (const [name, columns] of tables) inputColumns[name].giveBack(columns);
  };
  return { text: sqlFor(inputs, kinds), values, release };
}

const inputColumns = Object.fromEntries(
  Object.entries(INPUTS).map(([name, columns]) => [name, new ColumnSets(columns.map(([, type]) => type))]),
) as Record<InputName, ColumnSets>;

const ORDER = Object.keys(INPUTS) as InputName[];
const texts = new Map<string, string>();

/**
 * Returns the statement for a combination of inputs and kinds. There are few combinations in practice, and each stays
 * prepared.
 */
function sqlFor(inputs: readonly InputName[], kinds: Parameters<typeof writeSql>[1]): string {
  const id = `${inputs.join()} ${kinds.makes} ${kinds.moves} ${kinds.removes}`;
  let text = texts.get(id);
  if (text === undefined) {
    text = writeSql(inputs, kinds);
    texts.set(id, text);
  }
  return text;
}

export function push(columns: readonly BinaryArray[], values: readonly (string | number | null | Uint8Array)[]): void {
  for (const [at, value] of values.entries()) {
    if (typeof value === 'object' && value !== null) columns[at]!.pushBytes(value);
    else columns[at]!.push(value);
  }
}

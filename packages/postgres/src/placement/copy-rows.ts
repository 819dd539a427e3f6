/**
 * Copies the rows of a tenant from one server to another. Both are compared by key and hash, so an interrupted copy
 * continues where it stopped, and a copy that changes nothing proves that both are equal.
 */
import { inParts } from '@tidemark/core/engine';
import { isUniqueViolation } from '../errors.ts';
import { changeRows, type MoverId, type MoverTransaction, moverTransaction } from './fences.ts';
import { translatedEpoch } from './origins.ts';
import type { PlacedServer } from './servers.ts';

/** The move of a tenant, with its servers. */
export interface Passage extends MoverId {
  from: PlacedServer;
  to: PlacedServer;
  /** Whether writers wait: bytes of artifacts, which never change, are then compared by their length only. */
  isFrozen?: boolean;
  /** Throws when the mover must stop. */
  check(): void;
}

/** A table with rows of tenants. */
export interface TenantTable {
  name: string;
  columns: readonly Column[];
  /** The names in the primary key. */
  primary: readonly string[];
  /** The columns of the primary key without the tenant. */
  key: readonly Column[];
}

interface Column {
  name: string;
  type: string;
}

const KEYS_AT_ONCE = 1_000;
const BYTES_AT_ONCE = 4_000_000;
/** Quarantines of all tenants are on the first server. Runs and their events are copied run by run. */
const NOT_HERE = ['run_quarantines', 'runs', 'run_events'];
const EPOCHS = ['epoch', 'feed_epoch'];

/** Returns the tables that hold data of tenants, by name. */
export async function tenantTables({ pool, dialect }: PlacedServer): Promise<Map<string, TenantTable>> {
  const { rows } = await pool.query(
    `SELECT c.relname AS name,
       json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod)) ORDER BY a.attnum) AS columns,
       (SELECT json_agg(k.attname ORDER BY array_position(i.indkey::int2[], k.attnum))
        FROM pg_index i JOIN pg_attribute k ON k.attrelid = c.oid AND k.attnum = ANY (i.indkey::int2[])
        WHERE i.indrelid = c.oid AND i.indisprimary) AS key
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
     GROUP BY c.oid, c.relname HAVING bool_or(a.attname = 'tenant_id')`,
    [`"${dialect.schema}"`],
  );
  return new Map(
    rows.map(({ name, columns, key }) => {
      const all = JSON.parse(columns) as Column[];
      const primary = JSON.parse(key) as string[];
      const own = primary.filter((column) => column !== 'tenant_id');
      return [name, { name, columns: all, primary, key: own.map((column) => all.find((it) => it.name === column)!) }];
    }),
  );
}

/** Copies all tables but those of runs and events. Returns the number of rows that differed. */
export async function copyTables(passage: Passage, tables: ReadonlyMap<string, TenantTable>): Promise<number> {
  let changed = 0;
  for (const table of tables.values()) {
    if (NOT_HERE.includes(table.name)) continue;
    try {
      changed += await copyTable(passage, table);
    } catch (error) {
      if (!isUniqueViolation((error as Error).cause ?? error)) throw error;
      // A row was removed and stored again under another key, and the copy of the old row conflicts with it.
      await eraseTable(passage.to, passage, 'incoming', table);
      changed += await copyTable(passage, table);
    }
  }
  return changed;
}

/** Returns the select list of a table, with epochs as they are on the other server. */
export function translated({ columns }: Pick<TenantTable, 'columns'>, { from, to }: Passage): string[] {
  return columns.map(({ name }) =>
    EPOCHS.includes(name) ? translatedEpoch(`t.${name}`, from.ordinal, to.ordinal) : `t.${name}`,
  );
}

interface KeyRow {
  key: string[];
  hash: string;
  size: number;
}

async function copyTable(passage: Passage, table: TenantTable): Promise<number> {
  const { from, to } = passage;
  let changed = 0;
  for (let after: string[] | null = null; ; ) {
    passage.check();
    const page: KeyRow[] = await moverTransaction(from, 'REPEATABLE READ READ ONLY', (tx) =>
      readKeys(tx, table, passage, translated(table, passage), { after, upTo: null }),
    );
    const isEnd = page.length < KEYS_AT_ONCE;
    const upTo: string[] | null = isEnd ? null : page.at(-1)!.key;
    const own = table.columns.map(({ name }) => `t.${name}`);
    const there: KeyRow[] = await moverTransaction(to, 'REPEATABLE READ READ ONLY', (tx) =>
      readKeys(tx, table, passage, own, { after, upTo, all: true }),
    );
    const stored = new Map(there.map(({ key, hash }) => [JSON.stringify(key), hash]));
    const missing: KeyRow[] = [];
    for (const row of page) {
      const id = JSON.stringify(row.key);
      if (stored.get(id) !== row.hash) missing.push(row);
      stored.delete(id);
    }
    const gone = [...stored.keys()].map((id) => JSON.parse(id) as string[]);
    if (gone.length > 0) await changeRows(to, passage, 'incoming', (tx) => removeRows(tx, table, passage, gone));
    for (const some of bySize(missing)) {
      const rows = await moverTransaction(from, 'REPEATABLE READ READ ONLY', (tx) =>
        readRows(
          tx,
          table,
          passage,
          some.map(({ key }) => key),
        ),
      );
      if (rows.length > 0) await changeRows(to, passage, 'incoming', (tx) => writeRows(tx, table, rows));
    }
    changed += gone.length + missing.length;
    if (isEnd) return changed;
    after = upTo;
  }
}

function* bySize(rows: readonly KeyRow[]): Generator<KeyRow[]> {
  let [some, bytes]: [KeyRow[], number] = [[], 0];
  for (const row of rows) {
    some.push(row);
    bytes += row.size;
    if (bytes < BYTES_AT_ONCE) continue;
    yield some;
    [some, bytes] = [[], 0];
  }
  if (some.length > 0) yield some;
}

/** Reads keys and hashes in order: a page, or everything up to a key. */
function readKeys(
  tx: MoverTransaction,
  table: TenantTable,
  { tenant, isFrozen }: Passage,
  columns: readonly string[],
  range: { after: string[] | null; upTo: string[] | null; all?: boolean },
): Promise<KeyRow[]> {
  const at = (column: Column) => columns[table.columns.findIndex(({ name }) => name === column.name)]!;
  const keys = table.key.map(at);
  const params: unknown[] = [tenant];
  const bound = (values: string[]) => {
    const from = params.length;
    params.push(...values);
    return table.key.map(({ type }, no) => `$${from + no + 1}::text::${type}`).join(', ');
  };
  const conditions = [
    't.tenant_id = $1',
    ...(range.after ? [`(${keys.join(', ')}) > (${bound(range.after)})`] : []),
    ...(range.upTo ? [`(${keys.join(', ')}) <= (${bound(range.upTo)})`] : []),
  ];
  const isChunks = table.name === 'artifact_chunks';
  const compared =
    isChunks && isFrozen ? columns.map((it) => (it === 't.bytes' ? 'octet_length(t.bytes)' : it)) : columns;
  const sql = `
    SELECT key, md5(row) AS hash, length(row) + bytes AS size FROM (
      SELECT ARRAY[${keys.map((key) => `(${key})::text`).join(', ')}] AS key, ROW(${compared.join(', ')})::text AS row,
        ${isChunks ? '2 * octet_length(t.bytes)' : '0'} AS bytes
      FROM @${table.name} t WHERE ${conditions.join(' AND ')}
      ORDER BY ${keys.join(', ')} ${range.all ? '' : `LIMIT ${KEYS_AT_ONCE}`}
    ) AS found`;
  return tx.query<KeyRow>(sql, params);
}

/** The condition for rows with one of the keys, which are passed as an array per column from a parameter onwards. */
function withKeys(table: TenantTable, keys: readonly string[], from: number): string {
  const names = table.key.map((_, at) => `k${at}`);
  return `(${keys.join(', ')}) IN (
    SELECT ${names.map((name, at) => `${name}::${table.key[at]!.type}`).join(', ')}
    FROM unnest(${names.map((_, at) => `$${from + at}::text[]`).join(', ')}) AS wanted (${names.join(', ')}))`;
}

function keyParams(table: TenantTable, keys: readonly string[][]): string[][] {
  return table.key.map((_, at) => keys.map((key) => key[at]!));
}

/** A row as texts, in the order of the table's columns. */
export type TextRow = (string | null)[];

async function readRows(
  tx: MoverTransaction,
  table: TenantTable,
  passage: Passage,
  keys: string[][],
): Promise<TextRow[]> {
  const columns = translated(table, passage);
  const own = table.key.map(({ name }) => columns[table.columns.findIndex((it) => it.name === name)]!);
  const sql = `SELECT ARRAY[${columns.map((column) => `(${column})::text`).join(', ')}] AS row
    FROM @${table.name} t WHERE t.tenant_id = $1 AND ${withKeys(table, own, 2)}`;
  const rows = await tx.query<{ row: TextRow }>(sql, [passage.tenant, ...keyParams(table, keys)]);
  return rows.map(({ row }) => row);
}

/** Inserts rows, over those with the same key. */
export async function writeRows(tx: MoverTransaction, table: TenantTable, rows: readonly TextRow[]): Promise<void> {
  const names = table.columns.map(({ name }) => name);
  const sql = `
    INSERT INTO @${table.name} (${names.join(', ')}) OVERRIDING SYSTEM VALUE
    SELECT ${table.columns.map(({ name, type }) => `${name}::${type}`).join(', ')}
    FROM unnest(${names.map((_, at) => `$${at + 1}::text[]`).join(', ')}) AS sent (${names.join(', ')})
    ON CONFLICT (${table.primary.join(', ')}) DO UPDATE SET ${names.map((name) => `${name} = excluded.${name}`).join(', ')}`;
  await tx.query(
    sql,
    names.map((_, at) => rows.map((row) => row[at] ?? null)),
  );
}

async function removeRows(
  tx: MoverTransaction,
  table: TenantTable,
  { tenant }: MoverId,
  keys: string[][],
): Promise<void> {
  const own = table.key.map(({ name }) => `t.${name}`);
  for (const some of inParts(keys, KEYS_AT_ONCE))
    await tx.query(`DELETE FROM @${table.name} t WHERE t.tenant_id = $1 AND ${withKeys(table, own, 2)}`, [
      tenant,
      ...keyParams(table, some),
    ]);
}

/** Removes all rows of the tenant from a table, in steps. */
async function eraseTable(
  server: PlacedServer,
  mover: MoverId,
  state: 'incoming' | 'moved',
  table: TenantTable,
): Promise<void> {
  const key = table.key.map(({ name }) => name).join(', ');
  const sql = `DELETE FROM @${table.name} WHERE tenant_id = $1 AND (${key}) IN (
      SELECT ${key} FROM @${table.name} WHERE tenant_id = $1 LIMIT ${KEYS_AT_ONCE})
    RETURNING 1`;
  for (let removed = KEYS_AT_ONCE; removed > 0; ) {
    removed = (await changeRows(server, mover, state, (tx) => tx.query(sql, [mover.tenant]))).length;
  }
}

/** Removes all data of a tenant from a server. */
export async function eraseRows(
  server: PlacedServer,
  mover: MoverId,
  state: 'incoming' | 'moved',
  tables: ReadonlyMap<string, TenantTable>,
): Promise<void> {
  for (const table of tables.values())
    if (!NOT_HERE.includes(table.name)) await eraseTable(server, mover, state, table);
  for (;;) {
    const runs = await changeRows(server, mover, state, async (tx) => {
      const found = await tx.query<{ run_id: string }>('SELECT run_id FROM @runs WHERE tenant_id = $1 LIMIT 100', [
        mover.tenant,
      ]);
      await removeRuns(
        tx,
        mover.tenant,
        found.map(({ run_id }) => run_id),
      );
      return found.length;
    });
    if (runs === 0) return;
  }
}

/** Removes runs with their events, which can be removed only from a run that is marked as removed. */
export async function removeRuns(tx: MoverTransaction, tenant: string, runIds: readonly string[]): Promise<void> {
  if (runIds.length === 0) return;
  const mine = 'WHERE tenant_id = $1 AND run_id = ANY ($2)';
  await tx.query(`UPDATE @runs SET removed = '{"kind":"deleted"}' ${mine}`, [tenant, runIds]);
  await tx.query(`DELETE FROM @run_events ${mine}`, [tenant, runIds]);
  await tx.query(`DELETE FROM @runs ${mine}`, [tenant, runIds]);
}

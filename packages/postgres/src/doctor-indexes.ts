/**
 * Compares the indexes of the schema with their tables in both directions, with two extensions of PostgreSQL if
 * installed. amcheck finds rows that are missing from an index; pageinspect finds index entries without a row, for
 * example after a lost page write. Both read a page at a time, with locks that do not block writers.
 */
import type { DoctorFinding } from '@tidemark/core';
import type pg from 'pg';
import type { Dialect } from './sql.ts';

interface Index {
  name: string;
  id: number;
  table_name: string;
}

const INDEXES = `
  SELECT relation.oid::regclass::text AS name, relation.oid AS id, pg_index.indrelid::regclass::text AS table_name
    FROM pg_class AS relation
    JOIN pg_index ON pg_index.indexrelid = relation.oid
    JOIN pg_am ON pg_am.oid = relation.relam
   WHERE relation.relnamespace = $1::regnamespace AND relation.relkind = 'i' AND pg_am.amname = 'btree'
     AND pg_index.indisvalid
   ORDER BY 1`;

/**
 * Index entries whose row has no line pointer. The first item of a leaf that has a right neighbour is a bound, not an
 * entry. Dead line pointers are left to VACUUM, which removes the entry first.
 */
const DANGLING = `
  WITH leaves AS (
    SELECT block, (stats.page).btpo_next <> 0 AS has_bound
      FROM generate_series(1, pg_relation_size($1::text::regclass) / current_setting('block_size')::int - 1) AS block,
           LATERAL (SELECT bt_page_stats($1::text, block) AS page) AS stats
     WHERE (stats.page).type = 'l'
  ), entries AS (
    SELECT unnest(coalesce(item.tids, ARRAY[item.htid])) AS tid
      FROM leaves, LATERAL bt_page_items($1::text, block) AS item
     WHERE NOT (leaves.has_bound AND item.itemoffset = 1)
  ), rows AS (
    SELECT format('(%s,%s)', block, item.lp)::tid AS tid
      FROM generate_series(0, pg_relation_size($2::text::regclass) / current_setting('block_size')::int - 1) AS block,
           LATERAL heap_page_items(get_raw_page($2::text, block::int)) AS item
     WHERE item.lp_flags <> 0
  )
  SELECT tid::text AS tid FROM entries WHERE tid IS NOT NULL EXCEPT SELECT tid::text FROM rows`;

interface IndexCheck {
  extension: string;
  /** The property that the check confirms for all indexes. */
  promise: string;
  /** Returns the problem of an index, or `null`. */
  look(pool: pg.Pool, index: Index): Promise<string | null>;
}

const CHECKS: readonly IndexCheck[] = [
  {
    extension: 'amcheck',
    promise: 'name every row of their tables',
    look: (pool, { id }) =>
      pool.query('SELECT bt_index_check($1::oid::regclass, true)', [id]).then(
        () => null,
        (error: Error) => error.message,
      ),
  },
  { extension: 'pageinspect', promise: 'name only rows that are there', look: lostRows },
];

export async function checkIndexes(pool: pg.Pool, { schema }: Dialect): Promise<DoctorFinding[]> {
  const findings: DoctorFinding[] = [];
  for (const check of CHECKS) {
    const finding = await examineAll(pool, schema, check).catch((error: Error) => ({
      status: 'unknown' as const,
      message: error.message,
    }));
    findings.push({ check: check.extension, ...finding });
  }
  return findings;
}

async function examineAll(
  pool: pg.Pool,
  schema: string,
  { extension, promise, look }: IndexCheck,
): Promise<Omit<DoctorFinding, 'check'>> {
  const { rows: installed } = await pool.query('SELECT 1 FROM pg_extension WHERE extname = $1', [extension]);
  if (installed.length === 0) {
    const message = `the extension ${extension} is not installed, so that nobody looked whether indexes ${promise}`;
    return { status: 'warn', message, fix: `CREATE EXTENSION ${extension}` };
  }
  const { rows: indexes } = await pool.query<Index>(INDEXES, [`"${schema}"`]);
  const damaged: string[] = [];
  for (const index of indexes) {
    const problem = await look(pool, index);
    if (problem !== null) damaged.push(`${index.name}: ${problem}`);
  }
  if (damaged.length === 0) return { status: 'ok', message: `${indexes.length} indexes ${promise}` };
  return { status: 'fail', message: damaged.join('; '), fix: 'REINDEX, or restore the database from a backup' };
}

/** Returns entries without a row in two consecutive checks: VACUUM may run between reading the index and the table. */
async function lostRows(pool: pg.Pool, { name, table_name }: Index): Promise<string | null> {
  const read = async () => {
    const { rows } = await pool.query<{ tid: string }>(DANGLING, [name, table_name]);
    return rows.map(({ tid }) => tid);
  };
  const first = await read();
  if (first.length === 0) return null;
  const again = new Set(await read());
  const lost = first.filter((tid) => again.has(tid));
  return lost.length === 0 ? null : `${lost.length} rows that it names are not in ${table_name}`;
}

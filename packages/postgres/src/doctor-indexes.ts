/** Examines the indexes of the schema with amcheck, where that extension is installed: a page at a time, with locks that let writers go on. */
import type { DoctorFinding } from '@tidemark/core';
import type pg from 'pg';
import type { Dialect } from './sql.ts';

const check = 'amcheck';

const INDEXES = `
  SELECT relation.oid::regclass::text AS name, relation.oid AS id
    FROM pg_class AS relation
    JOIN pg_index ON pg_index.indexrelid = relation.oid
    JOIN pg_am ON pg_am.oid = relation.relam
   WHERE relation.relnamespace = $1::regnamespace AND relation.relkind = 'i' AND pg_am.amname = 'btree'
     AND pg_index.indisvalid
   ORDER BY 1`;

export async function checkIndexes(pool: pg.Pool, { schema }: Dialect): Promise<DoctorFinding> {
  try {
    const { rows: installed } = await pool.query("SELECT 1 FROM pg_extension WHERE extname = 'amcheck'");
    if (installed.length === 0) {
      const message = 'the extension amcheck is not installed, so that indexes were not compared with their tables';
      return { check, status: 'warn', message, fix: 'CREATE EXTENSION amcheck' };
    }
    const { rows } = await pool.query<{ name: string; id: number }>(INDEXES, [`"${schema}"`]);
    const damaged: string[] = [];
    for (const { name, id } of rows) {
      await pool.query('SELECT bt_index_check($1::oid::regclass, true)', [id]).catch((error: Error) => {
        damaged.push(`${name}: ${error.message}`);
      });
    }
    if (damaged.length === 0) return { check, status: 'ok', message: `${rows.length} indexes agree with their tables` };
    return {
      check,
      status: 'fail',
      message: damaged.join('; '),
      fix: 'REINDEX, or restore the database from a backup',
    };
  } catch (error) {
    return { check, status: 'unknown', message: (error as Error).message };
  }
}

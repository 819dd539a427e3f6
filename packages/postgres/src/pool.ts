/**
 * The connection pool: limits the number of connections, sets timeouts and the type parsers that the store needs. A
 * broken idle connection does not end the process.
 */
import { TidemarkError } from '@tidemark/core';
import pg from 'pg';
import type { PostgresOptions } from './options.ts';

export type Client = pg.PoolClient;

const INT8 = 20;
const JSON_OID = 114;
const JSONB_OID = 3802;

/** Parses int8 to numbers that are exact (RUN-16), and leaves JSON as text. */
export const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === INT8) return safeInteger;
    if (oid === JSON_OID || oid === JSONB_OID) return (text: string) => text;
    return pg.types.getTypeParser(oid, format as 'text');
  }) as pg.CustomTypesConfig['getTypeParser'],
};

function safeInteger(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value))
    throw new TidemarkError('STORAGE_ERROR', `The stored number ${text} is beyond 2^53`);
  return value;
}

/**
 * Planner settings for the store's statements. Each statement has its index, so a plan made while a table was small
 * must not later scan the table or sort a whole run. The statements are short, so JIT compilation costs more than it
 * saves.
 */
export const PLANNING = { enable_seqscan: 'off', enable_sort: 'off', jit: 'off' } as const;

/** Settings of a new session. Poolers in transaction mode do not keep them, so each transaction sets them again. */
const SESSION = Object.entries({
  default_transaction_isolation: 'read\\ committed',
  idle_in_transaction_session_timeout: '60000',
  // A plan for the values of one call is hardly better than one for all calls, and making it takes longer than a small
  // statement.
  plan_cache_mode: 'force_generic_plan',
  ...PLANNING,
})
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(' ');

/** Creates the store's pool. `sessions` is true when connections are real sessions, not borrowed from a pooler. */
export async function connectPool(
  options: PostgresOptions,
  timeoutMs: number,
): Promise<{ pool: pg.Pool; sessions: boolean }> {
  const base: pg.PoolConfig = {
    connectionString: options.url,
    application_name: 'tidemark',
    max: options.maxConnections ?? 10,
    connectionTimeoutMillis: options.connectionTimeoutMs ?? 5_000,
    idleTimeoutMillis: 30_000,
    // The server's limit, statement_timeout, really ends a statement; the driver's only stops waiting for it.
    query_timeout: timeoutMs + 1_000,
    keepAlive: true,
    types,
  };
  const withSession = makePool({ ...base, options: SESSION, statement_timeout: timeoutMs });
  try {
    (await withSession.connect()).release();
    return { pool: withSession, sessions: true };
  } catch (error) {
    await withSession.end();
    if (!/unsupported startup parameter/i.test((error as Error).message)) throw error;
  }
  const { options: _, ...loaned } = base as pg.PoolConfig & { options?: string };
  return { pool: makePool(loaned), sessions: false };
}

function makePool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config);
  // A broken idle connection is replaced. Without a listener the error would end the process.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

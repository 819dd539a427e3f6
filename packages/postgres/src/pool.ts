/** Connections: bounded in number and time, never fatal when idle ones break, and read the way the store needs. */
import { TidemarkError } from '@tidemark/core';
import pg from 'pg';
import type { PostgresOptions } from './options.ts';

export type Client = pg.PoolClient;

const INT8 = 20;
const JSON_OID = 114;
const JSONB_OID = 3802;

/** int8 as numbers that are known to be exact (RUN-16); JSON as the text it is. */
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
 * How our statements are planned. Each has its index: a plan made while a table was small must not read all of it, or sort
 * a whole run, later. They are short, so compiling them costs more than it saves.
 */
export const PLANNING = { enable_seqscan: 'off', enable_sort: 'off', jit: 'off' } as const;

/** What is set when a session starts; poolers in transaction mode know none of it, and are told with each transaction. */
const SESSION = Object.entries({
  default_transaction_isolation: 'read\\ committed',
  idle_in_transaction_session_timeout: '60000',
  ...PLANNING,
})
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(' ');

/** A pool for the store. `sessions` tells whether connections are real sessions, not a pooler's loans. */
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
    // The server's own limit, statement_timeout, ends a statement for certain; the driver's only stops waiting for it.
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
  // An idle connection that breaks is replaced; without a listener it would end the process.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

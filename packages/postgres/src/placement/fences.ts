/** The fence of a tenant on one server, which keeps out every writer except the mover. See the migration 1004. */
import { TidemarkError } from '@tidemark/core';
import type pg from 'pg';
import { translateRead } from '../errors.ts';
import { cursorOf } from './origins.ts';
import type { PlacedServer } from './servers.ts';
import { BEGIN_SYNCED, inTransaction } from './transaction.ts';

/** The mover of a tenant: the number of the move, and the process that currently performs it. */
export interface MoverId {
  tenant: string;
  no: number;
  mover: string;
}

export interface Fence {
  state: 'incoming' | 'frozen' | 'moved' | 'home';
  move: number;
  fromEnd: string | null;
  toStart: string | null;
}

/** A client inside a transaction, and the server's names. */
export interface MoverTransaction {
  query<Row>(sql: string, params?: readonly unknown[]): Promise<Row[]>;
}

/** Runs a mover's transaction. The store's time limits do not apply; the mover's own do. */
export function moverTransaction<T>(
  server: PlacedServer,
  mode: 'READ COMMITTED' | 'REPEATABLE READ READ ONLY',
  work: (tx: MoverTransaction, client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const begin = mode === 'READ COMMITTED' ? BEGIN_SYNCED : `BEGIN ISOLATION LEVEL ${mode}`;
  return inTransaction(server.pool, `${begin}; SET LOCAL statement_timeout = 0`, (client) => {
    const query = async <Row>(sql: string, params: readonly unknown[] = []) =>
      (await client.query(server.dialect.numbered(sql), params as unknown[])).rows as Row[];
    return work({ query }, client);
  });
}

/**
 * Changes a fence with exclusive access: no writer that was admitted earlier is still active. Returns the changed row,
 * if any.
 */
function changeFence(
  server: PlacedServer,
  tenant: string,
  sql: string,
  params: readonly unknown[],
): Promise<Fence | null> {
  return moverTransaction(server, 'READ COMMITTED', async (tx) => {
    await tx.query('SELECT pg_advisory_xact_lock(@fence_lock($1))', [tenant]);
    const [row] = await tx.query<FenceRow>(`${sql} RETURNING f.*`, [tenant, ...params]);
    return row ? fenceOf(row) : null;
  });
}

interface FenceRow {
  state: Fence['state'];
  move: number;
  from_end: string | null;
  to_start: string | null;
}

function fenceOf({ state, move, from_end, to_start }: FenceRow): Fence {
  return { state, move, fromEnd: from_end, toStart: to_start };
}

export async function findFence({ pool, dialect }: PlacedServer, tenant: string): Promise<Fence | null> {
  const sql = dialect.numbered('SELECT * FROM @tenant_fences WHERE tenant = $1');
  const { rows } = await pool.query(sql, [tenant]).catch((error) => {
    throw translateRead(error);
  });
  return rows[0] ? fenceOf(rows[0]) : null;
}

/** Replaces a fence of an earlier move, or one that this move has set in one of the given states. */
const SET_FENCE = (states: string) => `
  INSERT INTO @tenant_fences AS f (tenant, move, mover, state, until)
  VALUES ($1, $2, $3, $4, CASE WHEN $5::bigint IS NOT NULL THEN @tidemark_now() + $5 END)
  ON CONFLICT (tenant) DO UPDATE SET
    state = excluded.state, move = excluded.move, mover = excluded.mover, until = excluded.until,
    from_end = NULL, to_start = NULL
  WHERE f.move < excluded.move OR (f.move = excluded.move AND f.state IN (${states}))`;

/** Keeps writers of a tenant away from the server it is being copied to. */
export async function receive(server: PlacedServer, { tenant, no, mover }: MoverId): Promise<void> {
  const fence = await changeFence(server, tenant, SET_FENCE("'incoming'"), [no, mover, 'incoming', null]);
  if (!fence) throw lost(tenant);
}

/** Keeps writers of a tenant away from its server for a limited time. */
export async function freeze(server: PlacedServer, { tenant, no, mover }: MoverId, forMs: number): Promise<void> {
  const fence = await changeFence(server, tenant, SET_FENCE("'frozen', 'home'"), [no, mover, 'frozen', forMs]);
  if (!fence) throw lost(tenant);
}

/** Ends the freeze of a move without a decision. */
export async function thaw(server: PlacedServer, { tenant, no }: Pick<MoverId, 'tenant' | 'no'>): Promise<void> {
  const sql = `UPDATE @tenant_fences AS f SET state = 'home', until = NULL
    WHERE tenant = $1 AND move = $2 AND state = 'frozen'`;
  await changeFence(server, tenant, sql, [no]);
}

/** Commits a move: from then on this server rejects writes of the tenant. Returns false if the freeze has ended. */
export async function decide(
  server: PlacedServer,
  { tenant, no, mover }: MoverId,
  { fromEnd, toStart }: { fromEnd: string; toStart: string },
): Promise<boolean> {
  const sql = `UPDATE @tenant_fences AS f SET state = 'moved', until = NULL, from_end = $4, to_start = $5
    WHERE tenant = $1 AND move = $2 AND mover = $3 AND state = 'frozen' AND until > @tidemark_now()`;
  return (await changeFence(server, tenant, sql, [no, mover, fromEnd, toStart])) !== null;
}

/** Admits the writers of a tenant that has arrived, or rejects them permanently after an undone move. */
export async function endReceiving(
  server: PlacedServer,
  { tenant, no }: Pick<MoverId, 'tenant' | 'no'>,
  state: 'home' | 'moved',
): Promise<void> {
  const sql = `UPDATE @tenant_fences AS f SET state = $3 WHERE tenant = $1 AND move = $2 AND state = 'incoming'`;
  await changeFence(server, tenant, sql, [no, state]);
}

/**
 * Runs a mover's change of a tenant's rows. Fails if the fence is no longer in the state that the mover set, or another
 * process has taken the move over.
 */
export function changeRows<T>(
  server: PlacedServer,
  { tenant, no, mover }: MoverId,
  state: 'incoming' | 'moved',
  work: (tx: MoverTransaction) => Promise<T>,
): Promise<T> {
  return moverTransaction(server, 'READ COMMITTED', async (tx) => {
    await tx.query(`SELECT set_config('tidemark.move', $1, true)`, [String(no)]);
    // Every mover of a decided move removes the same rows.
    const held = await tx.query(
      `SELECT 1 FROM @tenant_fences WHERE tenant = $1 AND move = $2 AND state = $3 AND ($3 = 'moved' OR mover = $4)
       FOR SHARE`,
      [tenant, no, state, mover],
    );
    if (held.length === 0) throw lost(tenant);
    return work(tx);
  });
}

/** Returns a position after everything in the server's feed that was stored until now, and before everything later. */
export async function endOfFeed({ pool, dialect }: PlacedServer): Promise<string> {
  const sql = 'SELECT max(epoch) AS epoch, pg_snapshot_xmax(pg_current_snapshot())::text AS xid FROM @feed_epochs';
  const { rows } = await pool.query(dialect.numbered(sql)).catch((error) => {
    throw translateRead(error);
  });
  return cursorOf([rows[0].epoch, rows[0].xid, 0]);
}

export function lost(tenant: string): TidemarkError {
  return new TidemarkError('CONFLICT', `Another process has taken over the move of tenant ${tenant}`, {
    current: 'taken over',
  });
}

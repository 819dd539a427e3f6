/** The open servers of a placed store. */
import type { Store } from '@tidemark/core';
import type pg from 'pg';
import type { PostgresRuns } from '../runs.ts';
import type { Dialect } from '../sql.ts';
import type { Member } from './routes.ts';

/** An open server. */
export interface OpenServer {
  store: Store;
  runs: PostgresRuns;
  pool: pg.Pool;
  dialect: Dialect;
}

/** A server of a placed store, with the parts that a mover uses. */
export interface PlacedServer extends Member, Pick<OpenServer, 'pool' | 'dialect' | 'store'> {
  url: string;
}

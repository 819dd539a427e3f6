/** What the PostgreSQL store can be told, with the default of each option and what it costs. */
import { invalidArgument, type StoreOptions } from '@tidemark/core';
import type { UrlReadings } from '@tidemark/core/engine';

export interface PostgresOptions extends StoreOptions {
  /** `postgres://user:password@host:port/database`; options below may stand in its query: `?schema=app&maxConnections=20`. */
  url: string;
  /** The schema all tables live in; made when it is not there. Default `tidemark`. */
  schema?: string;
  /** How many hash partitions runs and their events are made of; decided by the first migration. Default none. */
  partitions?: number;
  /**
   * Row-level security: a `forTenant` view can then reach no other tenant's rows, whatever the code does. Costs a
   * transaction around each read. Default off.
   */
  rowLevelSecurity?: boolean;
  /** Connections at most. Default 10. */
  maxConnections?: number;
  /** How long to wait for a connection. Default 5 000 ms. */
  connectionTimeoutMs?: number;
  /**
   * Where to LISTEN when `url` goes through a pooler that cannot; without it live tails poll there. By default the
   * same as `url`.
   */
  listenUrl?: string;
  /** Bring the schema up to date when opening. Default true; switch off where a deployment step does it. */
  migrate?: boolean;
  /** Also index payloads for `@>` queries of your own (GIN on jsonb); costs much at every append. Default off. */
  payloadIndex?: boolean;
  /** `require` refuses a server on which an acknowledged write could be lost in a power cut (GEN-9). */
  durability?: 'require';
}

export const DEFAULT_SCHEMA = 'tidemark';

/** What may also stand in the query of the URL. */
export const URL_OPTIONS: UrlReadings = {
  schema: 'text',
  partitions: 'number',
  rowLevelSecurity: 'switch',
  payloadIndex: 'switch',
  maxConnections: 'number',
  connectionTimeoutMs: 'number',
  listenUrl: 'text',
  migrate: 'switch',
};

/** Names that need no quoting rules of their own: a schema is chosen by people who run the store. */
export function checkSchema(schema: string): string {
  if (/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) return schema;
  throw invalidArgument('schema', 'a lowercase SQL name of at most 63 letters, digits and underscores', schema);
}

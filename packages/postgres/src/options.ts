/** The options of the PostgreSQL store. */
import { invalidArgument, type StoreOptions } from '@tidemark/core';
import type { UrlReadings } from '@tidemark/core/engine';

/** Options of `postgresStore`. */
export interface PostgresOptions extends StoreOptions {
  /**
   * `postgres://user:password@host:port/database`. The query may contain most of the options below:
   * `?schema=app&maxConnections=20`.
   */
  url: string;
  /** The schema of all tables. Created if it does not exist. Default `tidemark`. */
  schema?: string;
  /** Number of hash partitions for runs and their events, fixed by the first migration. Default: not partitioned. */
  partitions?: number;
  /**
   * Enables row-level security: the server keeps a `forTenant` view from reading or writing other tenants' rows. Costs
   * a transaction around each read. Default false.
   */
  rowLevelSecurity?: boolean;
  /** The maximum number of connections. Default 10. */
  maxConnections?: number;
  /** How long to wait for a connection, in milliseconds. Default 5 000. */
  connectionTimeoutMs?: number;
  /**
   * The URL for LISTEN when `url` goes through a pooler that does not support it. Without it, live tails poll there.
   * Defaults to `url`.
   */
  listenUrl?: string;
  /** Whether to migrate the schema when opening. Default true. Set it to false if a deployment step migrates. */
  migrate?: boolean;
  /**
   * Adds an index of payloads for your own `@>` queries (GIN on jsonb). Makes every append much more expensive. Default
   * false.
   */
  payloadIndex?: boolean;
  /**
   * Adds an index of runs by their last update, for `listRuns` with `orderBy: 'updatedAt'`. Makes every append more
   * expensive. Set it in every process that lists runs in this order. Default false.
   */
  updateIndex?: boolean;
  /**
   * More servers: tenants are then placed on this one, which is named `main`, and on these. An object of names and URLs,
   * or, in a URL, `?servers=north=…,south=…` with encoded URLs. Name all servers in every process, always the same.
   *
   * @example
   * const servers = { north: 'postgres://north.internal/app', south: 'postgres://south.internal/app' };
   * const store = await postgresStore({ url: 'postgres://main.internal/app', servers });
   */
  servers?: Readonly<Record<string, string>> | string;
  /**
   * Returns the name of the server on which a new tenant is placed, or `undefined` for the default: the tenants are
   * spread evenly by a hash. Later calls for the same tenant do not ask again.
   */
  placement?: (tenantId: string) => string | undefined;
  /**
   * `require` makes opening fail with `DURABILITY_TOO_WEAK` on a server where a power failure could lose an
   * acknowledged write. By default the store opens anyway; `doctor` reports the weakness.
   */
  durability?: 'require';
}

export const DEFAULT_SCHEMA = 'tidemark';

/** Options that are also read from the query of the URL. */
export const URL_OPTIONS: UrlReadings = {
  schema: 'text',
  partitions: 'number',
  rowLevelSecurity: 'switch',
  payloadIndex: 'switch',
  updateIndex: 'switch',
  maxConnections: 'number',
  connectionTimeoutMs: 'number',
  listenUrl: 'text',
  migrate: 'switch',
  upgrade: 'switch',
  servers: 'text',
};

/** Throws `INVALID_ARGUMENT` unless the name is safe to use in quotes without escaping. */
export function checkSchema(schema: string): string {
  if (/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) return schema;
  throw invalidArgument('schema', 'a lowercase SQL name of at most 63 letters, digits and underscores', schema);
}

/**
 * Combinations of server version and settings that affect the store's statements, and a store opened in each of them.
 */
import type { StoreUnderTest } from '@tidemark/conformance';
import { startKind, startOwnServer } from '../../../scripts/servers/index.ts';
import { pgbouncer } from '../../../scripts/servers/pgbouncer.ts';
import { type PostgresVersion, postgresOfVersion } from '../../../scripts/servers/postgres.ts';
import type { RunningServer } from '../../../scripts/servers/start.ts';
import { type PostgresOptions, postgresStore } from '../src/index.ts';
import { createDatabase, dropDatabase, through, withClient } from './servers.ts';

export interface Combination {
  /** `installed` is the version of this machine: 15 on Debian 12. */
  version: PostgresVersion | 'installed';
  partitions: 8 | undefined;
  rowLevelSecurity: boolean;
  pooler: boolean;
}

/** Every pair of values of any two settings occurs in one of these five. */
export const PAIRWISE = {
  plain: { version: 'installed', partitions: undefined, rowLevelSecurity: false, pooler: false },
  installed: { version: 'installed', partitions: 8, rowLevelSecurity: true, pooler: true },
  unpartitioned: { version: 18, partitions: undefined, rowLevelSecurity: true, pooler: true },
  open: { version: 18, partitions: 8, rowLevelSecurity: false, pooler: true },
  direct: { version: 18, partitions: 8, rowLevelSecurity: true, pooler: false },
} satisfies Record<string, Combination>;

export function allCombinations(): Combination[] {
  const flags = [false, true];
  return ([14, 'installed', 18] as const).flatMap((version) =>
    ([undefined, 8] as const).flatMap((partitions) =>
      flags.flatMap((rowLevelSecurity) =>
        flags.map((pooler) => ({ version, partitions, rowLevelSecurity, pooler }) satisfies Combination),
      ),
    ),
  );
}

export function describeCombination({ version, partitions, rowLevelSecurity, pooler }: Combination): string {
  const parts = [
    version === 'installed' ? 'PostgreSQL as installed' : `PostgreSQL ${version}`,
    partitions === undefined ? 'plain' : `${partitions} partitions`,
    ...(rowLevelSecurity ? ['row-level security'] : []),
    ...(pooler ? ['PgBouncer'] : []),
  ];
  return parts.join(', ');
}

export interface Setting {
  /** The version that the server reports. */
  version: string;
  /** Opens another database of this setting for the kit. */
  openUnderTest(): Promise<StoreUnderTest>;
  stop(): Promise<void>;
}

/** Starts the servers of a combination. */
export async function startCombination(combination: Combination): Promise<Setting> {
  const { version, pooler } = combination;
  const server =
    version === 'installed' ? await startOwnServer('postgres') : await startKind(postgresOfVersion(version));
  let bouncer: RunningServer | undefined;
  try {
    if (pooler) bouncer = await startKind(pgbouncer(server.url));
  } catch (error) {
    await server.stop();
    throw error;
  }
  const way = bouncer ?? server;
  return {
    version: server.version,
    openUnderTest: async () => underTest(await prepareDatabase(server.url, way.url, combination)),
    stop: async () => {
      await bouncer?.stop();
      await server.stop();
    },
  };
}

/** Sets up a database, under row-level security as its owner, and returns the options to open the store with. */
async function prepareDatabase(server: string, way: string, combination: Combination): Promise<PostgresOptions> {
  const { rowLevelSecurity, partitions, pooler } = combination;
  const url = await createDatabase(server);
  // Three processes share two cores: slow answers are not the faults that this test looks for.
  // Two combinations have the index: one with partitions and row-level security, one without either.
  const settings = { rowLevelSecurity, updateIndex: !pooler };
  const options = { ...settings, timeoutMs: 20_000, ...(partitions === undefined ? {} : { partitions }) };
  if (!rowLevelSecurity) return { ...options, url: through(url, way) };
  await (await postgresStore({ ...options, url })).close();
  await withClient(url, (client) => client.query(APPLICATION_ROLE));
  const application = new URL(through(url, way));
  application.username = 'tidemark_app';
  return { ...options, url: application.href, migrate: false };
}

/** Opens a new database of a server that runs already, with no settings. */
export async function openPlain(server: string): Promise<StoreUnderTest> {
  const url = await createDatabase(server);
  return { ...(await underTest({ url, timeoutMs: 20_000 })), dispose: () => dropDatabase(url) };
}

/** The login of applications: owns nothing, and may take the roles that the migration created. */
const APPLICATION_ROLE = `
  DO $$ BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'tidemark_app') THEN
      CREATE ROLE tidemark_app LOGIN IN ROLE tidemark_writer, tidemark_admin;
    END IF;
  END $$`;

async function underTest(options: PostgresOptions): Promise<StoreUnderTest> {
  const under: StoreUnderTest = {
    store: await postgresStore(options),
    peer: () => postgresStore(options),
    reopen: async () => {
      await under.store.close();
      return postgresStore(options);
    },
  };
  // An application's role cannot bypass the triggers.
  if (!options.rowLevelSecurity) under.damage = (...place) => damage(options.url, ...place);
  return under;
}

/** Changes a stored value as a failing disk would, without firing triggers. */
export async function damage(url: string, ...field: [tenantId: string, key: string, field: string]): Promise<void> {
  await withClient(url, async (client) => {
    await client.query('BEGIN');
    await client.query('SET LOCAL session_replication_role = replica');
    const sql = "UPDATE tidemark.kv_fields SET value = '\\x00' WHERE tenant_id = $1 AND key = $2 AND field = $3";
    await client.query(sql, field);
    await client.query('COMMIT');
  });
}

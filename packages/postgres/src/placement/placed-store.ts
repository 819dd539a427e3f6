/** Opens a store whose tenants are placed on several servers. */
import { type DoctorFinding, invalidArgument, type Store, TENANT_PARTS } from '@tidemark/core';
import {
  assembleStore,
  Cleaner,
  type Engine,
  engineOf,
  expirySweep,
  StoreContext,
  SYSTEM_TENANT,
  sha256,
  weakestDurability,
  withUrlOptions,
} from '@tidemark/core/engine';
import { SQL_ABILITIES } from '@tidemark/sql';
import { translateRead } from '../errors.ts';
import { type PostgresOptions, URL_OPTIONS } from '../options.ts';
import { connectPool } from '../pool.ts';
import { Directory, type RegisteredServer } from './directory.ts';
import { MergedFeed } from './merged-feed.ts';
import { complete } from './mover.ts';
import { MAX_SERVERS } from './origins.ts';
import { Placements } from './placements.ts';
import { routedAgents, routedArtifacts, routedTenancy } from './routed-parts.ts';
import { routedRecords } from './routed-records.ts';
import { routedRuns } from './routed-runs.ts';
import { type Member, Routes } from './routes.ts';
import type { OpenServer, PlacedServer } from './servers.ts';
import { type MoverServers, registerPlacement } from './tenant-placement.ts';

/** The name of the server in `url`, which has the directory. */
const FIRST_SERVER = 'main';
const TENANTS_AT_ONCE = 1_000;
const ADOPTION_LIMIT_MS = 60_000;

/** How long a statement of a mover may take. */
const MOVER_LIMIT_MS = 600_000;
/** One statement reads while another writes, and fences are changed at the same time. */
const MOVER_CONNECTIONS = 3;

export async function placedStore(
  options: PostgresOptions,
  open: (options: PostgresOptions) => Promise<OpenServer>,
): Promise<Store> {
  const urls = new Map([[FIRST_SERVER, options.url], ...serversOf(options)]);
  if (options.rowLevelSecurity)
    throw invalidArgument('rowLevelSecurity', 'false in a store with several servers', options.rowLevelSecurity);
  const { listenUrl: _, ...shared } = options;
  const opened = new Map<string, OpenServer>();
  try {
    for (const [name, url] of urls) {
      const own = name === FIRST_SERVER ? options : { ...shared, url };
      opened.set(name, await open(withUrlOptions(own, URL_OPTIONS)));
    }
    const first = opened.get(FIRST_SERVER)!;
    const directory = new Directory(first.pool, first.dialect);
    const servers = await register(directory, opened, urls);
    const placements = new Placements(directory, chooser(servers, options.placement));
    const byOrdinal = new Map(servers.map((server) => [server.ordinal, server]));
    const routes = new Routes(servers, placements, (moveNo) => complete(byOrdinal, directory, moveNo));
    const store = assemblePlaced(new StoreContext(options), routes, servers, options);
    registerPlacement(store, servers, placements, (ordinals) =>
      openForMover(
        ordinals.map((ordinal) => routes.member(ordinal) as PlacedServer),
        options,
      ),
    );
    return store;
  } catch (error) {
    await Promise.allSettled([...opened.values()].map(({ store }) => store.close()));
    throw error;
  }
}

/** Returns the further servers that the options name. */
function serversOf({ servers }: PostgresOptions): [name: string, url: string][] {
  const named: [string, unknown][] =
    typeof servers === 'string'
      ? servers.split(',').map((it) => [it.slice(0, it.indexOf('=')).trim(), it.slice(it.indexOf('=') + 1)])
      : Object.entries(servers ?? {});
  if (named.length === 0 || named.length >= MAX_SERVERS)
    throw invalidArgument('servers', 'an object of at least one name and URL');
  for (const [name, url] of named) {
    if (name === FIRST_SERVER || !/^[a-z][a-z0-9-]{0,62}$/.test(name))
      throw invalidArgument('servers', 'names of lowercase letters, digits and hyphens, other than main', name);
    if (typeof url !== 'string' || !/^postgres(ql)?:/.test(url))
      throw invalidArgument(`servers.${name}`, 'a URL such as postgres://localhost/app');
  }
  return named as [string, string][];
}

/** Makes the servers known to the directory, and their tenants when they are new. */
async function register(
  directory: Directory,
  opened: ReadonlyMap<string, OpenServer>,
  urls: ReadonlyMap<string, string>,
): Promise<PlacedServer[]> {
  const id = await directory.id();
  const registered = await directory.register([...opened.keys()]);
  const servers: PlacedServer[] = [];
  for (const [name, server] of opened) {
    const known = registered.find((it) => it.name === name)!;
    await checkIdentity(server, name, { directory: id, ordinal: known.ordinal });
    const engine = engineOf(server.store) as Member['engine'];
    servers.push({ ...server, name, url: urls.get(name)!, ordinal: known.ordinal, engine });
    if (!known.adopted) await directory.adopt(known, await tenantsOf(engine));
  }
  const missing = registered.find(({ name }) => !opened.has(name));
  if (missing)
    throw invalidArgument(
      'servers',
      `all servers of the store: ${missing.name} is in the directory and not among them`,
    );
  return servers;
}

/** Opens servers for a mover, with connections that calls of the store do not use up. */
async function openForMover(servers: readonly PlacedServer[], options: PostgresOptions): Promise<MoverServers> {
  const opened = new Map<number, PlacedServer>();
  const close = async () => void (await Promise.all([...opened.values()].map(({ pool }) => pool.end())));
  try {
    for (const server of servers) {
      const own = withUrlOptions({ ...options, url: server.url, maxConnections: MOVER_CONNECTIONS }, URL_OPTIONS);
      const { pool } = await connectPool(own, MOVER_LIMIT_MS);
      opened.set(server.ordinal, { ...server, pool });
    }
    return { servers: opened, close };
  } catch (error) {
    await close();
    throw translateRead(error);
  }
}

/** Throws if a server is configured under another server's name, or belongs to another store. */
async function checkIdentity(
  { pool, dialect }: OpenServer,
  name: string,
  wanted: { directory: string; ordinal: number },
): Promise<void> {
  const insert = 'INSERT INTO @placed_server (directory, ordinal) VALUES ($1, $2) ON CONFLICT DO NOTHING';
  await pool.query(dialect.script(insert), [wanted.directory, wanted.ordinal]);
  const { rows } = await pool.query(dialect.script('SELECT directory, ordinal FROM @placed_server'));
  const found = rows[0] as typeof wanted;
  if (found.directory !== wanted.directory)
    throw invalidArgument(`servers.${name}`, 'a database of this store: it belongs to a store with another directory');
  if (found.ordinal !== wanted.ordinal)
    throw invalidArgument(`servers.${name}`, `the database that had this name before: it is server ${found.ordinal}`);
}

async function tenantsOf({ tenancy }: Member['engine']): Promise<string[]> {
  const tenants = new Set<string>();
  for (const part of TENANT_PARTS) {
    for (let after: string | null = null; ; ) {
      const call = { deadline: Date.now() + ADOPTION_LIMIT_MS };
      const page: string[] = await tenancy.tenants(part, after, TENANTS_AT_ONCE, call);
      for (const tenant of page) tenants.add(tenant);
      if (page.length < TENANTS_AT_ONCE) break;
      after = page.at(-1)!;
    }
  }
  return [...tenants];
}

/** Returns the function that chooses the server of a new tenant: the configured one, or the highest hash. */
function chooser(servers: readonly RegisteredName[], placement: PostgresOptions['placement']) {
  return (tenantId: string): number => {
    if (tenantId === SYSTEM_TENANT) return servers[0]!.ordinal;
    const named = placement?.(tenantId);
    if (named !== undefined) {
      const server = servers.find(({ name }) => name === named);
      if (!server) throw invalidArgument('placement', `a function that returns one of ${namesOf(servers)}`, named);
      return server.ordinal;
    }
    const weigh = ({ name }: RegisteredName) => sha256(`${name}\0${tenantId}`).toString();
    return servers.reduce((a, b) => (weigh(a) >= weigh(b) ? a : b)).ordinal;
  };
}

type RegisteredName = Pick<RegisteredServer, 'ordinal' | 'name'>;

function namesOf(servers: readonly RegisteredName[]): string {
  return servers.map(({ name }) => name).join(', ');
}

function assemblePlaced(
  context: StoreContext,
  routes: Routes,
  servers: readonly PlacedServer[],
  options: PostgresOptions,
): Store {
  const engines = servers.map(({ engine }) => engine);
  const each = <T>(ask: (engine: Engine, server: PlacedServer) => Promise<T>) =>
    Promise.all(servers.map((server) => ask(server.engine, server)));
  const runs = routedRuns(routes, new MergedFeed(routes), options.updateIndex === true);
  // The cleaners of the servers do not know which runs this store uses.
  const cleaner = new Cleaner([expirySweep(runs, context.expiry)]);
  return assembleStore(context, {
    backend: 'postgres',
    version: [...new Set(engines.map(({ version }) => version))].join(', '),
    // A transaction of the caller is on one server; which one a tenant is on may change at any time.
    can: { ...SQL_ABILITIES, 'runs.transactions': false, 'runs.listByUpdate': options.updateIndex === true },
    clock: 'server',
    durability: () => weakestDurability(engines.map((engine) => engine.durability())),
    chainFormat: () => (engines.every((engine) => engine.chainFormat!() > 1) ? engines[0]!.chainFormat!() : 1),
    runs,
    kv: routedRecords(routes),
    agents: routedAgents(routes),
    artifacts: routedArtifacts(routes),
    tenancy: routedTenancy(routes),
    ping: async (call) => void (await each((engine) => engine.ping(call))),
    async doctor(call) {
      const reports = await each(async (engine, { name }) => ({ name, ...(await engine.doctor(call)) }));
      return {
        durability: weakestDurability(reports.map(({ durability }) => durability)),
        findings: [
          ...reports.flatMap(({ name, findings }) =>
            findings.map((finding) => ({ ...finding, check: `${name}: ${finding.check}` })),
          ),
          await moveFinding(routes.placements.directory),
        ],
      };
    },
    async examineStorage(tenantId) {
      const found = await each(async (engine, { name }) =>
        ((await engine.examineStorage?.(tenantId)) ?? []).map((it) => ({ ...it, check: `${name}: ${it.check}` })),
      );
      return found.flat();
    },
    async close() {
      await cleaner.stop();
      const closed = await Promise.allSettled(servers.map(({ store }) => store.close()));
      const failed = closed.find((it) => it.status === 'rejected');
      if (failed) throw failed.reason;
    },
  });
}

async function moveFinding(directory: Directory): Promise<DoctorFinding> {
  const open = await directory.openMoves();
  if (open.length === 0) return { check: 'moves', status: 'ok', message: 'No move of a tenant is unfinished' };
  const tenants = open.map(({ tenant, phase }) => `${tenant} (${phase})`).join(', ');
  return {
    check: 'moves',
    status: 'warn',
    message: `Unfinished moves of tenants: ${tenants}`,
    fix: 'If none is under way, run `tidemark tenants move` again, or with --undo',
  };
}

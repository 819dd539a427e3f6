/**
 * Every write of every engine with a lost reply: replaying `error.write` leaves the store as after exactly one write,
 * and so does a second replay (GEN-8).
 */
import { httpStore } from '@tidemark/client';
import {
  factsOf,
  isTidemarkError,
  memoryStore,
  replay,
  type Store,
  type StoreDomain,
  type StoreWrite,
  TidemarkError,
} from '@tidemark/core';
import { assembleStore, type Engine, engineOf, StoreContext } from '@tidemark/core/engine';
import { createServer } from '@tidemark/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { neededServers } from '../../../scripts/servers/index.ts';
import { ENGINES } from './engines.ts';
import { EVERY_WRITE, type Ground, withheldOf } from './every-write.ts';

/** Loses the reply to one of the following writes, and counts them. */
class Losses {
  made = 0;
  #at = 0;

  /** Loses the reply to the `at`th write from now; 0 for none. */
  from(at: number): void {
    this.made = 0;
    this.#at = at;
  }

  get isNext(): boolean {
    this.made++;
    return this.made === this.#at;
  }
}

/** A store whose replies can be lost, and the store underneath. */
interface Lossy {
  store: Store;
  lossy: Store;
  engine: Engine;
  losses: Losses;
  close(): Promise<void>;
}

/** Engine calls that write. */
const ENGINE_WRITES = new Set([
  ...['append', 'saveSnapshot', 'dropSnapshot', 'remove', 'restore', 'redact', 'release'],
  ...['write', 'batch', 'claimFirst', 'save', 'claim', 'consume', 'settle', 'bury', 'delete', 'markTerminal'],
  ...['refer', 'deleteRef', 'eraseRefs', 'sweep', 'erase', 'eraseTrace', 'eraseBindings', 'erasePauses'],
]);

/** Wraps an engine, or a part of one: writes are executed, and the reply to one of them is lost. */
function losing<T extends object>(part: T, losses: Losses): T {
  return new Proxy(part, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member === 'object' && member !== null && PARTS.has(String(name))) return losing(member, losses);
      if (typeof member !== 'function') return member;
      if (name === 'stage') return async (...args: unknown[]) => losing(await member.apply(target, args), losses);
      if (!ENGINE_WRITES.has(String(name))) return member.bind(target);
      return async (...args: unknown[]) => {
        const isLost = losses.isNext;
        const result: unknown = await member.apply(target, args);
        if (isLost) throw new TidemarkError('OUTCOME_UNKNOWN', 'The reply was lost');
        return result;
      };
    },
  });
}

const PARTS = new Set([
  ...['runs', 'kv', 'agents', 'artifacts', 'tenancy', 'quarantines', 'events', 'bindings', 'pauses', 'memory'],
  ...['tasks', 'updates', 'steering', 'trajectories', 'plannerEvents', 'sessions'],
]);

async function lossyStore(store: Store, remove: () => Promise<void> = async () => {}): Promise<Lossy> {
  const losses = new Losses();
  const engine = engineOf(store)!;
  const lossy = assembleStore(new StoreContext(), losing(engine, losses));
  return { store, lossy, engine, losses, close: () => store.close().then(remove) };
}

/** A server with a memory store, and a client that loses responses. */
async function lossyClient(): Promise<Lossy> {
  const memory = memoryStore();
  const server = createServer({ store: memory });
  const url = await server.listen();
  const losses = new Losses();
  const cut: typeof globalThis.fetch = async (input, init) => {
    const isLost = init?.method !== 'GET' && losses.isNext;
    const answer = await fetch(input, init);
    if (isLost) throw new TypeError('fetch failed');
    return answer;
  };
  const [store, lossy] = [await httpStore({ url }), await httpStore({ url, fetch: cut })];
  const close = async () => {
    await Promise.all([store.close(), lossy.close()]);
    await server.close();
    await memory.close();
  };
  return { store, lossy, engine: engineOf(memory)!, losses, close };
}

const STORES: Record<string, () => Promise<Lossy>> = {
  memory: () => lossyStore(memoryStore()),
  http: lossyClient,
  ...Object.fromEntries(
    Object.entries(ENGINES).map(([name, createDatabase]) => [
      name,
      async () => {
        const database = await createDatabase();
        return lossyStore(await database.open(), database.remove);
      },
    ]),
  ),
};
const AVAILABLE = ['memory', 'http', 'sqlite', ...neededServers()].filter((name) => name in STORES);

/** Returns everything a tenant has, as readers see it. */
async function stateOf(store: Store): Promise<unknown> {
  const { runs, kv, agents, artifacts, admin } = store;
  const { items: found } = await runs.listRuns();
  const summaries = found.sort((a, b) => (a.runId < b.runId ? -1 : 1));
  const logs = summaries.map(async ({ runId }) => [
    await runs.fetchEvents(runId),
    await runs.getSnapshot(runId),
    await runs.position(runId),
  ]);
  return {
    summaries,
    logs: await Promise.all(logs),
    quarantined: await runs.listQuarantined({ state: 'any' }),
    removed: await admin.listRemovedRuns(),
    kv: (await Array.fromAsync(kv.scan(''))).map(({ key, record: { fields, ttl, revision } }) => [
      ...[key, Object.entries(fields).map(([name, bytes]) => [name, Buffer.from(bytes).toString()])],
      ...[ttl !== undefined, revision],
    ]),
    history: await agents.loadHistory('trace'),
    bindings: await agents.listRemoteBindings('trace'),
    pauses: await agents.listPauses(),
    memory: await agents.listMemory(),
    sessions: await agents.listSessions(),
    tasks: await agents.listTasks('session'),
    updates: await agents.listUpdates('session'),
    steering: await agents.listSteering('session'),
    traces: await agents.listTraces('session'),
    plannerEvents: await agents.listPlannerEvents('trace'),
    artifacts: await artifacts.list(scope),
  };
}

const scope = { sessionId: 'session' };

/** Writes that renew times and revisions whenever they are repeated, and change nothing else. */
const RENEWING = new Set([
  ...['runs.refreshSnapshot', 'runs.markStale', 'jobs.heartbeat', 'jobs.progress', 'agents.savePlannerState'],
  ...['agents.saveRemoteBinding', 'agents.saveTask', 'agents.saveTrajectory', 'admin.putPause'],
  ...['artifacts.putBytes', 'artifacts.putText', 'artifacts.putStream', 'runs.redactEvent', 'admin.eraseSession'],
]);
const RENEWED = new Set(['updatedAt', 'version', 'expiresAt']);
/** Times of the last read or heartbeat, which are not part of a write. */
const OBSERVED = new Set(['projectedAt', 'lastActiveAt']);
const RENEWED_FIELDS = new Set(['updated_at', 'timeout_at', 'at']);

function withoutObserved(state: unknown): unknown {
  return JSON.parse(JSON.stringify(state), (name, value: unknown) => (OBSERVED.has(name) ? undefined : value));
}

function withoutRenewed(state: unknown): unknown {
  return JSON.parse(JSON.stringify(withoutObserved(state)), (name, value: unknown) => {
    if (RENEWED.has(name)) return undefined;
    if (name !== 'kv') return value;
    type Row = [string, [string, string][], boolean, number];
    return (value as Row[]).map(([key, fields]) => [key, fields.filter(([field]) => !RENEWED_FIELDS.has(field))]);
  });
}

/** Writes without an effect that readers see: times, and bytes without a reference. */
const UNSEEN = new Set(['jobs.heartbeat', 'jobs.markAnnounced', 'artifacts.sweep']);

const WRITES = Object.entries(EVERY_WRITE).flatMap(([domain, methods]) =>
  Object.keys(methods).map((method) => ({ domain: domain as StoreDomain, method, name: `${domain}.${method}` })),
);

type Prepare = (ground: Ground) => Promise<unknown[]>;
type Method = (...args: unknown[]) => Promise<unknown>;

describe.for(AVAILABLE)('A write on %s whose reply is lost', (engineName) => {
  let on: Lossy;

  beforeAll(async () => {
    on = await STORES[engineName]!();
  });
  afterAll(() => on.close());

  /**
   * Makes a write in a new tenant and loses the reply to its `at`th step. Returns the context with the error, if any.
   */
  async function lose(domain: StoreDomain, method: string, at: number) {
    const tenantId = `${method}-${crypto.randomUUID().slice(0, 8)}`;
    const ground = { store: on.store.forTenant(tenantId), engine: on.engine, tenantId };
    const prepare = (EVERY_WRITE[domain] as unknown as Record<string, Prepare>)[method]!;
    const args = await prepare(ground);
    const before = await stateOf(ground.store);
    on.losses.from(at);
    const calls = on.lossy.forTenant(tenantId)[domain] as unknown as Record<string, Method>;
    const error: unknown = await calls[method]!(...args).then(
      () => null,
      (it: unknown) => it,
    );
    const steps = on.losses.made;
    on.losses.from(0);
    return { ground, args, before, error, steps };
  }

  it.for(WRITES)('is settled by its replay: $name', { timeout: 60_000 }, async ({ domain, method, name }) => {
    const seen = RENEWING.has(name) ? withoutRenewed : withoutObserved;
    const { steps, error: none } = await lose(domain, method, 0);
    if (name === 'kv.batch' && !on.store.info.capabilities['kv.atomicBatch']) {
      expect(none).toMatchObject({ code: 'UNSUPPORTED' });
      return;
    }
    expect(none).toBeNull();
    expect(steps).toBeGreaterThan(0);
    for (const at of new Set([1, steps])) {
      const { ground, args, before, error } = await lose(domain, method, at);
      // A step that only cleans up may fail without harm.
      if (error === null) continue;
      if (!isTidemarkError(error, 'OUTCOME_UNKNOWN')) throw error;
      const write = error.write as StoreWrite;
      expect(write).toMatchObject({ domain, method, tenantId: ground.tenantId });
      for (const [index, arg] of args.entries()) {
        const carried = write.args[index];
        const isWithheld = Object.hasOwn(Object(carried), 'withheld');
        if (!isWithheld) expect([carried], 'the write carries what the call was given').toMatchObject([arg]);
      }
      const after = await stateOf(ground.store);
      const again = () => replay(on.store, write, { withheld: withheldOf(method), timeoutMs: 10_000 });
      await again();
      const settled = await stateOf(ground.store);
      if (at === steps) expect(seen(settled), 'the first attempt was carried out').toEqual(seen(after));
      if (!UNSEEN.has(name)) expect(seen(settled), 'the write was carried out').not.toEqual(seen(before));
      await again();
      expect(seen(await stateOf(ground.store)), 'a second replay changes nothing').toEqual(seen(settled));
    }
  });

  it('has facts for every write', () => {
    for (const write of WRITES) expect(factsOf(write).kind).toBe('write');
  });
});

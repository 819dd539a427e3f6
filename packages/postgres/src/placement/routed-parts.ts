/** The other engines of a placed store: every call goes to the server of its tenant; sweeps and lists cover all. */
import type { AgentEngine, ArtifactEngine, EngineCall, QuarantineEngine, TenancyEngine } from '@tidemark/core/engine';
import type { Routes } from './routes.ts';

type Tenanted = (tenantId: string, ...rest: never[]) => Promise<unknown>;

/** The calls that write, by capability. All others read. */
const WRITES: Record<keyof AgentEngine, readonly string[]> = {
  events: ['append'],
  bindings: ['save', 'markTerminal'],
  pauses: ['save', 'claim', 'consume', 'settle', 'bury'],
  memory: ['save', 'delete', 'erase'],
  tasks: ['save'],
  updates: ['append'],
  steering: ['append'],
  trajectories: ['save'],
  plannerEvents: ['append'],
  sessions: ['remove'],
};
/** The calls that return pages. */
const PAGES: ReadonlySet<string> = new Set(['read', 'readSession']);

/** Returns an engine whose calls, which name the tenant first and the bounds last, go to the tenant's server. */
function routed<T extends object>(
  routes: Routes,
  of: (ordinal: number) => T,
  writes: readonly string[],
  own: Partial<T>,
): T {
  const calls = new Map<PropertyKey, unknown>(Object.entries(own));
  return new Proxy({} as T, {
    get: (_, name) => {
      if (typeof name !== 'string') return undefined;
      if (!calls.has(name)) calls.set(name, routedCall(routes, of, name, writes.includes(name)));
      return calls.get(name);
    },
  });
}

function routedCall<T extends object>(routes: Routes, of: (ordinal: number) => T, name: string, isWrite: boolean) {
  const at = (ordinal: number) => of(ordinal) as Record<string, Tenanted>;
  if (PAGES.has(name))
    return (tenantId: string, ...rest: never[]) =>
      routes.pages(
        tenantId,
        ({ ordinal }) => at(ordinal)[name]!(tenantId, ...rest) as unknown as AsyncIterable<unknown>,
      );
  return (tenantId: string, ...rest: never[]) => {
    const bounds = (rest.at(-1) ?? {}) as EngineCall;
    const ask = ({ ordinal }: { ordinal: number }) => at(ordinal)[name]!(tenantId, ...rest);
    return isWrite ? routes.write(tenantId, bounds, ask) : routes.read(tenantId, bounds, ask);
  };
}

export function routedAgents(routes: Routes): AgentEngine {
  const of = <Name extends keyof AgentEngine>(name: Name, own: Partial<AgentEngine[Name]> = {}): AgentEngine[Name] =>
    routed(routes, (ordinal) => routes.member(ordinal).engine.agents[name]!, WRITES[name], own);
  const expired = (name: 'pauses' | 'memory') => ({
    removeExpired: (limit: number, call: EngineCall) =>
      routes.sum(null, call, ({ engine }) => engine.agents[name]!.removeExpired(limit, call)),
  });
  return {
    events: of('events'),
    bindings: of('bindings'),
    pauses: of('pauses', expired('pauses')),
    memory: of('memory', expired('memory')),
    tasks: of('tasks'),
    updates: of('updates'),
    steering: of('steering'),
    trajectories: of('trajectories'),
    plannerEvents: of('plannerEvents'),
    sessions: of('sessions'),
  };
}

export function routedArtifacts(routes: Routes): ArtifactEngine {
  const own: Partial<ArtifactEngine> = {
    // A source can be read only once, so staging is not retried; nothing refers to the staged bytes.
    stage: async (tenantId, source, call) => {
      const { server } = await routes.placements.homeOf(tenantId, true);
      return routes.member(server).engine.artifacts.stage(tenantId, source, call);
    },
    getBlob: async (tenantId, sha256, range, call) => {
      const open = await routes.read(tenantId, call, ({ engine }) =>
        engine.artifacts.getBlob(tenantId, sha256, range, call),
      );
      return open && routes.pages(tenantId, () => open);
    },
    async sweep(tenantId, now, graceMs, call) {
      const sweep = (ordinal: number) => routes.member(ordinal).engine.artifacts.sweep(tenantId, now, graceMs, call);
      if (tenantId !== null) return routes.write(tenantId, call, ({ ordinal }) => sweep(ordinal));
      const swept = await Promise.all(routes.members.map(({ ordinal }) => sweep(ordinal)));
      return swept.reduce((a, b) => ({
        references: a.references + b.references,
        blobs: a.blobs + b.blobs,
        bytes: a.bytes + b.bytes,
      }));
    },
  };
  const writes = ['touchRef', 'deleteRef', 'eraseRefs'];
  // Chunks in PostgreSQL have no URL.
  const all = { ...own, downloadUrl: undefined } as Partial<ArtifactEngine>;
  return routed(routes, (ordinal) => routes.member(ordinal).engine.artifacts, writes, all);
}

export function routedTenancy(routes: Routes): TenancyEngine {
  const quarantines: QuarantineEngine = routes.first.runs.quarantines;
  /** Removes the quarantines of a tenant that is not on the server that stores them. */
  const releaseAll = async (tenantId: string, limit: number, call: EngineCall) => {
    for (;;) {
      const entries = await quarantines.list({ tenantId, limit }, call);
      for (const { runId } of entries) await quarantines.remove({ tenantId, runId }, call);
      if (entries.length < limit) return;
    }
  };
  const own: Partial<TenancyEngine> = {
    tenants: (part, after, limit, call) =>
      routes.tenants(({ engine }, from, count) => engine.tenancy.tenants(part, from, count, call), after, limit),
    async erase(part, tenantId, limit, call) {
      const removed = await routes.write(tenantId, call, ({ engine }) =>
        engine.tenancy.erase(part, tenantId, limit, call),
      );
      if (removed === 0 && part === 'runs') await releaseAll(tenantId, limit, call);
      return removed;
    },
    eraseTrace: (part, tenantId, traceId, limit, call) =>
      routes.write(tenantId, call, ({ engine }) => engine.tenancy.eraseTrace(part, tenantId, traceId, limit, call)),
    traces: (part, tenantId, after, limit, call) =>
      routes.read(tenantId, call, ({ engine }) => engine.tenancy.traces(part, tenantId, after, limit, call)),
  };
  const writes = ['erasePauses', 'eraseBindings'];
  return routed(routes, (ordinal) => routes.member(ordinal).engine.tenancy, writes, own);
}

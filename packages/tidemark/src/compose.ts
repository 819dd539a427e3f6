/** Composes a single store from several. Each part of the contract is served by the engine chosen for it. */
import { invalidArgument, type Store, type StoreClock, TENANT_PARTS, type TenantPart } from '@tidemark/core';
import {
  type AgentEngine,
  assembleStore,
  Cleaner,
  type Engine,
  engineOf,
  expirySweep,
  type RunEngine,
  StoreContext,
  type TenancyEngine,
  weakestDurability,
} from '@tidemark/core/engine';
import { composeTenancy } from './compose-tenancy.ts';
import type { DriverOptions } from './drivers.ts';

/** The parts of a composed store. All data of a session is on one engine, so that it can be deleted completely. */
export const PARTS = [
  'runs',
  'snapshots',
  'kv',
  'artifacts',
  'events',
  'bindings',
  'pauses',
  'memory',
  'sessions',
] as const;
/** The name of a part. */
export type PartName = (typeof PARTS)[number];

/** The store of each part. `default` serves all other parts. */
export type Parts = { default: Store } & Partial<Record<PartName, Store>>;

/** The part that serves each agent capability. */
const AGENT_PARTS: Record<keyof AgentEngine, PartName> = {
  events: 'events',
  bindings: 'bindings',
  pauses: 'pauses',
  memory: 'memory',
  tasks: 'sessions',
  updates: 'sessions',
  steering: 'sessions',
  trajectories: 'sessions',
  plannerEvents: 'sessions',
  sessions: 'sessions',
};

/** Composes a store. Its ping, doctor and close cover all parts. */
export function composeStores(parts: Parts, options: DriverOptions): Store {
  const named = new Map(Object.entries(parts).map(([part, store]) => [part, engineUnder(store, part)]));
  const engine = (part: PartName) => named.get(part) ?? named.get('default')!;
  const all = [...new Set(named.values())];
  const agents = Object.entries(AGENT_PARTS).map(([capability, part]) => [
    capability,
    engine(part).agents?.[capability as keyof AgentEngine],
  ]);
  const context = new StoreContext(options);
  const runs = composedRuns(engine('runs').runs, engine('snapshots').runs);
  // The cleaners of the parts do not know which runs this store uses.
  const cleaner = new Cleaner(runs ? [expirySweep(runs, context.expiry)] : []);
  return assembleStore(context, {
    backend: [...new Set(all.map((it) => it.backend))].join('+'),
    version: [...new Set(all.map((it) => `${it.backend} ${it.version}`))].join(', '),
    can: {
      'runs.denseSequences': engine('runs').can['runs.denseSequences'],
      'runs.feed': engine('runs').can['runs.feed'],
      'runs.transactions': engine('runs').can['runs.transactions'],
      'runs.redaction': engine('runs').can['runs.redaction'],
      'runs.notices': engine('runs').can['runs.notices'],
      'runs.listByUpdate': engine('runs').can['runs.listByUpdate'],
      // Projection states are KV records, which can share a transaction with the events only on the same engine.
      'runs.inlineProjections': engine('runs') === engine('kv') && engine('runs').can['runs.inlineProjections'],
      'kv.watch': engine('kv').can['kv.watch'],
      'kv.atomicBatch': engine('kv').can['kv.atomicBatch'],
      reopen: all.every((it) => it.can.reopen),
    },
    ...chainFormatOf(engine('runs')),
    clock: clockOf(all),
    durability: () => weakestDurability(all.map((it) => it.durability())),
    runs,
    kv: engine('kv').kv,
    agents: Object.fromEntries(agents) as Partial<AgentEngine>,
    artifacts: engine('artifacts').artifacts,
    tenancy: composedTenancy(engine),
    ping: async (call) => void (await Promise.all(all.map((it) => it.ping(call)))),
    doctor: async (call) => composedReport(all, await Promise.all(all.map((it) => it.doctor(call)))),
    async close() {
      await cleaner.stop();
      await closeAll(Object.values(parts));
    },
  });
}

/**
 * Returns the clock of all parts. If one part uses the process's clock, returns `process`, because that clock may be
 * wrong.
 */
function clockOf(engines: readonly Engine[]): StoreClock {
  const clocks = engines.map(({ clock }) => clock ?? 'unknown');
  return (['process', 'unknown'] as const).find((clock) => clocks.includes(clock)) ?? 'server';
}

function chainFormatOf({ chainFormat }: Engine): Pick<Engine, 'chainFormat'> {
  return chainFormat ? { chainFormat: () => chainFormat() } : {};
}

/** Returns the tenancy engine of all parts, or `undefined` if one of the engines has no tenancy engine. */
function composedTenancy(engine: (part: PartName) => Engine): TenancyEngine | undefined {
  const of = (part: TenantPart) =>
    engine(part in AGENT_PARTS ? AGENT_PARTS[part as keyof AgentEngine] : (part as PartName));
  const engines = [...TENANT_PARTS.map(of), engine('snapshots')];
  if (!engines.every((it) => it.tenancy)) return undefined;
  return composeTenancy((part) => of(part).tenancy!, engine('snapshots').tenancy!);
}

function engineUnder(store: Store, part: string): Engine {
  const engine = engineOf(store);
  if (!engine) throw invalidArgument(part, 'a URL, or a store that Tidemark opened on a single engine');
  return engine;
}

/** Returns a run engine that stores its snapshots on another engine. */
function composedRuns(runs: RunEngine | undefined, snapshots: RunEngine | undefined): RunEngine | undefined {
  if (!runs || !snapshots || runs === snapshots) return runs;
  return {
    quarantines: runs.quarantines,
    append: (appends, call) => runs.append(appends, call),
    fetch: (run, afterSeq, limit, call) => runs.fetch(run, afterSeq, limit, call),
    now: (tenantId, call) => runs.now(tenantId, call),
    head: (run, call) => runs.head(run, call),
    tenantsOf: (runId, call) => runs.tenantsOf(runId, call),
    list: (query, call, onDamaged) => runs.list(query, call, onDamaged),
    listByUpdate: runs.listByUpdate?.bind(runs),
    loadSnapshot: (run, call) => snapshots.loadSnapshot(run, call),
    saveSnapshot: (run, snapshot, call, over) => snapshots.saveSnapshot(run, snapshot, call, over),
    dropSnapshot: (run, upToRewrites, call) => snapshots.dropSnapshot(run, upToRewrites, call),
    remove: async (run, tombstone, call) => {
      const removed = await runs.remove(run, tombstone, call);
      await snapshots.dropSnapshot(run, Number.MAX_SAFE_INTEGER, call);
      return removed;
    },
    restore: (run, part, options) => runs.restore(run, part, options),
    redact: (run, runSeq, redaction, call) => runs.redact(run, runSeq, redaction, call),
    feed: (after, limit, call, notices) => runs.feed(after, limit, call, notices),
    waitForEvents: (run, call) => runs.waitForEvents(run, call),
  };
}

function composedReport(engines: readonly Engine[], reports: readonly Awaited<ReturnType<Engine['doctor']>>[]) {
  const weakest = weakestDurability(reports.map(({ durability }) => durability));
  const findings = reports.flatMap((report, index) =>
    report.findings.map((finding) => ({ ...finding, check: `${engines[index]!.backend}: ${finding.check}` })),
  );
  return { durability: weakest, findings };
}

async function closeAll(stores: readonly Store[]): Promise<void> {
  const closed = await Promise.allSettled([...new Set(stores)].map((store) => store.close()));
  const failed = closed.find((it) => it.status === 'rejected');
  if (failed) throw failed.reason;
}

/** One store out of several: each part of the contract is served by the engine chosen for it (AGT-1). */
import { type Durability, invalidArgument, type Store, TENANT_PARTS, type TenantPart } from '@tidemark/core';
import {
  type AgentEngine,
  assembleStore,
  type Engine,
  engineOf,
  type RunEngine,
  StoreContext,
  type TenancyEngine,
} from '@tidemark/core/engine';
import { composeTenancy } from './compose-tenancy.ts';
import type { OpenOptions } from './drivers.ts';

/** The parts a composed store can be made of. All of a session lives in one place, so that it can be deleted whole. */
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
export type PartName = (typeof PARTS)[number];

export type Parts = { default: Store } & Partial<Record<PartName, Store>>;

/** Which part serves which agent capability. */
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

/** From the weakest promise to the strongest; what is not known is never better than what is. */
const DURABILITIES: readonly Durability[] = ['none', 'unknown', 'process-crash', 'host-crash', 'node-loss'];

/** A store whose ping, doctor and close speak for all its parts. */
export function composeStores(parts: Parts, options: OpenOptions): Store {
  const named = new Map(Object.entries(parts).map(([part, store]) => [part, engineUnder(store, part)]));
  const engine = (part: PartName) => named.get(part) ?? named.get('default')!;
  const all = [...new Set(named.values())];
  const agents = Object.entries(AGENT_PARTS).map(([capability, part]) => [
    capability,
    engine(part).agents?.[capability as keyof AgentEngine],
  ]);
  return assembleStore(new StoreContext(options), {
    backend: [...new Set(all.map((it) => it.backend))].join('+'),
    version: [...new Set(all.map((it) => `${it.backend} ${it.version}`))].join(', '),
    can: {
      'runs.denseSequences': engine('runs').can['runs.denseSequences'],
      'runs.feed': engine('runs').can['runs.feed'],
      'runs.transactions': engine('runs').can['runs.transactions'],
      'runs.redaction': engine('runs').can['runs.redaction'],
      // Their states are records: only where both are one engine's can they share a transaction.
      'runs.inlineProjections': engine('runs') === engine('kv') && engine('runs').can['runs.inlineProjections'],
      'kv.watch': engine('kv').can['kv.watch'],
      reopen: all.every((it) => it.can.reopen),
    },
    durability: () => DURABILITIES.find((durability) => all.some((it) => it.durability() === durability))!,
    runs: runsOf(engine('runs').runs, engine('snapshots').runs),
    kv: engine('kv').kv,
    agents: Object.fromEntries(agents) as Partial<AgentEngine>,
    artifacts: engine('artifacts').artifacts,
    tenancy: tenancyOf(engine),
    ping: async (call) => void (await Promise.all(all.map((it) => it.ping(call)))),
    doctor: async (call) => doctorOf(all, await Promise.all(all.map((it) => it.doctor(call)))),
    close: () => closeAll(Object.values(parts)),
  });
}

/** Each part by the engine it is on; only where all of them can tell tenants apart. */
function tenancyOf(engine: (part: PartName) => Engine): TenancyEngine | undefined {
  const of = (part: TenantPart) =>
    engine(part in AGENT_PARTS ? AGENT_PARTS[part as keyof AgentEngine] : (part as PartName));
  const engines = [...TENANT_PARTS.map(of), engine('snapshots')];
  if (!engines.every((it) => it.tenancy)) return undefined;
  return composeTenancy((part) => of(part).tenancy!, engine('snapshots').tenancy!);
}

function engineUnder(store: Store, part: string): Engine {
  const engine = engineOf(store);
  if (!engine) throw invalidArgument(part, 'a URL, or a store that Tidemark opened on an engine of its own');
  return engine;
}

/** A run engine that keeps its snapshots elsewhere. */
function runsOf(runs: RunEngine | undefined, snapshots: RunEngine | undefined): RunEngine | undefined {
  if (!runs || !snapshots || runs === snapshots) return runs;
  return {
    quarantines: runs.quarantines,
    append: (appends, call) => runs.append(appends, call),
    fetch: (run, afterSeq, limit, call) => runs.fetch(run, afterSeq, limit, call),
    head: (run, call) => runs.head(run, call),
    tenantsOf: (runId, call) => runs.tenantsOf(runId, call),
    list: (query, call, onDamaged) => runs.list(query, call, onDamaged),
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
    feed: (after, limit, call) => runs.feed(after, limit, call),
    waitForEvents: (run, call) => runs.waitForEvents(run, call),
  };
}

function doctorOf(engines: readonly Engine[], reports: readonly Awaited<ReturnType<Engine['doctor']>>[]) {
  const weakest = DURABILITIES.find((durability) => reports.some((report) => report.durability === durability))!;
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

/**
 * Rebuilds: brings the states of all runs up to date, then switches the version that serves. It keeps no notes: a state
 * that is up to date needs only a look, so after a crash the work goes on where it stopped.
 */
import type { CallOptions } from '../contracts/common.ts';
import type { RebuildOptions, RebuildProgress, RebuildReport } from '../contracts/projections.ts';
import type { RunSummary } from '../contracts/runs.ts';
import type { Store } from '../contracts/store.ts';
import { numberOf } from '../kv/values.ts';
import { callOf, servingKey, stateKey } from './stored.ts';

/** Runs looked at together. */
const PAGE = 200;
const AT_ONCE = 8;
/** The first look folds everything; the second what came meanwhile, so that the new version does not begin far behind. */
const LOOKS = 2;

/** What a rebuild works with. */
export interface Rebuilding {
  name: string;
  version: number;
  refresh(view: Store, runId: string, call: CallOptions): Promise<unknown>;
}

export async function rebuild(store: Store, it: Rebuilding, options: RebuildOptions): Promise<RebuildReport> {
  const progress: RebuildProgress = { runs: 0, refreshed: 0 };
  for (let look = 0; look < LOOKS; look++) {
    await lookOver(store, it, options, progress);
    options.probe?.('passed');
  }
  const serving = await serve(store, it, callOf(options));
  options.probe?.('switched');
  return { ...progress, activeVersion: serving };
}

async function lookOver(store: Store, it: Rebuilding, options: RebuildOptions, progress: RebuildProgress) {
  const call = callOf(options);
  const views = new Map<string, Store>();
  let cursor: string | undefined;
  do {
    const page = await store.runs.listRuns({ ...call, order: 'oldest', limit: PAGE, cursor });
    for (const [tenantId, runs] of byTenant(page.items)) {
      const view = views.get(tenantId) ?? store.forTenant(tenantId);
      views.set(tenantId, view);
      progress.refreshed += await refreshThoseBehind(view, it, runs, options);
    }
    progress.runs += page.items.length;
    options.onProgress?.({ ...progress });
    cursor = page.next;
  } while (cursor !== undefined);
}

async function refreshThoseBehind(view: Store, it: Rebuilding, runs: RunSummary[], options: RebuildOptions) {
  const call = callOf(options);
  const keys = runs.map(({ runId }) => stateKey(it.name, it.version, runId));
  const records = await view.kv.getMany(keys, call);
  const behind = runs.filter((run, at) => (numberOf(records[at]?.fields.seq) ?? 0) < run.lastEventSeq);
  options.probe?.('looked');
  const waiting = behind.values();
  const work = async () => {
    for (const { runId } of waiting) {
      await it.refresh(view, runId, call);
      options.probe?.('refreshed');
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, behind.length) }, work));
  return behind.length;
}

function byTenant(runs: readonly RunSummary[]): Map<string, RunSummary[]> {
  const groups = new Map<string, RunSummary[]>();
  for (const run of runs) groups.set(run.tenantId, [...(groups.get(run.tenantId) ?? []), run]);
  return groups;
}

/** Makes a version the one that serves, unless a higher one does: a slow rebuild must not undo a later one. */
async function serve(store: Store, { name, version }: Rebuilding, call: CallOptions): Promise<number> {
  const key = servingKey(name);
  for (;;) {
    const record = await store.kv.get(key, call);
    const active = numberOf(record?.fields.active) ?? 0;
    if (active >= version) return active;
    const { swapped } = await store.kv.swap(key, { revision: record?.revision ?? 0, set: { active: version } }, call);
    if (swapped) return version;
  }
}

export async function activeVersion(store: Store, name: string, call: CallOptions): Promise<number | null> {
  const active = await store.kv.getField(servingKey(name), 'active', call);
  return active && (numberOf(active) ?? null);
}

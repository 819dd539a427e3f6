/**
 * Rebuilds: brings the states of all runs up to date, switches the active version, and removes the states of lower
 * versions. A rebuild stores no progress: it skips states that are up to date, so after a crash it continues where it
 * stopped.
 */
import type { CallOptions } from '../contracts/common.ts';
import { isTidemarkError } from '../contracts/errors.ts';
import type { KvRecord } from '../contracts/kv.ts';
import type { RebuildOptions, RebuildProgress, RebuildReport } from '../contracts/projections.ts';
import type { RunSummary } from '../contracts/runs.ts';
import type { Store } from '../contracts/store.ts';
import { numberOf } from '../kv/values.ts';
import { afterVersion, callOptions, isUpToDate, servingKey, stateKey, statesPrefix, versionPrefix } from './stored.ts';

/** Runs listed together. */
const PAGE = 200;
const AT_ONCE = 8;
/** The first pass folds everything; the second folds later events, so that the new version is not far behind. */
const PASSES = 2;

/** The projection that is rebuilt. */
export interface Rebuilding {
  name: string;
  version: number;
  refresh(view: Store, runId: string, call: CallOptions): Promise<unknown>;
}

export async function rebuild(store: Store, it: Rebuilding, options: RebuildOptions): Promise<RebuildReport> {
  const progress: RebuildProgress = { runs: 0, refreshed: 0 };
  const views = new Map<string, Store>();
  for (let pass = 0; pass < PASSES; pass++) {
    await refreshAll(store, views, it, options, progress);
    options.probe?.('passed');
  }
  const active = await activate(store, it, callOptions(options));
  options.probe?.('switched');
  if (active === it.version) for (const view of views.values()) await removeLower(view, it, callOptions(options));
  return { ...progress, activeVersion: active };
}

async function refreshAll(
  store: Store,
  views: Map<string, Store>,
  it: Rebuilding,
  options: RebuildOptions,
  progress: RebuildProgress,
) {
  const call = callOptions(options);
  let cursor: string | undefined;
  do {
    const page = await store.runs.listRuns({ ...call, order: 'oldest', limit: PAGE, cursor });
    for (const [tenantId, runs] of byTenant(page.items)) {
      const view = views.get(tenantId) ?? store.forTenant(tenantId);
      views.set(tenantId, view);
      progress.refreshed += await refreshBehind(view, it, runs, options);
    }
    progress.runs += page.items.length;
    options.onProgress?.({ ...progress });
    cursor = page.next;
  } while (cursor !== undefined);
}

async function refreshBehind(view: Store, it: Rebuilding, runs: RunSummary[], options: RebuildOptions) {
  const call = callOptions(options);
  const keys = runs.map(({ runId }) => stateKey(it.name, it.version, runId));
  const records = await view.kv.getMany(keys, call);
  options.probe?.('looked');
  const waiting = runs.entries();
  let refreshed = 0;
  const work = async () => {
    for (const [at, run] of waiting) {
      if (!(await refreshIfBehind(view, it, run, records[at], call))) continue;
      refreshed++;
      options.probe?.('refreshed');
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, runs.length) }, work));
  return refreshed;
}

/** Refreshes a state if it is behind and returns whether it was. Returns false if the run has been removed. */
async function refreshIfBehind(
  view: Store,
  it: Rebuilding,
  run: RunSummary,
  record: KvRecord | null | undefined,
  call: CallOptions,
): Promise<boolean> {
  try {
    if (await isCurrent(view, run, record, call)) return false;
    await it.refresh(view, run.runId, call);
    return true;
  } catch (error) {
    if (isTidemarkError(error, 'RUN_NOT_FOUND', 'RUN_ARCHIVED')) return false;
    throw error;
  }
}

async function isCurrent(view: Store, run: RunSummary, record: KvRecord | null | undefined, call: CallOptions) {
  const { lastEventSeq } = run;
  // The state is missing or lags behind, so the run need not be read.
  if ((numberOf(record?.fields.seq) ?? 0) < lastEventSeq) return false;
  const position = await view.runs.position(run.runId, call);
  return position !== null && isUpToDate(record, { lastEventSeq, rewrites: position.rewrites });
}

function byTenant(runs: readonly RunSummary[]): Map<string, RunSummary[]> {
  const groups = new Map<string, RunSummary[]>();
  for (const run of runs) groups.set(run.tenantId, [...(groups.get(run.tenantId) ?? []), run]);
  return groups;
}

/**
 * Removes a tenant's states of lower versions, because they are no longer updated, and redactions are no longer applied
 * to them. Finds the stored versions in one scan, because version numbers may be as large as dates.
 */
async function removeLower(view: Store, { name, version }: Rebuilding, call: CallOptions): Promise<void> {
  const prefix = statesPrefix(name);
  for (let from: string | undefined; ; ) {
    const { items } = await view.kv.scanPage(prefix, { ...call, from, keysOnly: true, limit: 1 });
    if (items.length === 0) return;
    const found = items[0]!.key.slice(prefix.length).split('.')[0]!;
    if (Number(found) < version) await removeVersion(view, versionPrefix(name, Number(found)), call);
    from = afterVersion(name, found);
  }
}

async function removeVersion(view: Store, prefix: string, call: CallOptions): Promise<void> {
  let cursor: string | undefined;
  do cursor = (await view.kv.deletePrefix(prefix, { ...call, cursor, limit: PAGE })).next;
  while (cursor !== undefined);
}

/** Activates a version unless a higher one is active: a slow rebuild must not undo a later one. */
async function activate(store: Store, { name, version }: Rebuilding, call: CallOptions): Promise<number> {
  const key = servingKey(name);
  for (;;) {
    const record = await store.kv.get(key, call);
    const active = numberOf(record?.fields.active) ?? 0;
    if (active >= version) return active;
    const { swapped } = await store.kv.swap(
      key,
      { expectedRevision: record?.revision ?? 0, set: { active: version } },
      call,
    );
    if (swapped) return version;
  }
}

export async function activeVersion(store: Store, name: string, call: CallOptions): Promise<number | null> {
  const active = await store.kv.getField(servingKey(name), 'active', call);
  return active && (numberOf(active) ?? null);
}

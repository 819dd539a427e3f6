/** How each call changes the usage of a tenant. */
import { checkId } from '../checks/text.ts';
import type { ArtifactRef } from '../contracts/artifacts.ts';
import type { ExpiredRuns } from '../contracts/expiry.ts';
import type { AppendResult } from '../contracts/run-appends.ts';
import type { RunEventInput } from '../contracts/run-events.ts';
import type { RestoreResult, RunPart } from '../contracts/run-parts.ts';
import type { ForkOptions, RunReadOptions } from '../contracts/runs.ts';
import type { Store } from '../contracts/store.ts';
import { forkRun } from '../runs/fork.ts';
import { DEFAULT_TENANT } from '../runs/view.ts';
import type { StoreCall } from './intercept.ts';
import { exceeded, type GuardedCalls, type Proceed, type QuotaGuard } from './quota-guard.ts';
import { bytesOfRun, payloadBytes, storedBytes } from './quota-usage.ts';

/** Calls that add or remove runs or bytes. */
export const GUARDED_CALLS: GuardedCalls = {
  'runs.appendEvent': async (guard, call, proceed) => {
    const event = call.args[0] as RunEventInput;
    return appendWithQuota(guard, Array.isArray(event) ? [] : [event], async () => [
      (await proceed()) as AppendResult,
    ]).then(([result]) => result);
  },

  'runs.appendEvents': async (guard, call, proceed) => {
    const events = call.args[0];
    if (!Array.isArray(events) || events.length === 0) return proceed();
    return appendWithQuota(guard, events as RunEventInput[], () => proceed() as Promise<AppendResult[]>);
  },

  'runs.forkRun': async (guard, call) => {
    const { runs } = guard.target(call);
    const [runId, options] = call.args as [string, ForkOptions];
    const guarded = {
      fetchEvents: runs.fetchEvents.bind(runs),
      headSeq: runs.headSeq.bind(runs),
      appendEvents: ((events, more) =>
        appendWithQuota(guard, events, () => runs.appendEvents(events, more))) as Store['runs']['appendEvents'],
    };
    return forkRun(guarded, call.tenantId ?? null, checkId(runId, 'runId'), options);
  },

  'runs.restoreRun': async (guard, call, proceed) => {
    const [parts, options] = call.args as [AsyncIterable<RunPart> | Iterable<RunPart>, unknown];
    return restoreWithQuota(guard, parts, (counted) => proceed([counted, options]) as Promise<RestoreResult>);
  },

  'runs.deleteRun': removeRun,
  'runs.archiveRun': removeRun,

  'runs.deleteExpired': async (guard, _call, proceed) => {
    const report = (await proceed()) as ExpiredRuns;
    if (report.deleted > 0) guard.forgetAll();
    return report;
  },

  'artifacts.putBytes': (guard, call, proceed) =>
    putWithQuota(guard, call, Object(call.args[0]).byteLength ?? 0, proceed),
  'artifacts.putText': (guard, call, proceed) =>
    putWithQuota(guard, call, typeof call.args[0] === 'string' ? Buffer.byteLength(call.args[0]) : 0, proceed),

  'artifacts.putStream': async (guard, call, proceed) => {
    const [chunks, options] = call.args as [AsyncIterable<Uint8Array>, unknown];
    const tenantId = artifactTenant(call);
    const { bytes: most } = guard.quotaOf(tenantId);
    if (most === undefined) return proceed();
    const usage = guard.usageOf(tenantId);
    await usage.current();
    let held = 0;
    const counted = async function* () {
      for await (const chunk of chunks) {
        if (usage.total.bytes + chunk.byteLength > most) throw exceeded('bytes', most, tenantId);
        usage.hold(0, chunk.byteLength);
        held += chunk.byteLength;
        yield chunk;
      }
    };
    const before = Date.now();
    try {
      const ref = (await proceed([counted(), options])) as ArtifactRef;
      usage.settle({ runs: 0, bytes: held }, { runs: 0, bytes: isNew(ref, before) ? ref.sizeBytes : 0 });
      return ref;
    } catch (error) {
      usage.settle({ runs: 0, bytes: held }, { runs: 0, bytes: 0 });
      throw error;
    }
  },

  'artifacts.delete': async (guard, call, proceed) => {
    const tenantId = artifactTenant(call);
    if (guard.quotaOf(tenantId).bytes === undefined) return proceed();
    // An artifact whose key was destroyed cannot be read, and is not counted either.
    const ref = await guard
      .target(call)
      .artifacts.getRef(...(call.args as [string]))
      .catch(() => null);
    const isGone = await proceed();
    if (isGone && ref) guard.lower(tenantId, { runs: 0, bytes: ref.sizeBytes });
    return isGone;
  },

  'admin.eraseTenant': async (guard, call, proceed) => {
    const report = await proceed();
    guard.forget(call.args[0] as string);
    return report;
  },
};

/** Appends events of one or several tenants. All tenants must have room. Duplicates use none. */
async function appendWithQuota(
  guard: QuotaGuard,
  events: readonly RunEventInput[],
  append: () => Promise<AppendResult[]>,
): Promise<AppendResult[]> {
  const tenants = new Map<string, number[]>();
  for (const [at, event] of events.entries()) {
    const { tenantId } = Object(event) as Partial<RunEventInput>;
    // The store rejects values that are not events.
    if (typeof tenantId !== 'string') continue;
    tenants.set(tenantId, [...(tenants.get(tenantId) ?? []), at]);
  }
  let make = append;
  for (const [tenantId, indexes] of tenants) {
    const inner = make;
    const own = indexes.map((at) => events[at]!);
    const stored = (results: readonly AppendResult[]) => indexes.filter((at) => results[at]!.persisted);
    const wanted = { runIds: own.map(({ runId }) => runId), bytes: own.reduce((sum, it) => sum + payloadBytes(it), 0) };
    const usedBy = (results: readonly AppendResult[]) => ({
      newRuns: stored(results)
        .filter((at) => results[at]!.runSeq === 1)
        .map((at) => events[at]!.runId),
      bytes: stored(results).reduce((sum, at) => sum + payloadBytes(events[at]!), 0),
    });
    make = () =>
      guard.atRate(tenantId, own.length, async () => {
        const results = await guard.holding(tenantId, wanted, inner, usedBy);
        guard.giveBackEvents(tenantId, own.length - stored(results).length);
        return results;
      });
  }
  return make();
}

/** Checks the quota for a restored run and its bytes, part by part, and counts it once it is restored. */
async function restoreWithQuota(
  guard: QuotaGuard,
  parts: AsyncIterable<RunPart> | Iterable<RunPart>,
  restore: (parts: AsyncIterable<RunPart>) => Promise<RestoreResult>,
): Promise<RestoreResult> {
  let bytes: number | null = null;
  const counted = async function* () {
    for await (const part of parts) {
      const { tenantId, runId } = Object(Object(part).run) as Partial<RunPart['run']>;
      // The store rejects values that are not parts.
      if (typeof tenantId === 'string' && Array.isArray(part.events)) {
        const size = storedBytes(part.events);
        const usage = guard.usageOf(tenantId);
        if (bytes === null) await usage.current();
        const { runs: mostRuns, bytes: mostBytes } = guard.quotaOf(tenantId);
        if (bytes === null && mostRuns !== undefined && usage.total.runs + 1 > mostRuns)
          throw exceeded('runs', mostRuns, tenantId, { runId });
        bytes = (bytes ?? 0) + size;
        if (mostBytes !== undefined && usage.total.bytes + bytes > mostBytes)
          throw exceeded('bytes', mostBytes, tenantId, { runId });
      }
      yield part;
    }
  };
  const result = await restore(counted());
  if (result.restored) guard.lower(result.tenantId, { runs: -1, bytes: -(bytes ?? 0) });
  return result;
}

/** Removes a run and subtracts it and its bytes from the usage. */
async function removeRun(guard: QuotaGuard, call: StoreCall, proceed: Proceed): Promise<unknown> {
  const [runId, options] = call.args as [string, RunReadOptions | undefined];
  const { runs } = guard.target(call);
  const [first] = await runs.fetchEvents(runId, { tenantId: options?.tenantId, limit: 1 }).catch(() => []);
  if (!first) return proceed();
  const { tenantId } = first;
  const bytes = guard.quotaOf(tenantId).bytes === undefined ? 0 : await bytesOfRun(guard.target(call), runId, tenantId);
  const isGone = await proceed();
  if (isGone) guard.lower(tenantId, { runs: 1, bytes }, runId);
  return isGone;
}

async function putWithQuota(guard: QuotaGuard, call: StoreCall, size: number, proceed: Proceed): Promise<unknown> {
  const before = Date.now();
  return guard.holding(
    artifactTenant(call),
    { runIds: [], bytes: size },
    () => proceed() as Promise<ArtifactRef>,
    (ref) => ({ newRuns: [], bytes: isNew(ref, before) ? size : 0 }),
  );
}

/** Whether an artifact was stored since a time. An artifact that already existed keeps its first `createdAt`. */
function isNew(ref: ArtifactRef, since: number): boolean {
  return Date.parse(ref.createdAt) >= since;
}

/** Returns the tenant of an artifact call: the view's, the one its scope names, or the default tenant. */
function artifactTenant({ tenantId, args }: StoreCall): string {
  const { scope } = Object(args[1]) as { scope?: { tenantId?: string | null } };
  return tenantId ?? scope?.tenantId ?? DEFAULT_TENANT;
}

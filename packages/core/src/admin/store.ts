/** The operator calls of every backend: lists of tenants, traces and removed runs, pauses, checks, erasure (GEN-10). */
import { infoOf } from '../agents/pause-reason.ts';
import { laterLife } from '../checks/life.ts';
import { checkLimit, timeText } from '../checks/numbers.ts';
import { checkId } from '../checks/text.ts';
import { type AdminStore, type RemovedRun, TENANT_PARTS } from '../contracts/admin.ts';
import type { CallOptions, Page, PageOptions } from '../contracts/common.ts';
import type { RunStore } from '../contracts/runs.ts';
import type { EngineCall } from '../engine/call.ts';
import { type RemovedRunRow, TRACED_PARTS } from '../engine/tenancy.ts';
import { firstAfter } from '../kv/order.ts';
import { checkTenant } from '../runs/view.ts';
import type { StoreContext } from '../tools/context.ts';
import { cursorKey, pageOf } from '../tools/paging.ts';
import { artifactTotals, listArtifacts } from './artifacts.ts';
import { checkPage } from './check.ts';
import type { AdminEngines } from './engines.ts';
import { eraseSession } from './erase-session.ts';
import { eraseTenant } from './erase-tenant.ts';
import { putPause } from './put-pause.ts';

const DEFAULT_PAGE = 100;
const MAX_PAGE = 1_000;

function toRemovedRun(
  tenantId: string,
  { runId, tombstone: { kind, at, archive, life = 1 } }: RemovedRunRow,
): RemovedRun {
  const about = { tenantId, runId, kind: kind as RemovedRun['kind'], at: timeText(at), ...laterLife(life) };
  return archive === undefined ? about : { ...about, location: archive };
}

/** Creates the operator's calls, for all tenants or, in a view, for its tenant. */
export function createAdmin(
  context: StoreContext,
  engines: AdminEngines,
  runs: RunStore,
  fallback: string,
): AdminStore {
  const { tenancy, agents, parts } = engines;
  const view = context.tenantId === null ? null : { tenantId: context.tenantId };
  const tenantOf = (named: unknown) => checkTenant(view, named) ?? fallback;

  /** Returns a page of names merged from several parts, in order and without duplicates. */
  const merged = async <Part>(
    list: string,
    of: readonly Part[],
    options: PageOptions | undefined,
    read: (part: Part, after: string | null, limit: number, call: EngineCall) => Promise<string[]>,
  ): Promise<Page<string>> => {
    const limit = checkLimit(options?.limit, DEFAULT_PAGE, MAX_PAGE);
    const after = cursorKey(list, options?.cursor);
    const found = await context.read(options, (call) =>
      Promise.all(of.map((part) => read(part, after, limit + 1, call))),
    );
    const same = (text: string) => text;
    return pageOf(list, firstAfter(found.flat(), after, limit + 1), limit, same, same);
  };

  return {
    async listTenants(options) {
      if (view !== null)
        return merged('tenants', [view.tenantId], options, async (own, after) => firstAfter([own], after, 1));
      const present = TENANT_PARTS.filter((part) => parts.has(part));
      return merged('tenants', present, options, (part, after, limit, call) =>
        tenancy.tenants(part, after, limit, call),
      );
    },

    async listAllTraces(options) {
      const tenantId = tenantOf(options?.tenantId);
      const present = TRACED_PARTS.filter((part) => parts.has(part));
      return merged('traces', present, options, (part, after, limit, call) =>
        tenancy.traces(part, tenantId, after, limit, call),
      );
    },

    async listRemovedRuns(options) {
      const tenantId = tenantOf(options?.tenantId);
      const limit = checkLimit(options?.limit, DEFAULT_PAGE, MAX_PAGE);
      const after = cursorKey('removed runs', options?.cursor);
      if (!parts.has('runs')) return { items: [] };
      const rows = await context.read(options, (call) => tenancy.removedRuns(tenantId, after, limit + 1, call));
      return pageOf(
        'removed runs',
        rows,
        limit,
        ({ runId }) => runId,
        (row) => toRemovedRun(tenantId, row),
      );
    },

    async readPause(pauseId: string, options?: CallOptions & { tenantId?: string }) {
      checkId(pauseId, 'pauseId');
      const tenantId = tenantOf(options?.tenantId);
      return context.read(options, async (call) => {
        const info = await agents.pauses.peek(tenantId, pauseId, call);
        const text = info && (await agents.pauses.payload(tenantId, pauseId, call));
        if (!info || text === null) return null;
        const payload = context.payloads.decode(text, { tenantId, kind: 'pause', owner: pauseId });
        return { ...infoOf(context, tenantId, info), payload };
      });
    },

    async putPause(pause, options) {
      return putPause(context, agents.pauses, tenantOf(options?.tenantId), pause, options);
    },

    async listArtifacts(options) {
      return listArtifacts(context, engines, checkTenant(view, options?.tenantId), options);
    },

    async artifactTotals(options) {
      return artifactTotals(context, engines, checkTenant(view, options?.tenantId), options);
    },

    check: (options) => checkPage(context, engines, runs, options),

    async eraseTenant(tenantId, options) {
      checkId(tenantId, 'tenantId');
      checkTenant(view, tenantId);
      return eraseTenant(context, engines, tenantId, options);
    },

    async eraseSession(sessionId, options) {
      checkId(sessionId, 'sessionId');
      return eraseSession(context, engines, tenantOf(options?.tenantId), sessionId, options);
    },
  };
}

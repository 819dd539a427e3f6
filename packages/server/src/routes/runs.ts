/** Runs as a whole: lists, snapshots, integrity, forks, removal. */
import type { ListRunsOptions, RunFilter } from '@tidemark/core';
import { RUN_ROUTES } from '@tidemark/wire/routes';
import { json } from '../http/answer.ts';
import { matchOf, tagOf } from '../http/conditions.ts';
import { Refusal } from '../http/refusal.ts';
import { lifeOf } from './lives.ts';
import { bind } from './route.ts';

export const RUN_HANDLERS = bind(RUN_ROUTES, {
  'GET /v1/runs': async ({ store, query, options }) => {
    const { tenant: _, ...filter } = query as ListRunsOptions & { tenant?: string };
    return json(await store.runs.listRuns({ ...options, ...filter }));
  },
  'GET /v1/run-count': async ({ store, query, options }) => {
    const { tenant: _, ...filter } = query as RunFilter & { tenant?: string };
    return json(await store.runs.countRuns({ ...options, ...filter }));
  },
  'POST /v1/expired-runs': async ({ store, body, options }) => {
    const { tenantId, cursor, limit } = body;
    return json(await store.runs.deleteExpired({ ...options, tenantId, cursor, limit }));
  },
  'GET /v1/runs/{runId}': async ({ store, params, query, options }) => {
    const { tenantId, life } = query;
    const snapshot = await store.runs.getSnapshot(params.runId, { ...options, tenantId, life: lifeOf(life) });
    if (snapshot) return json(snapshot, { etag: tagOf(snapshot.lastEventSeq) });
    throw unknownRun(params.runId);
  },
  'DELETE /v1/runs/{runId}': async ({ store, params, query, options, request }) => {
    const { tenantId, life } = query;
    const expectedSeq = matchOf(request);
    const removing = {
      ...options,
      tenantId,
      life: lifeOf(life),
      ...(expectedSeq === undefined ? {} : { expectedSeq }),
    };
    return json({ deleted: await store.runs.deleteRun(params.runId, removing) });
  },
  'GET /v1/runs/{runId}/snapshot': async ({ store, params, query, options }) => {
    const { tenantId, atSeq, life } = query;
    const snapshot = await store.runs.projectSnapshot(params.runId, {
      ...options,
      tenantId,
      atSeq,
      life: lifeOf(life),
    });
    return json(snapshot, { etag: tagOf(snapshot.lastEventSeq) });
  },
  'POST /v1/runs/{runId}/snapshot/refresh': async ({ store, params, query, options }) => {
    const { tenantId, full } = query;
    return json(await store.runs.refreshSnapshot(params.runId, { ...options, tenantId, full }));
  },
  'POST /v1/runs/{runId}/snapshot/mark-stale': async ({ store, params, query, options }) => {
    const { tenantId } = query;
    return json({ marked: await store.runs.markStale(params.runId, { ...options, tenantId }) });
  },
  'GET /v1/runs/{runId}/head': async ({ store, params, query, options }) => {
    const { tenantId, life: wanted } = query;
    const position = await store.runs.position(params.runId, { ...options, tenantId, life: lifeOf(wanted) });
    if (!position) return json({ seq: 0, rewrites: 0 }, { etag: tagOf(0) });
    const { lastEventSeq: seq, rewrites, life } = position;
    return json({ seq, rewrites, tenantId: position.tenantId, life }, { etag: tagOf(seq) });
  },
  'GET /v1/runs/{runId}/integrity': async ({ store, params, query, options }) => {
    const { tenantId } = query;
    return json(await store.runs.verify(params.runId, { ...options, tenantId }));
  },
  'GET /v1/runs/{runId}/checkpoint': async ({ store, params, query, options, principal, services }) => {
    const { tenantId } = query;
    const run = await store.runs.position(params.runId, { ...options, tenantId });
    if (!run) throw unknownRun(params.runId);
    if (services.checkpoints === null) return json({ configured: false });
    const { checkpoint, point } = await services.checkpoints.read(run);
    if (checkpoint === null) return json({ configured: true });
    const { number, at, root, key, runs } = checkpoint;
    // The number of runs covers all tenants.
    const shown = { number, at, root, key, ...(principal.tenantId === null ? { runs } : {}) };
    const covered = point && { life: point.life, lastEventSeq: point.lastEventSeq, head: point.head, at: point.at };
    return json({ configured: true, checkpoint: shown, ...(covered ? { point: covered } : {}) });
  },
  'POST /v1/runs/{runId}/fork': async ({ store, params, query, body, options }) => {
    const { toRunId, atSeq } = body;
    const { tenantId } = query;
    return json(await store.runs.forkRun(params.runId, { ...options, tenantId, toRunId, atSeq }));
  },
});

function unknownRun(runId: string): Refusal {
  return new Refusal(404, 'RUN_NOT_FOUND', 'There is no such run', { runId });
}

/** Runs as a whole: lists, snapshots, integrity, forks, removal. */
import type { ForkOptions, ListRunsOptions } from '@tidemark/core';
import Type from 'typebox';
import { json } from '../http/answer.ts';
import { matchOf, tagOf } from '../http/conditions.ts';
import { Refusal } from '../http/refusal.ts';
import { EMPTY_LIST, Id, Json, jsonParameter, pageOf, pageQuery, Time } from '../schemas/common.ts';
import { Fork, ForkResult, RefreshedSnapshot, RunSnapshot, RunSummary, VerifyReport } from '../schemas/runs.ts';
import { route } from './route.ts';
import { TENANT_ID, type TenantQuery } from './run-parameters.ts';

export const RUN_ROUTES = [
  route<Omit<ListRunsOptions, 'status'> & { status?: string[] }>(
    {
      method: 'GET',
      path: '/v1/runs',
      scope: 'runs:read',
      summary: 'Runs, newest first',
      query: pageQuery({
        tenantId: Type.Optional(Id),
        projectId: Type.Optional(Id),
        environmentId: Type.Optional(Id),
        planId: Type.Optional(Id),
        parentRunId: Type.Optional(Id),
        status: Type.Optional(Type.Array(Type.String(), { description: `Any of these. ${EMPTY_LIST}` })),
        labels: Type.Optional(jsonParameter(Json, 'Labels the run has, as a JSON object')),
        createdAfter: Type.Optional(Time),
        createdBefore: Type.Optional(Time),
        updatedAfter: Type.Optional(Time),
        updatedBefore: Type.Optional(Time),
        order: Type.Optional(Type.String({ description: 'newest or oldest' })),
      }),
      answers: { 200: pageOf(RunSummary) },
      problems: ['TENANT_MISMATCH'],
    },
    async ({ store, query, options }) => {
      const { tenant: _, ...filter } = query as ListRunsOptions & { tenant?: string };
      return json(await store.runs.listRuns({ ...options, ...filter }));
    },
  ),
  route<TenantQuery>(
    {
      method: 'GET',
      path: '/v1/runs/{runId}',
      scope: 'runs:read',
      summary: 'The stored snapshot of a run, which may lag',
      query: Type.Object(TENANT_ID),
      answers: { 200: RunSnapshot },
      problems: ['RUN_NOT_FOUND', 'AMBIGUOUS_RUN', 'RUN_ARCHIVED'],
    },
    async ({ store, params, query, options }) => {
      const { tenantId } = query;
      const snapshot = await store.runs.getSnapshot(params.runId!, { ...options, tenantId });
      if (snapshot) return json(snapshot, { etag: tagOf(snapshot.lastEventSeq) });
      throw new Refusal(404, 'RUN_NOT_FOUND', 'There is no such run', { runId: params.runId! });
    },
  ),
  route<TenantQuery & { atSeq?: number }>(
    {
      method: 'DELETE',
      path: '/v1/runs/{runId}',
      scope: 'admin',
      summary: 'Remove a whole run; its id stays taken. With If-Match only while that is its last sequence',
      query: Type.Object(TENANT_ID),
      answers: { 200: Type.Object({ deleted: Type.Boolean() }) },
      problems: ['AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'SEQ_CONFLICT', 'OUTCOME_UNKNOWN'],
    },
    async ({ store, params, query, options, request }) => {
      const { tenantId } = query;
      const atSeq = matchOf(request);
      const removing = { ...options, tenantId, ...(atSeq === undefined ? {} : { atSeq }) };
      return json({ deleted: await store.runs.deleteRun(params.runId!, removing) });
    },
  ),
  route<TenantQuery & { atSeq?: number }>(
    {
      method: 'GET',
      path: '/v1/runs/{runId}/snapshot',
      scope: 'runs:read',
      summary: 'The current snapshot of a run, or that at a sequence',
      query: Type.Object({ ...TENANT_ID, atSeq: Type.Optional(Type.Integer()) }),
      answers: { 200: RunSnapshot },
      problems: ['RUN_NOT_FOUND', 'AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'CORRUPT_EVENT'],
    },
    async ({ store, params, query, options }) => {
      const { tenantId, atSeq } = query;
      const snapshot = await store.runs.projectSnapshot(params.runId!, { ...options, tenantId, atSeq });
      return json(snapshot, { etag: tagOf(snapshot.lastEventSeq) });
    },
  ),
  route<TenantQuery & { full?: boolean }>(
    {
      method: 'POST',
      path: '/v1/runs/{runId}/snapshot/refresh',
      scope: 'runs:write',
      summary: 'Fold what is new into the stored snapshot; with full, fold it anew from the first event',
      query: Type.Object({ ...TENANT_ID, full: Type.Optional(Type.Boolean()) }),
      answers: { 200: RefreshedSnapshot },
      problems: ['RUN_NOT_FOUND', 'AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'CORRUPT_EVENT', 'OUTCOME_UNKNOWN'],
    },
    async ({ store, params, query, options }) => {
      const { tenantId, full } = query;
      return json(await store.runs.refreshSnapshot(params.runId!, { ...options, tenantId, full }));
    },
  ),
  route<TenantQuery>(
    {
      method: 'POST',
      path: '/v1/runs/{runId}/snapshot/mark-stale',
      scope: 'runs:write',
      summary: 'Mark the stored snapshot stale until it is refreshed',
      query: Type.Object(TENANT_ID),
      answers: { 200: Type.Object({ marked: Type.Boolean() }) },
      problems: ['AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'OUTCOME_UNKNOWN'],
    },
    async ({ store, params, query, options }) => {
      const { tenantId } = query;
      return json({ marked: await store.runs.markStale(params.runId!, { ...options, tenantId }) });
    },
  ),
  route<TenantQuery>(
    {
      method: 'GET',
      path: '/v1/runs/{runId}/head',
      scope: 'runs:read',
      summary:
        'The last sequence of a run, 0 if it is unknown, and a number that moves with every redaction and restore',
      query: Type.Object(TENANT_ID),
      answers: {
        200: Type.Object({ seq: Type.Integer(), rewrites: Type.Integer(), tenantId: Type.Optional(Id) }),
      },
      problems: ['AMBIGUOUS_RUN', 'RUN_ARCHIVED'],
    },
    async ({ store, params, query, options }) => {
      const { tenantId } = query;
      const position = await store.runs.position(params.runId!, { ...options, tenantId });
      if (!position) return json({ seq: 0, rewrites: 0 }, { etag: tagOf(0) });
      const { lastEventSeq: seq, rewrites } = position;
      return json({ seq, rewrites, tenantId: position.tenantId }, { etag: tagOf(seq) });
    },
  ),
  route<TenantQuery>(
    {
      method: 'GET',
      path: '/v1/runs/{runId}/integrity',
      scope: 'runs:read',
      summary: 'Recompute the hash chain of a run, compare the stored snapshot with it, and report what is wrong',
      query: Type.Object(TENANT_ID),
      answers: { 200: VerifyReport },
      problems: ['RUN_NOT_FOUND', 'AMBIGUOUS_RUN', 'RUN_ARCHIVED'],
    },
    async ({ store, params, query, options }) => {
      const { tenantId } = query;
      return json(await store.runs.verify(params.runId!, { ...options, tenantId }));
    },
  ),
  route<TenantQuery, ForkOptions>(
    {
      method: 'POST',
      path: '/v1/runs/{runId}/fork',
      scope: 'runs:write',
      summary: 'Make a new run of this one’s events up to a sequence',
      query: Type.Object(TENANT_ID),
      body: Fork,
      storeChecksBody: true,
      answers: { 200: ForkResult },
      problems: ['RUN_NOT_FOUND', 'AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'RUN_DELETED', 'CONFLICT', 'OUTCOME_UNKNOWN'],
    },
    async ({ store, params, query, body, options }) => {
      const { toRunId, atSeq } = body;
      const { tenantId } = query;
      return json(await store.runs.forkRun(params.runId!, { ...options, tenantId, toRunId, atSeq }));
    },
  ),
];

/** Runs as a whole: lists, snapshots, integrity, forks, removal. */
import type * as Contract from '@tidemark/core/portable';
import Type from 'typebox';
import { EMPTY_LIST, Id, jsonOf, jsonParameter, pageOf, pageQuery, Time, wordOf } from '../schemas/common.ts';
import { Counted } from '../schemas/kv.ts';
import {
  CheckpointOfRun,
  DeleteExpired,
  ExpiredRuns,
  Fork,
  ForkResult,
  Life,
  RefreshedSnapshot,
  RunSnapshot,
  RunSummary,
  VerifyReport,
} from '../schemas/runs.ts';
import { RUN_LIFE, TENANT_ID } from './parameters.ts';
import { routes } from './route.ts';

const RUN_FILTER = {
  tenantId: Type.Optional(Id),
  projectId: Type.Optional(Id),
  environmentId: Type.Optional(Id),
  planId: Type.Optional(Id),
  parentRunId: Type.Optional(Id),
  status: Type.Optional(Type.Array(wordOf<Contract.RunStatus>(), { description: `Any of these. ${EMPTY_LIST}` })),
  labels: Type.Optional(jsonParameter(jsonOf<Record<string, string>>(), 'Labels the run has, as a JSON object')),
  owner: Type.Optional(
    Type.String({ description: 'Runs of this adapter, such as `claude`, or `any`. Default: runs without an adapter' }),
  ),
  createdAfter: Type.Optional(Time),
  createdBefore: Type.Optional(Time),
  updatedAfter: Type.Optional(Time),
  updatedBefore: Type.Optional(Time),
};

export const RUN_ROUTES = routes({
  'GET /v1/runs': {
    scope: 'runs:read',
    summary: 'List runs, newest first',
    query: pageQuery({
      ...RUN_FILTER,
      order: Type.Optional(wordOf<'newest' | 'oldest'>('newest or oldest')),
      orderBy: Type.Optional(wordOf<'createdAt' | 'updatedAt'>('createdAt or updatedAt')),
    }),
    answers: { 200: pageOf(RunSummary) },
    problems: ['TENANT_MISMATCH', 'UNSUPPORTED'],
  },
  'GET /v1/run-count': {
    scope: 'runs:read',
    summary: 'Count runs; `exact: false` means at least that many',
    query: Type.Object(RUN_FILTER),
    readsList: true,
    answers: { 200: Counted },
    problems: ['TENANT_MISMATCH'],
  },
  'POST /v1/expired-runs': {
    scope: 'admin',
    summary: 'Delete expired runs; continue with `next` as cursor',
    query: Type.Object({}),
    body: DeleteExpired,
    storeChecksBody: true,
    answers: { 200: ExpiredRuns },
    problems: ['TENANT_MISMATCH', 'OUTCOME_UNKNOWN'],
  },
  'GET /v1/runs/{runId}': {
    scope: 'runs:read',
    summary: 'Get the stored snapshot of a run, which may lag behind',
    query: Type.Object(RUN_LIFE),
    answers: { 200: RunSnapshot },
    problems: ['RUN_NOT_FOUND', 'AMBIGUOUS_RUN', 'RUN_ARCHIVED'],
  },
  'DELETE /v1/runs/{runId}': {
    scope: 'admin',
    summary: 'Remove a whole run; with If-Match only if that is its last sequence',
    query: Type.Object(RUN_LIFE),
    answers: { 200: Type.Object({ deleted: Type.Boolean() }) },
    problems: ['AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'SEQ_CONFLICT', 'OUTCOME_UNKNOWN'],
  },
  'GET /v1/runs/{runId}/snapshot': {
    scope: 'runs:read',
    summary: 'Get the current snapshot of a run, or its snapshot at a sequence',
    query: Type.Object({ ...RUN_LIFE, atSeq: Type.Optional(Type.Integer()) }),
    answers: { 200: RunSnapshot },
    problems: ['RUN_NOT_FOUND', 'AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'CORRUPT_EVENT'],
  },
  'POST /v1/runs/{runId}/snapshot/refresh': {
    scope: 'runs:write',
    summary: 'Fold new events into the stored snapshot; with full, rebuild it from the first event',
    query: Type.Object({ ...TENANT_ID, full: Type.Optional(Type.Boolean()) }),
    answers: { 200: RefreshedSnapshot },
    problems: ['RUN_NOT_FOUND', 'AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'CORRUPT_EVENT', 'OUTCOME_UNKNOWN'],
  },
  'POST /v1/runs/{runId}/snapshot/mark-stale': {
    scope: 'runs:write',
    summary: 'Mark the stored snapshot stale until it is refreshed',
    query: Type.Object(TENANT_ID),
    answers: { 200: Type.Object({ marked: Type.Boolean() }) },
    problems: ['AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'OUTCOME_UNKNOWN'],
  },
  'GET /v1/runs/{runId}/head': {
    scope: 'runs:read',
    summary:
      'Get the last sequence of a run, 0 if it is unknown, and a counter of its redactions, restores and new lives',
    query: Type.Object(RUN_LIFE),
    answers: {
      200: Type.Object({ seq: Type.Integer(), rewrites: Type.Integer(), tenantId: Type.Optional(Id), life: Life }),
    },
    problems: ['AMBIGUOUS_RUN', 'RUN_ARCHIVED'],
  },
  'GET /v1/runs/{runId}/integrity': {
    scope: 'runs:read',
    summary: 'Recompute the hash chain of a run, compare the stored snapshot with it, and report every mismatch',
    query: Type.Object(TENANT_ID),
    answers: { 200: VerifyReport },
    problems: ['RUN_NOT_FOUND', 'AMBIGUOUS_RUN', 'RUN_ARCHIVED'],
  },
  'GET /v1/runs/{runId}/checkpoint': {
    scope: 'runs:read',
    summary: 'Get the last signed checkpoint that this server knows, and what it covers of a run',
    query: Type.Object(TENANT_ID),
    answers: { 200: CheckpointOfRun },
    problems: ['RUN_NOT_FOUND', 'AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'CORRUPT_VALUE'],
  },
  'POST /v1/runs/{runId}/fork': {
    scope: 'runs:write',
    summary: 'Create a new run from the events of this one up to a sequence',
    query: Type.Object(TENANT_ID),
    body: Fork,
    storeChecksBody: true,
    answers: { 200: ForkResult },
    problems: ['RUN_NOT_FOUND', 'AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'RUN_DELETED', 'CONFLICT', 'OUTCOME_UNKNOWN'],
  },
});

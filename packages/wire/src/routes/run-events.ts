/** Events of one run: append, read, follow, redact. */
import Type from 'typebox';
import { EVENT_STREAM, LINES } from '../media-types.ts';
import { pageOf, wordOf } from '../schemas/common.ts';
import { AppendResult, EventOfRun, Life, Redaction, RunEventRecord } from '../schemas/runs.ts';
import { APPEND_PARAMETERS, APPEND_PROBLEMS, LIVE_PARAMETERS, RUN_LIFE, TENANT_ID } from './parameters.ts';
import { routes } from './route.ts';

export const RUN_EVENT_ROUTES = routes({
  'POST /v1/runs/{runId}/events': {
    scope: 'runs:write',
    summary: 'Append events: one, several that are stored together, or one per line with a result for each',
    query: Type.Object(APPEND_PARAMETERS),
    body: Type.Union([EventOfRun, Type.Array(EventOfRun)]),
    storeChecksBody: true,
    reads: [LINES],
    answers: { 201: AppendResult, 200: Type.Union([AppendResult, Type.Object({ items: Type.Array(AppendResult) })]) },
    problems: APPEND_PROBLEMS,
  },
  'GET /v1/runs/{runId}/events': {
    scope: 'runs:read',
    summary: 'Read the events of a run in order, or the newest first: a page, all as lines, or live',
    query: Type.Object({
      ...RUN_LIFE,
      ...LIVE_PARAMETERS,
      afterSeq: Type.Optional(Type.Integer()),
      beforeSeq: Type.Optional(Type.Integer({ description: 'Only events before this sequence' })),
      order: Type.Optional(
        wordOf<'newest' | 'oldest'>('newest or oldest first; with newest, pass `next` as `beforeSeq` to continue'),
      ),
      limit: Type.Optional(Type.Integer()),
    }),
    answers: { 200: Type.Intersect([pageOf(RunEventRecord), Type.Object({ life: Life })]) },
    produces: [LINES, EVENT_STREAM],
    problems: ['AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'CORRUPT_EVENT', 'CODEC_FAILED'],
  },
  'GET /v1/runs/{runId}/events/{runSeq}': {
    scope: 'runs:read',
    summary: 'Get one event of a run',
    query: Type.Object(TENANT_ID),
    answers: { 200: RunEventRecord },
    problems: ['NOT_FOUND', 'AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'CORRUPT_EVENT', 'CODEC_FAILED'],
  },
  'POST /v1/runs/{runId}/events/{runSeq}/redact': {
    scope: 'admin',
    summary: 'Remove the payload of an event permanently; the chain stays valid',
    query: Type.Object(TENANT_ID),
    body: Redaction,
    storeChecksBody: true,
    answers: { 200: Type.Object({ redacted: Type.Boolean() }) },
    problems: ['AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'UNSUPPORTED', 'OUTCOME_UNKNOWN'],
  },
});

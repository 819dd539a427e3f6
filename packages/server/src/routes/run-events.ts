/** Events of one run: append, read, follow, redact. */
import { invalidArgument, type RunEventInput } from '@tidemark/core';
import Type from 'typebox';
import { type ANSWERED, EVENT_STREAM, json, LINES, sendLines } from '../http/answer.ts';
import { Refusal } from '../http/refusal.ts';
import { paced } from '../limits/pacing.ts';
import { pageOf } from '../schemas/common.ts';
import { AppendResult, EventOfRun, Redaction, RunEventRecord } from '../schemas/runs.ts';
import { runTopic } from '../streams/topics.ts';
import { type AppendQuery, append } from './appending.ts';
import { LIVE_PARAMETERS, type LiveQuery, lastEventIdOf, openStream, waitOf } from './live.ts';
import { type Call, route, wants } from './route.ts';
import { APPEND_PARAMETERS, APPEND_PROBLEMS, TENANT_ID, type TenantQuery } from './run-parameters.ts';

const DEFAULT_LIMIT = 1_000;

type EventsQuery = TenantQuery & LiveQuery & { afterSeq?: number; limit?: number };

export const RUN_EVENT_ROUTES = [
  route<AppendQuery>(
    {
      method: 'POST',
      path: '/v1/runs/{runId}/events',
      scope: 'runs:write',
      summary: 'Append events: one, several that are stored together, or one a line with a result for each',
      query: Type.Object(APPEND_PARAMETERS),
      body: Type.Union([EventOfRun, Type.Array(EventOfRun)]),
      storeChecksBody: true,
      reads: [LINES],
      answers: { 201: AppendResult, 200: Type.Union([AppendResult, Type.Object({ items: Type.Array(AppendResult) })]) },
      problems: APPEND_PROBLEMS,
    },
    (call) => append(call, (event) => ofRun(event, call.params.runId!)),
  ),
  route<EventsQuery>(
    {
      method: 'GET',
      path: '/v1/runs/{runId}/events',
      scope: 'runs:read',
      summary: 'Events of a run in order: a page, all as lines, or live',
      query: Type.Object({
        ...TENANT_ID,
        ...LIVE_PARAMETERS,
        afterSeq: Type.Optional(Type.Integer()),
        limit: Type.Optional(Type.Integer()),
      }),
      answers: { 200: pageOf(RunEventRecord) },
      gives: [LINES, EVENT_STREAM],
      problems: ['AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'CORRUPT_EVENT', 'CODEC_FAILED'],
    },
    async (call) => {
      const { store, params, query, options, response } = call;
      const { tenantId, afterSeq, limit } = query;
      const runId = params.runId!;
      if (wants(call, EVENT_STREAM)) return follow(call);
      const reading = { ...options, tenantId, afterSeq, limit };
      if (wants(call, LINES)) return sendLines(response, paced(call, store.runs.readEvents(runId, reading)));
      const read = () => store.runs.fetchEvents(runId, reading);
      const waitMs = waitOf(query);
      let items = await read();
      if (items.length === 0 && waitMs > 0) {
        const { hub } = call.services;
        const topic = hub.topic(runTopic(hub.hints, store, runId, tenantId));
        const after = String(afterSeq ?? 0);
        items = await hub.poll({ topic, after, waitMs, response, read, isEmpty: (found) => found.length === 0 });
      }
      const next = items.length === (limit ?? DEFAULT_LIMIT) ? { next: String(items.at(-1)!.runSeq) } : {};
      return json({ items, ...next });
    },
  ),
  route<TenantQuery>(
    {
      method: 'GET',
      path: '/v1/runs/{runId}/events/{runSeq}',
      scope: 'runs:read',
      summary: 'One event of a run',
      query: Type.Object(TENANT_ID),
      answers: { 200: RunEventRecord },
      problems: ['NOT_FOUND', 'AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'CORRUPT_EVENT', 'CODEC_FAILED'],
    },
    async ({ store, params, query, options }) => {
      const runSeq = seqOf(params.runSeq!);
      const reading = { ...options, ...query, afterSeq: runSeq - 1, limit: 1 };
      const [event] = await store.runs.fetchEvents(params.runId!, reading);
      if (event?.runSeq === runSeq) return json(event);
      throw new Refusal(404, 'NOT_FOUND', 'The run has no event of this sequence');
    },
  ),
  route<TenantQuery, { by: string; reason: string }>(
    {
      method: 'POST',
      path: '/v1/runs/{runId}/events/{runSeq}/redact',
      scope: 'admin',
      summary: 'Take the payload out of an event for good; the chain stays valid',
      query: Type.Object(TENANT_ID),
      body: Redaction,
      storeChecksBody: true,
      answers: { 200: Type.Object({ redacted: Type.Boolean() }) },
      problems: ['AMBIGUOUS_RUN', 'RUN_ARCHIVED', 'UNSUPPORTED', 'OUTCOME_UNKNOWN'],
    },
    async ({ store, params, query, body, options }) => {
      const { tenantId } = query;
      const redacting = { ...options, tenantId, by: body.by, reason: body.reason };
      return json({ redacted: await store.runs.redactEvent(params.runId!, seqOf(params.runSeq!), redacting) });
    },
  ),
];

function follow(call: Call<EventsQuery>): typeof ANSWERED {
  const { store, params, query, services } = call;
  const topic = services.hub.topic(runTopic(services.hub.hints, store, params.runId!, query.tenantId));
  const after = lastEventIdOf(call) ?? String(query.afterSeq ?? 0);
  return openStream(call, [{ topic, after }]);
}

/** The event belongs to the run of the path; one that names another does not belong there. */
function ofRun(event: RunEventInput, runId: string): RunEventInput {
  if (event.runId === undefined) return { ...event, runId };
  if (event.runId === runId) return event;
  throw invalidArgument('runId', 'the run of the path, or absent', event.runId);
}

function seqOf(text: string): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
}

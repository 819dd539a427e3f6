/** Events of one run: append, read, follow, redact. */
import { invalidArgument, type RunEventInput } from '@tidemark/core';
import { EVENT_STREAM, LINES } from '@tidemark/wire';
import { RUN_EVENT_ROUTES } from '@tidemark/wire/routes';
import { type ANSWERED, json, sendLines } from '../http/answer.ts';
import { Refusal } from '../http/refusal.ts';
import { paced } from '../limits/pacing.ts';
import { runTopic } from '../streams/topics.ts';
import { append } from './appending.ts';
import { lastEventIdOf, openStream, waitOf } from './live.ts';
import { bind, type CallOf, wants } from './route.ts';

const DEFAULT_LIMIT = 1_000;

export const RUN_EVENT_HANDLERS = bind(RUN_EVENT_ROUTES, {
  'POST /v1/runs/{runId}/events': (call) => append(call, (event) => ofRun(event, call.params.runId)),
  'GET /v1/runs/{runId}/events': async (call) => {
    const { store, params, query, options, response } = call;
    const { tenantId, afterSeq, limit } = query;
    const runId = params.runId;
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
  'GET /v1/runs/{runId}/events/{runSeq}': async ({ store, params, query, options }) => {
    const runSeq = seqOf(params.runSeq);
    const reading = { ...options, ...query, afterSeq: runSeq - 1, limit: 1 };
    const [event] = await store.runs.fetchEvents(params.runId, reading);
    if (event?.runSeq === runSeq) return json(event);
    throw new Refusal(404, 'NOT_FOUND', 'The run has no event of this sequence');
  },
  'POST /v1/runs/{runId}/events/{runSeq}/redact': async ({ store, params, query, body, options }) => {
    const { tenantId } = query;
    const redacting = { ...options, tenantId, by: body.by, reason: body.reason };
    return json({ redacted: await store.runs.redactEvent(params.runId, seqOf(params.runSeq), redacting) });
  },
});

function follow(call: CallOf<'GET /v1/runs/{runId}/events'>): typeof ANSWERED {
  const { store, params, query, services } = call;
  const topic = services.hub.topic(runTopic(services.hub.hints, store, params.runId, query.tenantId));
  const after = lastEventIdOf(call) ?? String(query.afterSeq ?? 0);
  return openStream(call, [{ topic, after }]);
}

/** Returns the event with the run of the path. Throws if it names another run. */
function ofRun(event: RunEventInput, runId: string): RunEventInput {
  if (event.runId === undefined) return { ...event, runId };
  if (event.runId === runId) return event;
  throw invalidArgument('runId', 'the run of the path, or absent', event.runId);
}

function seqOf(text: string): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
}

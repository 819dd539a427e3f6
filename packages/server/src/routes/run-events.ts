/** Events of one run: append, read, follow, redact. */
import { invalidArgument, type RunEventInput, type RunEventRecord } from '@tidemark/core';
import { checkEventRange, rangeAfter } from '@tidemark/core/engine';
import { EVENT_STREAM, LINES } from '@tidemark/wire';
import { RUN_EVENT_ROUTES } from '@tidemark/wire/routes';
import { type ANSWERED, json, sendLines } from '../http/answer.ts';
import { Refusal } from '../http/refusal.ts';
import { paced } from '../limits/pacing.ts';
import { runTopic } from '../streams/topics.ts';
import { append } from './appending.ts';
import { lastEventIdOf, openStream, waitOf } from './live.ts';
import { lifeOf } from './lives.ts';
import { bind, type CallOf, wants } from './route.ts';

export const RUN_EVENT_HANDLERS = bind(RUN_EVENT_ROUTES, {
  'POST /v1/runs/{runId}/events': (call) => append(call, (event) => ofRun(event, call.params.runId)),
  'GET /v1/runs/{runId}/events': async (call) => {
    const { store, params, query, options, response } = call;
    const { tenantId, afterSeq, beforeSeq, order, limit } = query;
    const life = lifeOf(query.life);
    const runId = params.runId;
    const waitMs = waitOf(query);
    if (wants(call, EVENT_STREAM) || waitMs > 0) refuseBackwards(query);
    if (wants(call, EVENT_STREAM)) return follow(call);
    const reading = { ...options, tenantId, afterSeq, beforeSeq, order, limit, life };
    if (wants(call, LINES)) return sendLines(response, paced(call, store.runs.readEvents(runId, reading)));
    const read = () => store.runs.fetchEvents(runId, reading);
    let items = await read();
    if (items.length === 0 && waitMs > 0) {
      const { hub } = call.services;
      const topic = hub.topic(runTopic(hub.hints, store, runId, { tenantId, life }));
      const after = String(afterSeq ?? 0);
      items = await hub.poll({ topic, after, waitMs, response, read, isEmpty: (found) => found.length === 0 });
    }
    const hasMore = rangeAfter(checkEventRange(runId, reading), items) !== null;
    if (!hasMore || life !== undefined) return json(pageOf(items, hasMore));
    // Names the life of a page if more pages follow, so that they can be read from the same life.
    const current = (await store.runs.position(runId, { ...options, tenantId }))?.life;
    if (current === undefined) return json(pageOf(items, true));
    const ofCurrent = await store.runs.fetchEvents(runId, { ...reading, life: current });
    // The events belong to an earlier life, which has ended since. No page follows.
    return json(ofCurrent.length === 0 ? pageOf(items, false) : { ...pageOf(ofCurrent, true), life: current });
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
  const { life } = checkEventRange(params.runId, { life: lifeOf(query.life) });
  const topic = services.hub.topic(
    runTopic(services.hub.hints, store, params.runId, { tenantId: query.tenantId, life }),
  );
  const after = lastEventIdOf(call) ?? String(query.afterSeq ?? 0);
  return openStream(call, [{ topic, after }]);
}

function pageOf(items: RunEventRecord[], hasMore: boolean): { items: RunEventRecord[]; next?: string } {
  return { items, ...(hasMore ? { next: String(items.at(-1)!.runSeq) } : {}) };
}

/** Throws if a live read has an end or would read backwards. */
function refuseBackwards({ beforeSeq, order }: CallOf<'GET /v1/runs/{runId}/events'>['query']): void {
  if (beforeSeq !== undefined) throw invalidArgument('beforeSeq', 'absent when waiting for new events', beforeSeq);
  if (order !== undefined && order !== 'oldest')
    throw invalidArgument('order', 'oldest when waiting for new events', order);
}

/** Returns the event with the run id from the path. Throws if the event names another run. */
function ofRun(event: RunEventInput, runId: string): RunEventInput {
  if (event.runId === undefined) return { ...event, runId };
  if (event.runId === runId) return event;
  throw invalidArgument('runId', 'the run of the path, or absent', event.runId);
}

function seqOf(text: string): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
}

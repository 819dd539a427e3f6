/** Runs over HTTP. */
import {
  type AppendOptions,
  type AppendResult,
  checkDuration,
  checkId,
  checkInteger,
  checkObject,
  createHandle,
  type Duration,
  type FeedItem,
  type FeedOptions,
  type FeedPage,
  type FetchOptions,
  type ForkOptions,
  filledEvent,
  type HandleDefaults,
  invalidArgument,
  isTidemarkError,
  laterLife,
  type Page,
  type RunEventInput,
  type RunPart,
  type RunPosition,
  type RunStore,
  smallParts,
  TidemarkError,
} from '@tidemark/core/portable';
import { type AnswerTo, bodyOf, checkLabelTexts, LIFE_MEMBER, LINES, targetOf } from '@tidemark/wire';
import { type CallForm, type FormsOf, methodsOf, requestOf } from './calls.ts';
import type { HeadWatch } from './head-watch.ts';
import { follow } from './live.ts';
import { SharedAppends } from './shared-appends.ts';
import { streamedBody } from './streamed-body.ts';
import type { Request, Transport } from './transport.ts';
import { uuid } from './uuid.ts';

const STAMPS = { uuid, clock: Date.now };
const APPEND = { route: 'POST /v1/events', method: 'POST', path: '/v1/events' } as const;

type Appends = Pick<RunStore, 'appendEvent' | 'appendEvents'>;

const FORMS = {
  fetchEvents: {
    route: 'GET /v1/runs/{runId}/events',
    takes: ['runId', ['options?', 'tenantId', 'life', 'afterSeq', 'beforeSeq', 'order', 'limit']],
    answer: 'items',
  },
  tail: {
    route: 'GET /v1/runs/{runId}/events',
    takes: ['runId', ['options?', 'tenantId', 'life', 'afterSeq', 'limit']],
    streams: 'events',
  },
  exportRun: {
    route: 'GET /v1/runs/{runId}/export',
    takes: ['runId', ['options?', 'tenantId']],
    streams: 'lines',
  },
  getSnapshot: {
    route: 'GET /v1/runs/{runId}',
    takes: ['runId', ['options?', 'tenantId', 'life']],
    finds: true,
  },
  projectSnapshot: {
    route: 'GET /v1/runs/{runId}/snapshot',
    takes: ['runId', ['options?', 'tenantId', 'life', 'atSeq']],
  },
  refreshSnapshot: {
    route: 'POST /v1/runs/{runId}/snapshot/refresh',
    takes: ['runId', ['options?', 'tenantId', 'full']],
    query: ['tenantId', 'full'],
    isLong: true,
  },
  markStale: {
    route: 'POST /v1/runs/{runId}/snapshot/mark-stale',
    takes: ['runId', ['options?', 'tenantId']],
    query: ['tenantId'],
    answer: 'marked',
  },
  forkRun: {
    route: 'POST /v1/runs/{runId}/fork',
    takes: ['runId', ['options?', 'tenantId', 'toRunId', 'atSeq']],
    query: ['tenantId'],
    isLong: true,
  },
  listRuns: {
    route: 'GET /v1/runs',
    takes: [
      [
        'options?',
        'tenantId',
        'projectId',
        'environmentId',
        'planId',
        'parentRunId',
        'status',
        'labels',
        'owner',
        'createdAfter',
        'createdBefore',
        'updatedAfter',
        'updatedBefore',
        'order',
        'orderBy',
        'limit',
        'cursor',
      ],
    ],
  },
  countRuns: {
    route: 'GET /v1/run-count',
    takes: [
      [
        'options?',
        'tenantId',
        'projectId',
        'environmentId',
        'planId',
        'parentRunId',
        'status',
        'labels',
        'owner',
        'createdAfter',
        'createdBefore',
        'updatedAfter',
        'updatedBefore',
      ],
    ],
  },
  deleteExpired: { route: 'POST /v1/expired-runs', takes: [['options?', 'tenantId', 'cursor', 'limit']] },
  headSeq: {
    route: 'GET /v1/runs/{runId}/head',
    takes: ['runId', ['options?', 'tenantId', 'life']],
    answer: 'seq',
  },
  position: {
    route: 'GET /v1/runs/{runId}/head',
    takes: ['runId', ['options?', 'tenantId', 'life']],
    answer: positionOf,
  },
  verify: { route: 'GET /v1/runs/{runId}/integrity', takes: ['runId', ['options?', 'tenantId']], isLong: true },
  listQuarantined: {
    route: 'GET /v1/quarantines',
    takes: [['options?', 'tenantId', 'state', 'cursor', 'limit']],
  },
  releaseRun: {
    route: 'POST /v1/runs/{runId}/release',
    takes: ['runId', ['options?', 'tenantId']],
    query: ['tenantId'],
    isLong: true,
  },
  deleteRun: {
    route: 'DELETE /v1/runs/{runId}',
    takes: ['runId', ['options?', 'tenantId', 'life']],
    ifMatch: 'expectedSeq',
    answer: 'deleted',
  },
  archiveRun: {
    route: 'POST /v1/runs/{runId}/archive',
    takes: ['runId', ['options?', 'tenantId', 'location', 'expectedSeq', 'expectedRewrites']],
    query: ['tenantId'],
    answer: 'archived',
  },
  archiveLocation: {
    route: 'GET /v1/runs/{runId}/archive',
    takes: ['runId', ['options?', 'tenantId']],
    finds: true,
    answer: (archive: { location: string } | null) => archive?.location ?? null,
  },
  redactEvent: {
    route: 'POST /v1/runs/{runId}/events/{runSeq}/redact',
    takes: ['runId', 'runSeq', ['options', 'tenantId', 'by', 'reason']],
    query: ['tenantId'],
    encode: { runSeq: (value, field) => String(checkInteger(value, field, 1)) },
    answer: 'redacted',
  },
} as const satisfies FormsOf<'runs'>;

const FEED = {
  route: 'GET /v1/events',
  takes: [['options?', 'cursor', 'unreadable', 'notices', 'limit', 'wait']],
} as const satisfies CallForm;

export function httpRuns(
  transport: Transport,
  confinedTo: string | undefined,
  heads: HeadWatch | null = null,
): RunStore {
  const methods = methodsOf(transport, 'runs', FORMS);

  const fetchPage = (runId: string, options: FetchOptions | undefined) =>
    transport.call(requestOf(transport, 'runs', 'fetchEvents', FORMS.fetchEvents, [runId, options]), options);

  const encodeEvent = (event: RunEventInput): string => {
    try {
      checkObject(event, 'event');
      if (event.labels !== undefined) checkLabelTexts(event.labels);
      return bodyOf(event, transport.limits.eventPayloadBytes);
    } catch (error) {
      throw asEventRefusal(error);
    }
  };

  /** Returns the parameters of an append. */
  const queryOf = (options: AppendOptions | undefined) => {
    const { transaction, projections, expectedSeq, life, rejectInvalidTransitions } = options ?? {};
    if (transaction !== undefined) throw unsupported('runs.transactions');
    if (projections !== undefined) throw unsupported('runs.inlineProjections', 'projections');
    return { expectedSeq, life, rejectInvalidTransitions };
  };

  const runs: Omit<RunStore, 'handle'> = {
    ...methods,

    async appendEvent(event, options) {
      const body = encodeEvent(event);
      const query = queryOf(options);
      const write = transport.writeOf('runs', 'appendEvent', [event, options]);
      const shared = SharedAppends.of(transport);
      const mayShare = Object.values(query).every((value) => value === undefined) && shared.accepts(body);
      if (mayShare) return shared.append(body, options, write);
      return (await transport.call({ ...APPEND, query, body, write }, options)) as AppendResult;
    },

    async appendEvents(events, options) {
      if (events.length === 0) return [];
      const body = `[${events.map(encodeEvent).join()}]`;
      const write = transport.writeOf('runs', 'appendEvents', [events, options]);
      const request = { ...APPEND, query: queryOf(options), body, write };
      return ((await transport.call(request, options)) as Page<AppendResult>).items;
    },

    async *readEvents(runId, options) {
      for (let range = Object(options) as FetchOptions; ; ) {
        const { items, next, life = 1 } = await fetchPage(runId, range);
        yield* items;
        if (next === undefined) return;
        // The rest is read from the same life, even if a later life has begun. Servers of version 0.1 know only one
        // life.
        if (!transport.usesOldNames) range = { ...range, life: range.life ?? life };
        range = { ...range, [range.order === 'newest' ? 'beforeSeq' : 'afterSeq']: Number(next) };
      }
    },

    async forkRun(runId, options: ForkOptions) {
      checkId(options?.toRunId, 'toRunId');
      // Resolved here, because a retried fork has to end at the same sequence even if the original run has grown.
      const { atSeq = (await runs.headSeq(runId, options)) || undefined } = options;
      return methods.forkRun(runId, { ...options, atSeq } as ForkOptions);
    },

    async restoreRun(parts, options) {
      const body = streamedBody(linesOf(parts), 'close');
      const { overDeleted, keepEncoded } = Object(options);
      const carried = Array.isArray(parts) ? parts : { withheld: 'parts' };
      const request = {
        ...targetOf('POST /v1/restores'),
        query: transport.named('POST /v1/restores', { overDeleted, keepEncoded }),
        body: body.stream,
        type: LINES,
        isLong: true,
        write: transport.writeOf('runs', 'restoreRun', [carried, options]),
      };
      // If the parts fail, the request ends early and the server rejects it. `check` then throws the error of the parts
      // instead of the server's error.
      return transport.call(request, options).finally(body.check);
    },

    async *feed(options?: FeedOptions): AsyncGenerator<FeedItem> {
      const request = feedRequest(transport, options);
      for await (const { id, event, data } of follow(transport, request, options)) {
        const cursor = decodeURIComponent(id!);
        const { [LIFE_MEMBER]: life, ...item } = JSON.parse(data);
        // Without `notices`, the server sends events only.
        if (event === 'run.notice') yield { cursor, notice: item } as never;
        else
          yield { cursor, event: item, ...laterLife(life ?? 1), ...(event === 'run.released' && { released: true }) };
      }
    },

    async feedPage(options?: FeedOptions & { limit?: number; wait?: Duration }) {
      const { wait } = options ?? {};
      const request = feedRequest(transport, options);
      // The server may respond up to `wait` later than usual.
      const timeoutMs = transport.startCall(options) + (wait === undefined ? 0 : checkDuration(wait, 'wait'));
      const page = await transport.call(request, options, timeoutMs);
      // Without `notices`, the server sends events only.
      return page as FeedPage;
    },
  };

  if (heads) Object.assign(runs, heads.around(runs));
  Object.assign(runs, filling(runs, confinedTo));
  return {
    ...runs,
    handle: (runId: string, defaults?: HandleDefaults) =>
      createHandle(runs as RunStore, checkId(runId, 'runId'), {
        ...(confinedTo === undefined ? {} : { tenantId: confinedTo }),
        ...defaults,
      }) as never,
  };
}

/**
 * Fills in event envelopes on the client rather than on the server, so that a retry and `error.write` have the same
 * ids.
 */
function filling({ appendEvent, appendEvents }: Appends, tenantId: string | undefined): Appends {
  return {
    appendEvent: async (event, options) => appendEvent(filledEvent(event, STAMPS, tenantId), options),
    appendEvents: async (events, options) => {
      if (!Array.isArray(events)) throw invalidArgument('events', 'an array of events', events);
      const filled = events.map((event) => filledEvent(event, STAMPS, tenantId));
      return appendEvents(filled, options);
    },
  };
}

/** Returns the position of a run, or `null` for a run without events. Servers of version 0.1 send no other members. */
function positionOf(head: AnswerTo<'GET /v1/runs/{runId}/head'>, runId: string): RunPosition | null {
  const { seq: lastEventSeq, tenantId, rewrites = 0, life = 1 } = head;
  return lastEventSeq === 0 ? null : { tenantId: tenantId!, runId, lastEventSeq, rewrites, ...laterLife(life) };
}

/** Returns the error for an event that was rejected before it was sent, in the same form as an error of the server. */
function asEventRefusal(error: unknown): unknown {
  if (!isTidemarkError(error)) return error;
  const { field, rule } = error;
  return Object.assign(error, { errors: [{ field, rule }] });
}

function feedRequest(transport: Transport, options: FeedOptions | undefined): Request<typeof FEED.route> {
  const request = requestOf(transport, 'runs', 'feed', FEED, [options]);
  const { filter = {} } = Object(options);
  const { tenantId, eventTypes } = checkObject(filter, 'filter');
  if (eventTypes !== undefined && !Array.isArray(eventTypes))
    throw invalidArgument('filter.eventTypes', 'an array of event types', eventTypes);
  for (const type of eventTypes ?? []) checkId(type, 'filter.eventTypes');
  return { ...request, query: { ...request.query, tenantId, eventType: eventTypes } };
}

/** Yields the parts to send, as lines. Rejects values that JSON cannot represent. */
async function* linesOf(parts: AsyncIterable<RunPart> | Iterable<RunPart>): AsyncGenerator<Uint8Array> {
  const isIterable = typeof parts === 'object' && parts !== null;
  if (!isIterable || !(Symbol.asyncIterator in parts || Symbol.iterator in parts))
    throw invalidArgument('parts', 'the parts of an exported run', parts);
  const encoder = new TextEncoder();
  for await (const part of parts) {
    checkObject(part, 'part');
    if (part.run?.labels !== undefined) checkLabelTexts(part.run.labels);
    // Exports of older versions contain parts that are larger than a server accepts.
    for (const small of Array.isArray(part.events) ? smallParts(part) : [part])
      yield encoder.encode(`${JSON.stringify(small)}\n`);
  }
}

function unsupported(capability: string, field = capability): TidemarkError {
  return new TidemarkError('UNSUPPORTED', `A store over HTTP has no ${capability}`, {
    field,
    rule: 'a capability of the store',
  });
}

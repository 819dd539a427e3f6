/** Runs over HTTP. */
import {
  type AppendOptions,
  type AppendResult,
  type CallOptions,
  checkEventRange,
  checkId,
  checkInteger,
  checkLabels,
  checkLimit,
  checkObject,
  checkOneOf,
  checkOptionalBoolean,
  checkTail,
  createHandle,
  type Duration,
  type EventRange,
  eventRefusal,
  type FeedItem,
  type FeedOptions,
  type ForkOptions,
  filledEvent,
  filledEvents,
  type HandleDefaults,
  invalidArgument,
  isTidemarkError,
  type ListQuarantinedOptions,
  type ListRunsOptions,
  type Page,
  type RunEventInput,
  type RunEventRecord,
  type RunPart,
  type RunReadOptions,
  type RunStore,
  rangeAfter,
  refuseOldNames,
  type StoreInfo,
  type StoreWrite,
  smallParts,
  TidemarkError,
} from '@tidemark/core/portable';
import { bodyOf, LINES, targetOf } from '@tidemark/wire';
import type { HeadWatch } from './head-watch.ts';
import { linesBody } from './line-body.ts';
import { follow } from './live.ts';
import { checkTenant, tenantIn as tenantOf } from './tenants.ts';
import type { Transport } from './transport.ts';
import { uuid } from './uuid.ts';

const STAMPS = { uuid, clock: Date.now };

type Appends = Pick<RunStore, 'appendEvent' | 'appendEvents'>;

const DEFAULT_FETCH = 1_000;
const MAX_FETCH = 10_000;
const MAX_BATCH = 1_000;

export function httpRuns(
  transport: Transport,
  { limits, tenantId: confinedTo }: Pick<StoreInfo, 'limits' | 'tenantId'>,
  heads: HeadWatch | null = null,
): RunStore {
  const tenantIn = (options: RunReadOptions | undefined) => tenantOf(transport, options);

  const encodeEvent = (event: RunEventInput): string => {
    try {
      checkObject(event, 'event');
      checkTenant(transport, checkId(event.tenantId, 'tenantId'));
      if (event.labels !== undefined) checkLabels(event.labels, 'labels');
      return bodyOf(event, limits.eventPayloadBytes);
    } catch (error) {
      throw asEventRefusal(error);
    }
  };

  const append = (body: string, options: AppendOptions | undefined, write: StoreWrite | undefined) => {
    if (options?.transaction !== undefined) throw unsupported('runs.transactions');
    if (options?.projections !== undefined) throw unsupported('runs.inlineProjections', 'projections');
    const expectedSeq =
      options?.expectedSeq === undefined ? undefined : checkInteger(options.expectedSeq, 'expectedSeq', 0);
    const { rejectInvalidTransitions } = options ?? {};
    const query = { expectedSeq, rejectInvalidTransitions };
    return transport.call({ ...targetOf('POST /v1/events'), query, body, write }, options);
  };

  const runs: Omit<RunStore, 'handle'> = {
    async appendEvent(event, options) {
      return (await append(
        encodeEvent(event),
        options,
        transport.writeOf('runs', 'appendEvent', [event, options]),
      )) as AppendResult;
    },

    async appendEvents(events, options) {
      if (!Array.isArray(events)) throw invalidArgument('events', 'an array of events', events);
      if (events.length > MAX_BATCH) throw invalidArgument('events', `at most ${MAX_BATCH} events`, events.length);
      if (events.length === 0) return [];
      const body = `[${events.map(encodeEvent).join()}]`;
      const answer = await append(body, options, transport.writeOf('runs', 'appendEvents', [events, options]));
      return (answer as Page<AppendResult>).items;
    },

    async fetchEvents(runId, options) {
      const range = checkEventRange(runId, options);
      const query = { ...tenantIn(options), ...rangeQuery(transport, range) };
      const request = { ...targetOf('GET /v1/runs/{runId}/events', { runId }), query };
      return (await transport.call(request, options)).items;
    },

    async *readEvents(runId, options) {
      for (let range: EventRange | null = checkEventRange(runId, options); range; ) {
        const events: RunEventRecord[] = await runs.fetchEvents(runId, { ...options, ...range });
        yield* events;
        range = rangeAfter(range, events);
      }
    },

    tail(runId, options) {
      const { afterSeq } = checkTail(runId, options);
      const query = { ...tenantIn(options), afterSeq };
      const stream = follow(transport, { ...targetOf('GET /v1/runs/{runId}/events', { runId }), query }, options);
      return parsed<RunEventRecord>(stream);
    },

    async getSnapshot(runId, options) {
      const request = { ...targetOf('GET /v1/runs/{runId}', { runId }), query: tenantIn(options) };
      try {
        return await transport.call(request, options);
      } catch (error) {
        if (isTidemarkError(error, 'RUN_NOT_FOUND')) return null;
        throw error;
      }
    },

    async projectSnapshot(runId, options) {
      const atSeq = options?.atSeq === undefined ? undefined : checkInteger(options.atSeq, 'atSeq', 1);
      const query = { ...tenantIn(options), atSeq };
      return transport.call({ ...targetOf('GET /v1/runs/{runId}/snapshot', { runId }), query }, options);
    },

    async refreshSnapshot(runId, options) {
      const to = targetOf('POST /v1/runs/{runId}/snapshot/refresh', { runId });
      // Omitted when false: older servers do not know it.
      const full = checkOptionalBoolean(options?.full, 'full') || undefined;
      const write = transport.writeOf('runs', 'refreshSnapshot', [runId, options]);
      const query = { ...tenantIn(options), full };
      const request = { ...to, query, isLong: full === true, write };
      return transport.call(request, options);
    },

    async markStale(runId, options) {
      const to = targetOf('POST /v1/runs/{runId}/snapshot/mark-stale', { runId });
      const write = transport.writeOf('runs', 'markStale', [runId, options]);
      const request = { ...to, query: tenantIn(options), write };
      return (await transport.call(request, options)).marked;
    },

    async forkRun(runId, options: ForkOptions) {
      const to = targetOf('POST /v1/runs/{runId}/fork', { runId });
      const toRunId = checkId(membersOf(options).toRunId, 'toRunId');
      // Resolved here: a retried fork has to end at the same sequence, although the origin may have grown.
      const { atSeq = (await runs.headSeq(runId, options)) || undefined } = options;
      const body = bodyOf({ toRunId, atSeq }, limits.documentBytes);
      const write = transport.writeOf('runs', 'forkRun', [runId, { ...options, atSeq }]);
      const request = { ...to, query: tenantIn(options), body, isLong: true, write };
      return transport.call(request, options);
    },

    async listRuns(options?: ListRunsOptions) {
      const { signal: _, timeoutMs: __, tenantId: ___, ...filter } = membersOf(options);
      if (filter.labels !== undefined) checkLabels(filter.labels, 'labels');
      const query = { ...filter, ...tenantIn(options) };
      const request = { ...targetOf('GET /v1/runs'), query };
      return transport.call(request, options);
    },

    async headSeq(runId, options) {
      const request = { ...targetOf('GET /v1/runs/{runId}/head', { runId }), query: tenantIn(options) };
      return (await transport.call(request, options)).seq;
    },

    async position(runId, options) {
      const request = { ...targetOf('GET /v1/runs/{runId}/head', { runId }), query: tenantIn(options) };
      const head = await transport.call(request, options);
      const { seq: lastEventSeq, tenantId, rewrites = 0 } = head;
      return lastEventSeq === 0 ? null : { tenantId: tenantId!, runId, lastEventSeq, rewrites };
    },

    async verify(runId, options) {
      const request = {
        ...targetOf('GET /v1/runs/{runId}/integrity', { runId }),
        query: tenantIn(options),
        isLong: true,
      };
      return transport.call(request, options);
    },

    async listQuarantined(options?: ListQuarantinedOptions) {
      const { state, cursor, limit } = membersOf(options);
      const query = { state, cursor, limit, ...tenantIn(options) };
      return transport.call({ ...targetOf('GET /v1/quarantines'), query }, options);
    },

    async releaseRun(runId, options) {
      const request = {
        ...targetOf('POST /v1/runs/{runId}/release', { runId }),
        query: tenantIn(options),
        isLong: true,
        write: transport.writeOf('runs', 'releaseRun', [runId, options]),
      };
      return transport.call(request, options);
    },

    async deleteRun(runId, options?: RunReadOptions & { expectedSeq?: number }) {
      refuseOldNames('deleteRun', options);
      const expectedSeq =
        options?.expectedSeq === undefined ? undefined : checkInteger(options.expectedSeq, 'expectedSeq', 1);
      const headers: Record<string, string> = expectedSeq === undefined ? {} : { 'if-match': `"${expectedSeq}"` };
      const write = transport.writeOf('runs', 'deleteRun', [runId, options]);
      const request = { ...targetOf('DELETE /v1/runs/{runId}', { runId }), query: tenantIn(options), headers, write };
      return (await transport.call(request, options)).deleted;
    },

    exportRun(runId, options) {
      const request = { ...targetOf('GET /v1/runs/{runId}/export', { runId }), query: tenantIn(options) };
      return transport.lines<RunPart>(request, options);
    },

    async restoreRun(parts, options) {
      const lines = linesBody(checkedParts(parts));
      const request = {
        ...targetOf('POST /v1/restores'),
        query: {
          overDeleted: checkOptionalBoolean(options?.overDeleted, 'overDeleted'),
          // Omitted when false: older servers do not know it.
          keepEncoded: checkOptionalBoolean(options?.keepEncoded, 'keepEncoded') || undefined,
        },
        body: lines.stream,
        type: LINES,
        isLong: true,
        write: transport.writeOf('runs', 'restoreRun', [parts, options]),
      };
      // If the parts fail, the request ends early and the server rejects it. `check` throws the error of the parts
      // instead.
      return transport.call(request, options).finally(lines.check);
    },

    async archiveRun(runId, options) {
      refuseOldNames('archiveRun', options);
      const { location, expectedSeq, expectedRewrites } = membersOf(options);
      const body = bodyOf(
        transport.named('POST /v1/runs/{runId}/archive', { location, expectedSeq, expectedRewrites }),
        limits.documentBytes,
      );
      const write = transport.writeOf('runs', 'archiveRun', [runId, options]);
      const request = {
        ...targetOf('POST /v1/runs/{runId}/archive', { runId }),
        query: tenantIn(options),
        body,
        write,
      };
      return (await transport.call(request, options)).archived;
    },

    async archiveLocation(runId, options) {
      const request = { ...targetOf('GET /v1/runs/{runId}/archive', { runId }), query: tenantIn(options) };
      return (await transport.find(request, options))?.location ?? null;
    },

    async redactEvent(runId, runSeq, options) {
      const to = targetOf('POST /v1/runs/{runId}/events/{runSeq}/redact', {
        runId,
        runSeq: String(checkInteger(runSeq, 'runSeq', 1)),
      });
      const { by, reason } = checkObject(options, 'options') as unknown as typeof options;
      const body = bodyOf({ by, reason }, limits.documentBytes);
      const write = transport.writeOf('runs', 'redactEvent', [runId, runSeq, options]);
      const request = { ...to, query: tenantIn(options), body, write };
      return (await transport.call(request, options)).redacted;
    },

    feed(options?: FeedOptions) {
      const query = feedQuery(transport, options);
      return feedItems(follow(transport, { ...targetOf('GET /v1/events'), query }, options));
    },

    async feedPage(options?: FeedOptions & { limit?: number; wait?: Duration }) {
      const limit = checkLimit(options?.limit, DEFAULT_FETCH, MAX_FETCH);
      const query = { ...feedQuery(transport, options), limit, wait: options?.wait };
      return transport.call({ ...targetOf('GET /v1/events'), query }, waiting(transport, options));
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
 * Fills in the envelopes of events here and not on the server, so that a retry and `error.write` have the same ids.
 */
function filling({ appendEvent, appendEvents }: Appends, tenantId: string | undefined): Appends {
  return {
    appendEvent: async (event, options) => appendEvent(filledEvent(event, STAMPS, tenantId), options),
    appendEvents: async (events, options) => appendEvents(filledEvents(events, STAMPS, tenantId), options),
  };
}

/** Returns the error of an event that was refused before it was sent, in the form that the server's errors have. */
function asEventRefusal(error: unknown): unknown {
  if (!isTidemarkError(error) || error.code === 'TENANT_MISMATCH' || error.field === undefined) return error;
  const { code, message, field, rule = '' } = error;
  return eventRefusal(code, message, [{ field, rule }]);
}

function rangeQuery(transport: Transport, { afterSeq, beforeSeq, limit, order }: EventRange) {
  // Omitted by default: older servers do not know them, and would return other events.
  const backwards = { beforeSeq, order: order === 'newest' ? order : undefined };
  if (transport.usesOldNames && (backwards.beforeSeq !== undefined || backwards.order !== undefined))
    throw new TidemarkError(
      'UNSUPPORTED',
      'The server is too old for beforeSeq and for reading the newest events first',
    );
  return { afterSeq, limit, ...backwards };
}

function feedQuery(transport: Transport, options: FeedOptions | undefined) {
  refuseOldNames('feed', options);
  const { cursor } = options ?? {};
  if (cursor !== undefined && (typeof cursor !== 'string' || cursor === ''))
    throw invalidArgument('cursor', 'a cursor of this feed', cursor);
  const filter = (options?.filter === undefined ? {} : checkObject(options.filter, 'filter')) as FeedOptions['filter'];
  const { eventTypes } = filter!;
  if (eventTypes !== undefined && !Array.isArray(eventTypes))
    throw invalidArgument('filter.eventTypes', 'an array of event types', eventTypes);
  for (const type of eventTypes ?? []) checkId(type, 'filter.eventTypes');
  const query = { cursor, ...tenantOf(transport, filter), eventType: eventTypes, unreadable: unreadableOf(options) };
  return transport.named('GET /v1/events', query);
}

function unreadableOf(options: FeedOptions | undefined): 'skip' | undefined {
  return options?.unreadable === undefined
    ? undefined
    : checkOneOf(options.unreadable, 'unreadable', ['skip'] as const);
}

function membersOf<T extends object>(options: T | null | undefined): Partial<T> {
  return options ?? {};
}

/** Yields the parts to send. Rejects values that JSON would lose. */
function checkedParts(parts: AsyncIterable<RunPart> | Iterable<RunPart>): AsyncIterable<RunPart> {
  const isIterable = typeof parts === 'object' && parts !== null;
  if (!isIterable || !(Symbol.asyncIterator in parts || Symbol.iterator in parts))
    throw invalidArgument('parts', 'the parts of an exported run', parts);
  return (async function* () {
    for await (const part of parts) {
      checkObject(part, 'part');
      if (part.run?.labels !== undefined) checkLabels(part.run.labels, 'labels');
      // Exports of older versions have parts larger than a server accepts.
      if (Array.isArray(part.events)) yield* smallParts(part);
      else yield part;
    }
  })();
}

/** Extends the time limit of a call by the time that the server may wait. */
function waiting(
  transport: Transport,
  options: (CallOptions & { wait?: Duration }) | undefined,
): CallOptions | undefined {
  return options?.wait === undefined ? options : transport.waiting(options, options.wait);
}

async function* parsed<T>(events: AsyncIterable<{ data: string }>): AsyncGenerator<T, void, undefined> {
  for await (const { data } of events) yield JSON.parse(data) as T;
}

async function* feedItems(
  events: AsyncIterable<{ id: string | null; event: string; data: string }>,
): AsyncGenerator<FeedItem> {
  for await (const { id, event, data } of events) {
    const item = { cursor: decodeURIComponent(id!), event: JSON.parse(data) };
    yield event === 'run.released' ? { ...item, released: true } : item;
  }
}

function unsupported(capability: string, field = capability): TidemarkError {
  return new TidemarkError('UNSUPPORTED', `A store over HTTP has no ${capability}`, {
    field,
    rule: 'a capability of the store',
  });
}

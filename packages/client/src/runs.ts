/** Runs over HTTP. */
import {
  type AppendOptions,
  type AppendResult,
  type CallOptions,
  checkAppendLife,
  checkEventRange,
  checkId,
  checkInteger,
  checkLabels,
  checkLimit,
  checkObject,
  checkOneOf,
  checkOptionalBoolean,
  checkOptionalLife,
  checkTail,
  createHandle,
  type DeleteExpiredOptions,
  type Duration,
  type EventRange,
  eventRefusal,
  type FeedItem,
  type FeedOptions,
  type FeedPage,
  type FetchOptions,
  type ForkOptions,
  filledEvent,
  filledEvents,
  type HandleDefaults,
  invalidArgument,
  isTidemarkError,
  type ListQuarantinedOptions,
  type ListRunsOptions,
  laterLife,
  type NoticeFeedOptions,
  type NoticeItem,
  type Page,
  type RunEventInput,
  type RunEventRecord,
  type RunFilter,
  type RunLifeOptions,
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
import { bodyOf, LIFE_MEMBER, LINES, targetOf } from '@tidemark/wire';
import type { HeadWatch } from './head-watch.ts';
import { linesBody } from './line-body.ts';
import { follow } from './live.ts';
import { SharedAppends } from './shared-appends.ts';
import { checkTenant, tenantIn as tenantOf } from './tenants.ts';
import type { Transport } from './transport.ts';
import { uuid } from './uuid.ts';

const STAMPS = { uuid, clock: Date.now };

/** A page of a run's events. Names the life if another page follows and the life is not the first. */
interface RunEventPage extends Page<RunEventRecord> {
  life?: number;
}

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

  const lifeIn = (options: RunLifeOptions | undefined) => ({
    ...tenantIn(options),
    life: checkOptionalLife(options?.life),
  });

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
    const life = options?.life === undefined ? undefined : checkAppendLife(options.life);
    const query = { expectedSeq, life, rejectInvalidTransitions };
    return transport.call({ ...targetOf('POST /v1/events'), query, body, write }, options);
  };

  const fetchPage = async (
    runId: string,
    range: EventRange,
    options: FetchOptions | undefined,
  ): Promise<RunEventPage> => {
    const query = { ...tenantIn(options), ...rangeQuery(transport, range) };
    const page = await transport.call({ ...targetOf('GET /v1/runs/{runId}/events', { runId }), query }, options);
    return page as RunEventPage;
  };

  const runs: Omit<RunStore, 'handle'> = {
    async appendEvent(event, options) {
      const body = encodeEvent(event);
      const write = transport.writeOf('runs', 'appendEvent', [event, options]);
      const shared = isPlain(options) ? SharedAppends.of(transport) : null;
      if (shared?.accepts(body)) return shared.append(body, options, write);
      return (await append(body, options, write)) as AppendResult;
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
      return (await fetchPage(runId, checkEventRange(runId, options), options)).items;
    },

    async *readEvents(runId, options) {
      for (let range: EventRange | null = checkEventRange(runId, options); range; ) {
        const { items, next, life = 1 } = await fetchPage(runId, range, options);
        yield* items;
        // The rest is read from the same life, even if a later life has begun. Servers of version 0.1 know only one
        // life.
        const following: EventRange | null = next === undefined ? null : rangeAfter(range, items);
        range = following && !transport.usesOldNames ? { life, ...following } : following;
      }
    },

    tail(runId, options) {
      const { afterSeq, life } = checkTail(runId, options);
      const query = { ...tenantIn(options), afterSeq, life };
      const stream = follow(transport, { ...targetOf('GET /v1/runs/{runId}/events', { runId }), query }, options);
      return parsed<RunEventRecord>(stream);
    },

    async getSnapshot(runId, options) {
      const request = { ...targetOf('GET /v1/runs/{runId}', { runId }), query: lifeIn(options) };
      try {
        return await transport.call(request, options);
      } catch (error) {
        if (isTidemarkError(error, 'RUN_NOT_FOUND')) return null;
        throw error;
      }
    },

    async projectSnapshot(runId, options) {
      const atSeq = options?.atSeq === undefined ? undefined : checkInteger(options.atSeq, 'atSeq', 1);
      const query = { ...lifeIn(options), atSeq };
      return transport.call({ ...targetOf('GET /v1/runs/{runId}/snapshot', { runId }), query }, options);
    },

    async refreshSnapshot(runId, options) {
      const to = targetOf('POST /v1/runs/{runId}/snapshot/refresh', { runId });
      // Omitted when false, because older servers do not know the parameter.
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
      // Resolved here, because a retried fork has to end at the same sequence even if the original run has grown.
      const { atSeq = (await runs.headSeq(runId, options)) || undefined } = options;
      const body = bodyOf({ toRunId, atSeq }, limits.documentBytes);
      const write = transport.writeOf('runs', 'forkRun', [runId, { ...options, atSeq }]);
      const request = { ...to, query: tenantIn(options), body, isLong: true, write };
      return transport.call(request, options);
    },

    async listRuns(options?: ListRunsOptions) {
      const { signal: _, timeoutMs: __, tenantId: ___, ...filter } = membersOf(options);
      if (filter.labels !== undefined) checkLabels(filter.labels, 'labels');
      // An older server would ignore the parameter and list runs by creation.
      if (transport.usesOldNames && filter.orderBy === 'updatedAt') throw unsupported('runs.listByUpdate');
      const query = { ...filter, ...tenantIn(options) };
      const request = { ...targetOf('GET /v1/runs'), query };
      return transport.call(request, options);
    },

    async countRuns(filter?: RunFilter & CallOptions) {
      const { signal: _, timeoutMs: __, tenantId: ___, ...conditions } = membersOf(filter);
      if (conditions.labels !== undefined) checkLabels(conditions.labels, 'labels');
      const request = { ...targetOf('GET /v1/run-count'), query: { ...conditions, ...tenantIn(filter) } };
      return transport.call(request, filter);
    },

    async deleteExpired(options?: DeleteExpiredOptions) {
      const { cursor, limit } = membersOf(options);
      const body = JSON.stringify({ ...tenantIn(options), cursor, limit });
      const write = transport.writeOf('runs', 'deleteExpired', [options]);
      return transport.call({ ...targetOf('POST /v1/expired-runs'), body, write }, options);
    },

    async headSeq(runId, options) {
      const request = { ...targetOf('GET /v1/runs/{runId}/head', { runId }), query: lifeIn(options) };
      return (await transport.call(request, options)).seq;
    },

    async position(runId, options) {
      const request = { ...targetOf('GET /v1/runs/{runId}/head', { runId }), query: lifeIn(options) };
      const head = await transport.call(request, options);
      const { seq: lastEventSeq, tenantId, rewrites = 0, life = 1 } = head;
      if (lastEventSeq === 0) return null;
      return { tenantId: tenantId!, runId, lastEventSeq, rewrites, ...laterLife(life) };
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

    async deleteRun(runId, options?: RunLifeOptions & { expectedSeq?: number }) {
      refuseOldNames('deleteRun', options);
      const expectedSeq =
        options?.expectedSeq === undefined ? undefined : checkInteger(options.expectedSeq, 'expectedSeq', 1);
      const headers: Record<string, string> = expectedSeq === undefined ? {} : { 'if-match': `"${expectedSeq}"` };
      const write = transport.writeOf('runs', 'deleteRun', [runId, options]);
      const request = { ...targetOf('DELETE /v1/runs/{runId}', { runId }), query: lifeIn(options), headers, write };
      return (await transport.call(request, options)).deleted;
    },

    exportRun(runId, options) {
      const request = { ...targetOf('GET /v1/runs/{runId}/export', { runId }), query: tenantIn(options) };
      return transport.lines<RunPart>(request, options);
    },

    async restoreRun(parts, options) {
      const lines = linesBody(checkedParts(parts));
      const carried = Array.isArray(parts) ? (parts as RunPart[]) : ({ withheld: 'parts' } as const);
      const request = {
        ...targetOf('POST /v1/restores'),
        query: {
          overDeleted: checkOptionalBoolean(options?.overDeleted, 'overDeleted'),
          // Omitted when false, because older servers do not know the parameter.
          keepEncoded: checkOptionalBoolean(options?.keepEncoded, 'keepEncoded') || undefined,
        },
        body: lines.stream,
        type: LINES,
        isLong: true,
        write: transport.writeOf('runs', 'restoreRun', [carried, options]),
      };
      // If the parts fail, the request ends early and the server rejects it. `check` then throws the error of the parts
      // instead of the server's error.
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
      return feedItems<FeedItem>(follow(transport, { ...targetOf('GET /v1/events'), query }, options));
    },

    async feedPage(options?: FeedOptions & { limit?: number; wait?: Duration }) {
      const limit = checkLimit(options?.limit, DEFAULT_FETCH, MAX_FETCH);
      const query = { ...feedQuery(transport, options), limit, wait: options?.wait };
      const page = await transport.call({ ...targetOf('GET /v1/events'), query }, waiting(transport, options));
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
    appendEvents: async (events, options) => appendEvents(filledEvents(events, STAMPS, tenantId), options),
  };
}

/** Whether an append has no options besides its limits, so that it can share a request with others. */
function isPlain(options: AppendOptions | undefined): boolean {
  const { signal: _, timeoutMs: __, ...others } = options ?? {};
  return Object.values(others).every((value) => value === undefined);
}

/** Returns the error for an event that was refused before it was sent, in the same form as an error of the server. */
function asEventRefusal(error: unknown): unknown {
  if (!isTidemarkError(error) || error.code === 'TENANT_MISMATCH' || error.field === undefined) return error;
  const { code, message, field, rule = '' } = error;
  return eventRefusal(code, message, [{ field, rule }]);
}

function rangeQuery(transport: Transport, { afterSeq, beforeSeq, limit, order, life }: EventRange) {
  // Omitted by default, because older servers do not know these parameters and would return other events.
  const backwards = { beforeSeq, order: order === 'newest' ? order : undefined };
  if (transport.usesOldNames && (backwards.beforeSeq !== undefined || backwards.order !== undefined))
    throw new TidemarkError(
      'UNSUPPORTED',
      'The server is too old for beforeSeq and for reading the newest events first',
    );
  return { afterSeq, limit, life, ...backwards };
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
  const query = {
    cursor,
    ...tenantOf(transport, filter),
    eventType: eventTypes,
    unreadable: unreadableOf(options),
    notices: noticesOf(transport, options),
  };
  return transport.named('GET /v1/events', query);
}

/** Omitted by default. An older server would ignore the parameter and leave notices out. */
function noticesOf(transport: Transport, options: FeedOptions | undefined): true | undefined {
  const { notices } = (options ?? {}) as Partial<NoticeFeedOptions>;
  if (!checkOptionalBoolean(notices, 'notices')) return undefined;
  if (transport.usesOldNames) throw unsupported('runs.notices');
  return true;
}

function unreadableOf(options: FeedOptions | undefined): 'skip' | undefined {
  return options?.unreadable === undefined
    ? undefined
    : checkOneOf(options.unreadable, 'unreadable', ['skip'] as const);
}

function membersOf<T extends object>(options: T | null | undefined): Partial<T> {
  return options ?? {};
}

/** Yields the parts to send. Rejects values that JSON cannot represent. */
function checkedParts(parts: AsyncIterable<RunPart> | Iterable<RunPart>): AsyncIterable<RunPart> {
  const isIterable = typeof parts === 'object' && parts !== null;
  if (!isIterable || !(Symbol.asyncIterator in parts || Symbol.iterator in parts))
    throw invalidArgument('parts', 'the parts of an exported run', parts);
  return (async function* () {
    for await (const part of parts) {
      checkObject(part, 'part');
      if (part.run?.labels !== undefined) checkLabels(part.run.labels, 'labels');
      // Exports of older versions contain parts that are larger than a server accepts.
      if (Array.isArray(part.events)) yield* smallParts(part);
      else yield part;
    }
  })();
}

/** Extends the time limit of a call by the time for which the server may wait. */
function waiting(
  transport: Transport,
  options: (CallOptions & { wait?: Duration }) | undefined,
): CallOptions | undefined {
  return options?.wait === undefined ? options : transport.waiting(options, options.wait);
}

async function* parsed<T>(events: AsyncIterable<{ data: string }>): AsyncGenerator<T, void, undefined> {
  for await (const { data } of events) yield JSON.parse(data) as T;
}

/** The items are notices only if the reader asked for them. */
async function* feedItems<Item extends FeedItem | NoticeItem>(
  events: AsyncIterable<{ id: string | null; event: string; data: string }>,
): AsyncGenerator<Item> {
  for await (const { id, event, data } of events) {
    const cursor = decodeURIComponent(id!);
    if (event === 'run.notice') {
      yield { cursor, notice: JSON.parse(data) } as Item;
      continue;
    }
    const { [LIFE_MEMBER]: life, ...record } = JSON.parse(data) as RunEventRecord & { [LIFE_MEMBER]?: number };
    yield {
      cursor,
      event: record,
      ...laterLife(life ?? 1),
      ...(event === 'run.released' && { released: true }),
    } as Item;
  }
}

function unsupported(capability: string, field = capability): TidemarkError {
  return new TidemarkError('UNSUPPORTED', `A store over HTTP has no ${capability}`, {
    field,
    rule: 'a capability of the store',
  });
}

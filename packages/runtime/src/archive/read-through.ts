/** `withArchive`: a store that reads archived runs from the archive. */
import { type FetchOptions, isTidemarkError, type RunEventRecord, type Store } from '@tidemark/core';
import {
  checkEventRange,
  type EventRange,
  InterceptedStore,
  type Interceptor,
  rangeAfter,
  type StoreCall,
} from '@tidemark/core/engine';
import type { Archiver } from './archiver.ts';

/**
 * The number of events kept in memory to return the newest events of an archived run first. Archives can only be read
 * forwards.
 */
const BACKWARDS_PAGE = 10_000;
/** How many times a run is looked up in store and archive while other clients archive and restore it. */
const MAX_TRIES = 3;

/**
 * Wraps a store so that `fetchEvents`, `readEvents` and `exportRun` of an archived run read the archive. All other
 * calls still fail with `RUN_ARCHIVED`.
 *
 * @throws The codes of the store, and of `Archiver.readRun` for archived runs.
 *
 * @example
 * const live = await open('sqlite:app.db');
 * const archiver = createArchiver({ store: live, target: directoryTarget('archive') });
 * await live.runs.handle('order-42').append('RunCompleted');
 * await archiver.archiveRun('order-42');
 * const store = withArchive(live, archiver);
 * console.log((await store.runs.fetchEvents('order-42')).length); // 1
 */
export function withArchive(store: Store, archiver: Archiver): Store {
  return new InterceptedStore(store, new ArchiveReading(archiver));
}

class ArchiveReading implements Interceptor {
  readonly #archiver: Archiver;

  constructor(archiver: Archiver) {
    this.#archiver = archiver;
  }

  async call(call: StoreCall, proceed: () => Promise<unknown>): Promise<unknown> {
    if (call.domain !== 'runs' || call.method !== 'fetchEvents') return proceed();
    for (let tries = 1; ; tries++) {
      try {
        return await proceed();
      } catch (error) {
        if (!isArchived(error)) throw error;
      }
      try {
        return await this.#fetch(call);
      } catch (error) {
        // The run was restored between the two reads, so the store has it again.
        if (!isTidemarkError(error, 'RUN_NOT_FOUND') || tries === MAX_TRIES) throw error;
      }
    }
  }

  async #fetch(call: StoreCall): Promise<RunEventRecord[]> {
    const { runId, tenantId, options } = readOf(call);
    return this.#page(runId, tenantId, checkEventRange(runId, options));
  }

  async #page(runId: string, tenantId: string | undefined, range: EventRange): Promise<RunEventRecord[]> {
    const { limit, order, life } = range;
    const events: RunEventRecord[] = [];
    for await (const event of within(this.#archiver.readRun(runId, { tenantId, life }), range)) {
      events.push(event);
      if (order === 'oldest' && events.length === limit) return events;
      if (events.length === 2 * limit) events.splice(0, limit);
    }
    return order === 'newest' ? events.slice(-limit).reverse() : events;
  }

  iterate(call: StoreCall, proceed: () => AsyncIterable<unknown>): AsyncIterable<unknown> {
    if (call.domain === 'runs' && call.method === 'readEvents')
      return this.#read(call, proceed as () => AsyncIterable<RunEventRecord>);
    if (call.domain === 'runs' && call.method === 'exportRun') return this.#export(call, proceed);
    return proceed();
  }

  async *#read(call: StoreCall, proceed: () => AsyncIterable<RunEventRecord>): AsyncGenerator<RunEventRecord> {
    const { runId, tenantId, options } = readOf(call);
    const rest = checkEventRange(runId, options);
    const isReverse = rest.order === 'newest';
    try {
      for await (const event of proceed()) {
        rest[isReverse ? 'beforeSeq' : 'afterSeq'] = event.runSeq;
        yield event;
      }
      return;
    } catch (error) {
      if (!isArchived(error)) throw error;
    }
    // The run was archived during the read, perhaps after some pages. The archive has the rest.
    if (!isReverse) return yield* within(this.#archiver.readRun(runId, { tenantId, life: rest.life }), rest);
    for (let range: EventRange | null = { ...rest, limit: BACKWARDS_PAGE }; range; ) {
      const events = await this.#page(runId, tenantId, range);
      yield* events;
      range = rangeAfter(range, events);
    }
  }

  async *#export(call: StoreCall, proceed: () => AsyncIterable<unknown>): AsyncGenerator<unknown> {
    const { runId, tenantId } = readOf(call);
    let hasBegun = false;
    try {
      for await (const part of proceed()) {
        hasBegun = true;
        yield part;
      }
    } catch (error) {
      // An export must contain a single history, so the archive's export cannot continue an export that has begun.
      if (hasBegun || !isArchived(error)) throw error;
      yield* this.#archiver.exportRun(runId, { tenantId });
    }
  }
}

async function* within(
  events: AsyncIterable<RunEventRecord>,
  { afterSeq, beforeSeq = Number.POSITIVE_INFINITY }: EventRange,
): AsyncGenerator<RunEventRecord, void, undefined> {
  for await (const event of events) {
    if (event.runSeq >= beforeSeq) return;
    if (event.runSeq > afterSeq) yield event;
  }
}

function isArchived(error: unknown): boolean {
  return isTidemarkError(error, 'RUN_ARCHIVED');
}

function readOf(call: StoreCall): { runId: string; tenantId: string | undefined; options: FetchOptions } {
  const [runId, options = {}] = call.args as [string, FetchOptions?];
  return { runId, tenantId: call.tenantId ?? options.tenantId, options };
}

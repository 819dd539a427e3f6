/** `withArchive`: a store that reads archived runs from the archive. */
import { type FetchOptions, isTidemarkError, type RunEventRecord, type Store } from '@tidemark/core';
import { InterceptedStore, type Interceptor, type StoreCall } from '@tidemark/core/engine';
import type { Archiver } from './archiver.ts';

const DEFAULT_LIMIT = 1_000;
/** How often to look for a run in store and archive while others archive and restore it. */
const MOST_TRIES = 3;

/**
 * Wraps a store so that `fetchEvents`, `readEvents` and `exportRun` of an archived run read the archive. All other
 * calls still fail with `RUN_ARCHIVED`.
 *
 * @throws As the store, and as `Archiver.readRun` for archived runs.
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
        // Restored between the two reads: the store has it again.
        if (!isTidemarkError(error, 'RUN_NOT_FOUND') || tries === MOST_TRIES) throw error;
      }
    }
  }

  async #fetch(call: StoreCall): Promise<RunEventRecord[]> {
    const { runId, tenantId, options } = readOf(call);
    const { afterSeq = 0, limit = DEFAULT_LIMIT } = options;
    const events: RunEventRecord[] = [];
    for await (const event of this.#archiver.readRun(runId, { tenantId })) {
      if (event.runSeq > afterSeq) events.push(event);
      if (events.length === limit) break;
    }
    return events;
  }

  iterate(call: StoreCall, proceed: () => AsyncIterable<unknown>): AsyncIterable<unknown> {
    if (call.domain === 'runs' && call.method === 'readEvents')
      return this.#read(call, proceed as () => AsyncIterable<RunEventRecord>);
    if (call.domain === 'runs' && call.method === 'exportRun') return this.#export(call, proceed);
    return proceed();
  }

  async *#read(call: StoreCall, proceed: () => AsyncIterable<RunEventRecord>): AsyncGenerator<RunEventRecord> {
    const { runId, tenantId, options } = readOf(call);
    let { afterSeq = 0 } = options;
    try {
      for await (const event of proceed()) {
        afterSeq = event.runSeq;
        yield event;
      }
    } catch (error) {
      if (!isArchived(error)) throw error;
      // Archived meanwhile, perhaps after some pages: the archive has the rest.
      yield* after(this.#archiver.readRun(runId, { tenantId }), afterSeq);
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
      // An export is one history from its first part on; the archive's export cannot continue it.
      if (hasBegun || !isArchived(error)) throw error;
      yield* this.#archiver.exportRun(runId, { tenantId });
    }
  }
}

async function* after(events: AsyncIterable<RunEventRecord>, afterSeq: number): AsyncGenerator<RunEventRecord> {
  for await (const event of events) if (event.runSeq > afterSeq) yield event;
}

function isArchived(error: unknown): boolean {
  return isTidemarkError(error, 'RUN_ARCHIVED');
}

function readOf(call: StoreCall): { runId: string; tenantId: string | undefined; options: FetchOptions } {
  const [runId, options = {}] = call.args as [string, FetchOptions?];
  return { runId, tenantId: call.tenantId ?? options.tenantId, options };
}

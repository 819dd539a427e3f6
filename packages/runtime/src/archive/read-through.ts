/** `readThrough`: a store whose archived runs can still be read, from the archive. */
import { type FetchOptions, isTidemarkError, type RunEventRecord, type Store } from '@tidemark/core';
import { InterceptedStore, type Interceptor, type StoreCall } from '@tidemark/core/engine';
import type { Archiver } from './archiver.ts';

const DEFAULT_LIMIT = 1_000;

/**
 * The same store; `fetchEvents`, `readEvents` and `exportRun` of an archived run read the archive. Everything else about it is
 * `RUN_ARCHIVED` as before.
 *
 * @example
 * const store = readThrough(await open('sqlite:app.db'), archiver);
 */
export function readThrough(store: Store, archiver: Archiver): Store {
  return new InterceptedStore(store, new ArchiveReading(archiver));
}

class ArchiveReading implements Interceptor {
  readonly #archiver: Archiver;

  constructor(archiver: Archiver) {
    this.#archiver = archiver;
  }

  async call(call: StoreCall, proceed: () => Promise<unknown>): Promise<unknown> {
    try {
      return await proceed();
    } catch (error) {
      if (!isArchived(error) || call.domain !== 'runs' || call.method !== 'fetchEvents') throw error;
      const { runId, tenantId, options } = readOf(call);
      const events: RunEventRecord[] = [];
      const { afterSeq = 0, limit = DEFAULT_LIMIT } = options;
      for await (const event of this.#archiver.readRun(runId, { tenantId })) {
        if (event.runSeq > afterSeq) events.push(event);
        if (events.length === limit) break;
      }
      return events;
    }
  }

  async *iterate(call: StoreCall, proceed: () => AsyncIterable<unknown>): AsyncIterable<unknown> {
    const { runId, tenantId, options } = readOf(call);
    try {
      yield* proceed();
    } catch (error) {
      const isRead = call.domain === 'runs' && (call.method === 'readEvents' || call.method === 'exportRun');
      if (!isRead || !isArchived(error)) throw error;
      if (call.method === 'exportRun') yield* this.#archiver.exportRun(runId, { tenantId });
      else yield* after(this.#archiver.readRun(runId, { tenantId }), options.afterSeq ?? 0);
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

/** The feed: events of all runs in the order they were stored, checked against their chains as they pass. */
import { checkDuration } from '../checks/numbers.ts';
import { checkId, checkObject, checkOneOf } from '../checks/text.ts';
import type { StoreContext } from '../context.ts';
import type { CallOptions, Duration } from '../contracts/common.ts';
import { invalidArgument, isTidemarkError } from '../contracts/errors.ts';
import type { FeedItem, FeedOptions, FeedPage } from '../contracts/runs.ts';
import type { EngineCall, FeedEntry, RunEngine, RunKey } from '../engine/runs.ts';
import { isTombstone } from '../engine/runs.ts';
import { follow, readOrWait } from '../live.ts';
import { ChainReader } from './chain.ts';
import { readUntilIntact } from './checked-page.ts';
import { recordOf } from './prepare.ts';
import { checkTenant, type RunView } from './view.ts';

const FEED_PAGE = 1_000;
const MAX_ENDS = 32;
const LONGEST_WAIT_MS = 60_000;

interface FeedFilter {
  tenantId: string | null;
  eventTypes: ReadonlySet<string> | null;
  skipsUnreadable: boolean;
}

export class FeedReader {
  readonly #context: StoreContext;
  readonly #engine: RunEngine;
  readonly #view: RunView;
  /** The chain where each of the last pages ended, by the cursor that continues it: a commit is not read again for every page of it. */
  readonly #ends = new Map<string, { key: string; reader: ChainReader; runSeq: number }>();

  constructor(context: StoreContext, engine: RunEngine, view: RunView) {
    this.#context = context;
    this.#engine = engine;
    this.#view = view;
  }

  async page(options: (FeedOptions & { wait?: Duration }) | undefined, limit: number): Promise<FeedPage> {
    const filter = this.#checkFilter(options);
    const after = checkCursor(options?.after);
    this.#context.startCall(options);
    const readPage = (reading: CallOptions | undefined) =>
      this.#context.read(reading, (call) => this.#read(after, limit, filter, call));
    const { items, next } =
      options?.wait === undefined
        ? await readPage(options)
        : await readOrWait(this.#context, options, {
            until: Date.now() + checkWait(options.wait),
            read: readPage,
            isEmpty: (page) => page.next === after,
            wait: (call) => this.#engine.waitForEvents(null, call),
          });
    return next === null ? { items } : { items, next };
  }

  follow(options: FeedOptions | undefined): AsyncIterable<FeedItem> {
    const filter = this.#checkFilter(options);
    let after = checkCursor(options?.after);
    const readPage = async (reading: CallOptions) => {
      for (;;) {
        const page = await this.#context.read(reading, (call) => this.#read(after, FEED_PAGE, filter, call));
        const moved = page.next !== after;
        after = page.next;
        // A page whose every event was filtered out is not the end.
        if (page.items.length > 0 || !moved) return page.items;
      }
    };
    return follow(this.#context, options, readPage, (call) => this.#engine.waitForEvents(null, call));
  }

  async #read(after: string | null, limit: number, filter: FeedFilter, call: EngineCall) {
    const { entries, intact } = await readUntilIntact(async () => {
      const entries = await this.#engine.feed(after, limit, call);
      return { entries, intact: await this.#check(after, entries, call) };
    });
    const items = intact
      .filter((entry) => matches(entry, filter))
      .flatMap((entry) => this.#itemOf(entry, filter) ?? []);
    return { items, next: entries.at(-1)?.cursor ?? after };
  }

  #itemOf({ cursor, run, event }: FeedEntry, { skipsUnreadable }: FeedFilter): FeedItem | null {
    try {
      return { cursor, event: recordOf(this.#context.payloads, run, event) };
    } catch (error) {
      if (skipsUnreadable && isTidemarkError(error, 'CODEC_FAILED')) return null;
      throw error;
    }
  }

  /** Checks each event against its chain; gives those that fit. What does not is corrupt, or of a run that was removed meanwhile. */
  async #check(after: string | null, entries: readonly FeedEntry[], call: EngineCall): Promise<FeedEntry[]> {
    const readers = new Map<string, ChainReader>();
    const gone = new Set<string>();
    const intact: FeedEntry[] = [];
    const [first, last] = [entries[0], entries.at(-1)];
    if (!first || !last) return intact;
    const end = after === null ? undefined : this.#ends.get(after);
    this.#ends.delete(after ?? '');
    if (end && end.key === keyOf(first.run) && end.runSeq + 1 === first.event.runSeq) readers.set(end.key, end.reader);
    for (const entry of entries) {
      const { run, event } = entry;
      const key = keyOf(run);
      // A run that was restored begins again.
      if (event.runSeq === 1) {
        readers.delete(key);
        gone.delete(key);
      }
      if (gone.has(key)) continue;
      try {
        const reader = readers.get(key) ?? (await this.#startReader(entry, call));
        readers.set(key, reader);
        reader.check(event);
        intact.push(entry);
      } catch (error) {
        if (!isTidemarkError(error, 'CORRUPT_EVENT') || !(await this.#isGone(run, call))) throw error;
        readers.delete(key);
        gone.add(key);
      }
    }
    const reader = readers.get(keyOf(last.run));
    if (reader) this.#ends.set(last.cursor, { key: keyOf(last.run), reader, runSeq: last.event.runSeq });
    if (this.#ends.size > MAX_ENDS) this.#ends.delete(this.#ends.keys().next().value!);
    return intact;
  }

  async #isGone(run: RunKey, call: EngineCall): Promise<boolean> {
    const head = await this.#engine.head(run, call);
    return head === null || isTombstone(head);
  }

  /** The part of a commit that lies before this page is read for it. */
  async #startReader({ run, event, linkBefore }: FeedEntry, call: EngineCall): Promise<ChainReader> {
    const reader = new ChainReader(run, linkBefore);
    if (event.commitIndex === 1) return reader;
    const lead = await this.#engine.fetch(run, event.runSeq - event.commitIndex, event.commitIndex - 1, call);
    for (const earlier of lead.events) reader.check(earlier);
    return reader;
  }

  #checkFilter(options: FeedOptions | undefined): FeedFilter {
    const filter = options?.filter === undefined ? {} : checkObject(options.filter, 'filter');
    const tenantId = checkTenant(this.#view, filter.tenantId);
    const types = filter.eventTypes;
    if (types !== undefined && !Array.isArray(types))
      throw invalidArgument('filter.eventTypes', 'an array of event types', types);
    const eventTypes = types === undefined ? null : new Set(types.map((type) => checkId(type, 'filter.eventTypes')));
    const skipsUnreadable =
      options?.unreadable !== undefined && checkOneOf(options.unreadable, 'unreadable', ['skip']) === 'skip';
    return { tenantId, eventTypes, skipsUnreadable };
  }
}

function keyOf(run: RunKey): string {
  return `${run.tenantId}\0${run.runId}`;
}

function matches({ run, event }: FeedEntry, filter: FeedFilter): boolean {
  if (filter.tenantId !== null && run.tenantId !== filter.tenantId) return false;
  return filter.eventTypes === null || filter.eventTypes.has(event.eventType);
}

function checkCursor(after: unknown): string | null {
  if (after === undefined) return null;
  if (typeof after === 'string' && after !== '') return after;
  throw invalidArgument('after', 'a cursor of this feed', after);
}

function checkWait(wait: unknown): number {
  const ms = checkDuration(wait, 'wait');
  if (ms > LONGEST_WAIT_MS) throw invalidArgument('wait', 'at most 60 s: ask again to wait longer', wait);
  return ms;
}

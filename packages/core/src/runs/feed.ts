/**
 * The feed: events of all runs in the order they were stored, checked against their chains. A damaged run is
 * quarantined and skipped while other runs continue. After its release the feed yields its events from the first
 * skipped one on.
 */

import { checkDuration } from '../checks/numbers.ts';
import { refuseOldNames } from '../checks/renamed.ts';
import { checkId, checkObject, checkOneOf } from '../checks/text.ts';
import type { CallOptions, Duration } from '../contracts/common.ts';
import { invalidArgument, isTidemarkError } from '../contracts/errors.ts';
import type { HeldRun } from '../contracts/quarantines.ts';
import type { FeedItem, FeedOptions, FeedPage } from '../contracts/runs.ts';
import type { EngineCall } from '../engine/call.ts';
import type { StoredQuarantine } from '../engine/quarantines.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { FeedEntry, IntactEntry, RunEngine, StoredRunEvent } from '../engine/runs.ts';
import type { StoreContext } from '../tools/context.ts';
import { follow, readOrWait } from '../tools/live.ts';
import { fetchChecked } from './checked-page.ts';
import { FeedChecker } from './feed-checker.ts';
import { encodePosition, type FeedPosition, parseCursor } from './feed-position.ts';
import { damageIn, recordOf } from './prepare.ts';
import type { Quarantine } from './quarantine.ts';
import { checkTenant, type RunView } from './view.ts';

const FEED_PAGE = 1_000;
const LONGEST_WAIT_MS = 60_000;
const MOST_READS = 3;

interface FeedFilter {
  tenantId: string | null;
  eventTypes: ReadonlySet<string> | null;
  skipsUnreadable: boolean;
}

interface ReadPage {
  items: FeedItem[];
  held: HeldRun[];
  next: string | null;
}

export class FeedReader {
  readonly #context: StoreContext;
  readonly #engine: RunEngine;
  readonly #view: RunView;
  readonly #quarantine: Quarantine;
  readonly #checker: FeedChecker;

  constructor(context: StoreContext, engine: RunEngine, view: RunView, quarantine: Quarantine) {
    this.#context = context;
    this.#engine = engine;
    this.#view = view;
    this.#quarantine = quarantine;
    this.#checker = new FeedChecker(engine, quarantine);
  }

  async page(options: (FeedOptions & { wait?: Duration }) | undefined, limit: number): Promise<FeedPage> {
    refuseOldNames('feed', options);
    const filter = this.#checkFilter(options);
    const after = parseCursor(options?.cursor);
    const cursor = encodePosition(after);
    this.#context.startCall(options);
    const readPage = (reading: CallOptions | undefined) =>
      this.#context.read(reading, (call) => this.#read(after, limit, filter, call));
    const { items, held, next } =
      options?.wait === undefined
        ? await readPage(options)
        : await readOrWait(this.#context, options, {
            until: Date.now() + checkWait(options.wait),
            read: readPage,
            isEmpty: (page) => page.next === cursor,
            wait: (call) => this.#engine.waitForEvents(null, call),
          });
    return { items, ...(next === null ? {} : { next }), ...(held.length === 0 ? {} : { held }) };
  }

  follow(options: FeedOptions | undefined): AsyncIterable<FeedItem> {
    refuseOldNames('feed', options);
    const filter = this.#checkFilter(options);
    let after = parseCursor(options?.cursor);
    const readPage = async (reading: CallOptions) => {
      for (;;) {
        const page = await this.#context.read(reading, (call) => this.#read(after, FEED_PAGE, filter, call));
        const moved = page.next !== encodePosition(after);
        after = parseCursor(page.next ?? undefined);
        // An empty page whose cursor moved was filtered out completely; it is not the end.
        if (page.items.length > 0 || !moved) return page.items;
      }
    };
    return follow(this.#context, options, readPage, (call) => this.#engine.waitForEvents(null, call));
  }

  async #read(after: FeedPosition, limit: number, filter: FeedFilter, call: EngineCall): Promise<ReadPage> {
    for (let reads = 1; ; ) {
      const entries = await this.#engine.feed(after.engine, limit, call);
      // Read after the page, so that quarantines and releases made before the page's events were stored are included.
      const known = await this.#engine.quarantines.current(filter.tenantId, after.release, call);
      const due = nextRelease(known.entries, after.release);
      if (due) {
        const page = await this.#readRelease(after, due, limit, filter, call);
        if (page) return page;
        continue;
      }
      const position = { ...after, release: after.release ?? known.newest, reading: null };
      const page = await this.#checkPage(position, entries, known.entries, filter, reads === MOST_READS, call);
      if (page) return page;
      reads++;
    }
  }

  /** Returns `null` when an event does not fit but is intact in the run's own log: the page is then read again. */
  async #checkPage(
    position: FeedPosition,
    entries: readonly FeedEntry[],
    quarantined: readonly StoredQuarantine[],
    filter: FeedFilter,
    isLastRead: boolean,
    call: EngineCall,
  ): Promise<ReadPage | null> {
    const ofTenant = (entry: FeedEntry) => filter.tenantId === null || entry.run.tenantId === filter.tenantId;
    const cursorAt = (engine: string) => encodePosition({ ...position, engine })!;
    const items: FeedItem[] = [];
    const take = (entry: IntactEntry): void => {
      if (filter.eventTypes !== null && !filter.eventTypes.has(entry.event.eventType)) return;
      const event = this.#recordOf(entry.run, entry.event, filter);
      if (event) items.push({ cursor: cursorAt(entry.cursor), event });
    };
    const held = await this.#checker.check(
      { after: position.engine, entries: entries.filter(ofTenant), quarantined, isLastRead },
      { take, taken: () => items.length },
      call,
    );
    const last = entries.at(-1)?.cursor ?? position.engine;
    return held && { items, held, next: last === null ? null : cursorAt(last) };
  }

  #recordOf(run: RunKey, event: StoredRunEvent, { skipsUnreadable }: FeedFilter): FeedItem['event'] | null {
    try {
      return recordOf(this.#context.payloads, run, event);
    } catch (error) {
      if (skipsUnreadable && isTidemarkError(error, 'CODEC_FAILED')) return null;
      throw error;
    }
  }

  /** Reads a page of a released run. Returns `null` when the run is damaged again. */
  async #readRelease(
    after: FeedPosition,
    due: StoredQuarantine,
    limit: number,
    filter: FeedFilter,
    call: EngineCall,
  ): Promise<ReadPage | null> {
    const run = { tenantId: due.tenantId, runId: due.runId };
    const from = after.reading?.release === due.release ? after.reading.seq : due.fromSeq - 1;
    try {
      const events = await fetchChecked(this.#engine, run, from, limit, call);
      const at = (seq: number): FeedPosition => ({ ...after, reading: { release: due.release, seq } });
      const items = events
        .filter(({ eventType }) => filter.eventTypes === null || filter.eventTypes.has(eventType))
        .flatMap((event): FeedItem[] => {
          const record = this.#recordOf(run, event, filter);
          return record ? [{ cursor: encodePosition(at(event.runSeq))!, event: record, released: true }] : [];
        });
      const isEnd = events.length < limit;
      const next = isEnd ? { ...after, release: due.release, reading: null } : at(events.at(-1)!.runSeq);
      return { items, held: [], next: encodePosition(next) };
    } catch (error) {
      const damage = damageIn(error);
      if (!damage) throw error;
      await this.#quarantine.note(run, damage.runSeq ?? due.fromSeq, damage.reason, call);
      return null;
    }
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

/** Returns the release to read next. A reader at the beginning has none: it reads those events in the feed itself. */
function nextRelease(entries: readonly StoredQuarantine[], seen: number | null): StoredQuarantine | undefined {
  if (seen === null) return undefined;
  return entries
    .filter(({ state, release }) => state === 'released' && release > seen)
    .sort((a, b) => a.release - b.release)[0];
}

function checkWait(wait: unknown): number {
  const ms = checkDuration(wait, 'wait');
  if (ms > LONGEST_WAIT_MS) throw invalidArgument('wait', 'at most 60 s: ask again to wait longer', wait);
  return ms;
}

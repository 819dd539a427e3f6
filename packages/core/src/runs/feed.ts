/**
 * The feed: events of all runs in the order they were stored, checked against their chains. A damaged run is
 * quarantined and skipped while other runs continue. After its release the feed yields its events, starting with the
 * first skipped one.
 */

import { laterLife } from '../checks/life.ts';
import { checkDuration } from '../checks/numbers.ts';
import { refuseOldNames } from '../checks/renamed.ts';
import { checkId, checkObject, checkOneOf, checkOptionalBoolean } from '../checks/text.ts';
import type { CallOptions, Duration } from '../contracts/common.ts';
import { invalidArgument, isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import type { HeldRun } from '../contracts/quarantines.ts';
import type { FeedItem, FeedOptions, FeedPage, NoticeFeedOptions, NoticeItem } from '../contracts/runs.ts';
import type { EngineCall } from '../engine/call.ts';
import type { StoredQuarantine } from '../engine/quarantines.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { FeedEntry, IntactEntry, NoticeEntry, RunEngine, StoredRunEvent } from '../engine/runs.ts';
import type { StoreContext } from '../tools/context.ts';
import { follow, readOrWait } from '../tools/live.ts';
import { fetchChecked } from './checked-page.ts';
import { FeedChecker } from './feed-checker.ts';
import { encodePosition, type FeedPosition, parseCursor } from './feed-position.ts';
import { firstNumber, nextChange, type QuarantineChange, runNotice } from './notices.ts';
import { damageIn, recordOf } from './prepare.ts';
import type { Quarantine } from './quarantine.ts';
import { checkTenant, type RunView } from './view.ts';

const FEED_PAGE = 1_000;
const MAX_WAIT_MS = 60_000;
const MAX_READS = 3;

type Item = FeedItem | NoticeItem;
type Options = FeedOptions & Partial<NoticeFeedOptions>;

interface FeedFilter {
  tenantId: string | null;
  eventTypes: ReadonlySet<string> | null;
  skipsUnreadable: boolean;
  /** Whether the reader also receives notices. */
  notices: boolean;
}

interface ReadPage {
  items: Item[];
  held: HeldRun[];
  next: string | null;
}

export class FeedReader {
  readonly #context: StoreContext;
  readonly #engine: RunEngine;
  readonly #view: RunView;
  readonly #quarantine: Quarantine;
  readonly #checker: FeedChecker;

  readonly #canNotice: boolean;

  constructor(context: StoreContext, engine: RunEngine, view: RunView, quarantine: Quarantine, canNotice: boolean) {
    this.#context = context;
    this.#engine = engine;
    this.#view = view;
    this.#quarantine = quarantine;
    this.#canNotice = canNotice;
    this.#checker = new FeedChecker(engine, quarantine);
  }

  async page(options: (Options & { wait?: Duration }) | undefined, limit: number): Promise<FeedPage<Item>> {
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

  follow(options: Options | undefined): AsyncIterable<Item> {
    refuseOldNames('feed', options);
    const filter = this.#checkFilter(options);
    let after = parseCursor(options?.cursor);
    const readPage = async (reading: CallOptions) => {
      for (;;) {
        const page = await this.#context.read(reading, (call) => this.#read(after, FEED_PAGE, filter, call));
        const moved = page.next !== encodePosition(after);
        after = parseCursor(page.next ?? undefined);
        // An empty page with a new cursor was filtered out completely and is not the end.
        if (page.items.length > 0 || !moved) return page.items;
      }
    };
    return follow(this.#context, options, readPage, (call) => this.#engine.waitForEvents(null, call));
  }

  async #read(after: FeedPosition, limit: number, filter: FeedFilter, call: EngineCall): Promise<ReadPage> {
    for (let reads = 1; ; ) {
      const entries = await this.#engine.feed(after.engine, limit, call, filter.notices);
      // Read after the page, so that quarantines and releases made before the page's events were stored are included.
      const known = await this.#engine.quarantines.current(filter.tenantId, after.release, call);
      const due = nextChange(known.entries, after.release, filter.notices);
      if (due) {
        const announced = await this.#announce(after, due, filter, call);
        const page = announced ?? (await this.#readRelease(after, due.entry, limit, filter, call));
        if (page) return page;
        continue;
      }
      const release = after.release ?? firstNumber(known.newest, known.entries, filter.notices);
      const position = { ...after, release, reading: null };
      const page = await this.#checkPage(position, entries, known.entries, filter, reads === MAX_READS, call);
      if (page) return page;
      reads++;
    }
  }

  /**
   * Returns the notice of a quarantine or of a release as a separate page, or `null` if the reader did not ask for
   * notices or has received this notice.
   */
  async #announce(
    after: FeedPosition,
    { kind, number, entry }: QuarantineChange,
    filter: FeedFilter,
    call: EngineCall,
  ): Promise<ReadPage | null> {
    if (!filter.notices || after.reading?.release === number) return null;
    const seen: FeedPosition =
      kind === 'released'
        ? { ...after, reading: { release: number, seq: entry.fromSeq - 1 } }
        : { ...after, release: number, reading: null };
    const cursor = encodePosition(seen)!;
    const notice = runNotice(entry, { kind, runSeq: entry.fromSeq, life: await this.#lifeOf(entry, call) });
    return { items: [{ cursor, notice }], held: [], next: cursor };
  }

  /**
   * Returns the life of a quarantined run. A quarantine ends with its life, so this is the current or the last life.
   * Many quarantines are caused by a damaged head, which must not stop the feed.
   */
  async #lifeOf(run: RunKey, call: EngineCall): Promise<number | undefined> {
    try {
      return (await this.#engine.head(run, call))?.life;
    } catch (error) {
      if (isTidemarkError(error, 'CORRUPT_EVENT')) return undefined;
      throw error;
    }
  }

  /**
   * Returns `null` if an event does not match its chain but is intact in the run's own log. The page is then read
   * again.
   */
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
    const items: Item[] = [];
    const addEvent = (entry: IntactEntry): void => {
      if (filter.eventTypes !== null && !filter.eventTypes.has(entry.event.eventType)) return;
      const event = this.#recordOf(entry.run, entry.event, filter);
      if (event) items.push({ cursor: cursorAt(entry.cursor), event, ...laterLife(entry.event.life ?? 1) });
    };
    const addNotice = ({ cursor, run, notice }: NoticeEntry): void => {
      items.push({ cursor: cursorAt(cursor), notice: runNotice(run, notice) });
    };
    const held = await this.#checker.check(
      { after: position.engine, entries: entries.filter(ofTenant), quarantined, isLastRead },
      { addEvent, addNotice, count: () => items.length },
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

  /** Reads a page of a released run. Returns `null` if the run is damaged again. */
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
          return record
            ? [
                {
                  cursor: encodePosition(at(event.runSeq))!,
                  event: record,
                  ...laterLife(event.life ?? 1),
                  released: true,
                },
              ]
            : [];
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

  #checkFilter(options: Options | undefined): FeedFilter {
    const filter = options?.filter === undefined ? {} : checkObject(options.filter, 'filter');
    const tenantId = checkTenant(this.#view, filter.tenantId);
    const types = filter.eventTypes;
    if (types !== undefined && !Array.isArray(types))
      throw invalidArgument('filter.eventTypes', 'an array of event types', types);
    const eventTypes = types === undefined ? null : new Set(types.map((type) => checkId(type, 'filter.eventTypes')));
    const skipsUnreadable =
      options?.unreadable !== undefined && checkOneOf(options.unreadable, 'unreadable', ['skip']) === 'skip';
    const notices = checkOptionalBoolean(options?.notices, 'notices') === true;
    if (notices && !this.#canNotice) throw noticesUnsupported();
    return { tenantId, eventTypes, skipsUnreadable, notices };
  }
}

function noticesUnsupported(): TidemarkError {
  return new TidemarkError('UNSUPPORTED', 'This engine stores no notices; read the feed without them', {
    field: 'runs.notices',
    rule: 'a capability of the store',
  });
}

function checkWait(wait: unknown): number {
  const ms = checkDuration(wait, 'wait');
  if (ms > MAX_WAIT_MS) throw invalidArgument('wait', 'at most 60 s: ask again to wait longer', wait);
  return ms;
}

/**
 * The feed, shared by any number of processes: a hash assigns runs to shards, leases assign shards to processes, and
 * each shard has its own cursor. Events of a run are handled one after another, by one process at a time. If a process
 * dies after it has handled events but before it has recorded them, they are handled again.
 */

import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { FeedItem, FeedOptions, FeedPage, HeldRun, NoticeItem, Store } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import { Cursors } from './cursors.ts';
import { HeldRuns } from './held-runs.ts';
import { type HeldShard, ShardGroup } from './shard-group.ts';

/** Notices are among the items only with the option `notices`. */
export type ShardItem = FeedItem | NoticeItem;

/** The shard that a call of `handle` concerns. */
export interface ShardTurn {
  number: number;
  /** Increases each time that a process takes the shard. */
  epoch: number;
  signal: AbortSignal;
}

export interface ShardedFeedOptions {
  store: Store;
  /** Prefix of all its keys in KV. Processes with the same prefix share the work. */
  prefix: string;
  shards: number;
  leaseMs: number;
  filter?: FeedOptions['filter'];
  /** Whether the handler also receives notices. */
  notices?: boolean;
  /** Cursor to start after at first use. Default: start with the first event. */
  startAfter?: string;
  /**
   * Handles events of one shard in order. Returns the number of items handled, counted from the first. The shard
   * receives the rest again after a delay, or all of them if the call rejects. Other shards continue. `signal` aborts
   * when the feed stops or the shard is lost: finish the current event and return.
   */
  handle: (items: readonly ShardItem[], shard: ShardTurn) => Promise<number>;
  /** The number of items per page of the feed: 1 to 10 000, default 1 000. */
  pageSize?: number;
  /**
   * Whether the handler recognises events that it has already handled. If so, it receives all events of a released run.
   */
  isIdempotent?: boolean;
  /**
   * How long a shard that handled events may wait before it stores its cursor. Default 0: after each page. A longer
   * time saves writes. Use it only if handling an event again is harmless.
   */
  noteEveryMs?: number;
  onError: (error: unknown) => void;
  /** Test hook, called at named points. Tests simulate crashes there. */
  probe?: (point: FeedPoint) => void;
}

/** Points at which tests simulate a crash. */
export type FeedPoint = 'read' | 'handled' | 'noted';

/** Shards at the same cursor, which are read together. */
interface Cohort {
  cursor: string | null;
  members: Map<number, Member>;
  /** Epoch milliseconds until which a shard waits after a failure. */
  notBefore: number;
  /** Epoch milliseconds: all events stored before this were handled. `null` before the first page. */
  handledUpTo: number | null;
}

interface Member {
  shard: HeldShard;
  epoch: number;
  /** The last cursor stored in KV, and when. A page without events for a shard does not always cause a write. */
  noted: string | null;
  notedAt: number;
  /** Runs that the feed skipped, each with the next sequence that the shard needs. */
  held: HeldRuns;
}

/** Part of a page: its items, the runs that the feed skipped between them, and its end cursor. */
interface PageRead {
  items: readonly ShardItem[];
  held: readonly HeldRun[];
  end: string | null;
}

const PAGE = 1_000;
const WAIT_MS = 1_000;
const PAUSE_MS = 200;
const NOTE_EVERY_MS = 2_000;

export class ShardedFeed {
  readonly #options: ShardedFeedOptions;
  readonly #group: ShardGroup;
  readonly #cursors: Cursors;
  readonly #stopping = new AbortController();
  readonly #pageSize: number;
  #cohorts: Cohort[] = [];
  #running: Promise<void> | null = null;

  constructor(options: ShardedFeedOptions) {
    this.#options = options;
    this.#pageSize = options.pageSize ?? PAGE;
    const { kv } = options.store;
    this.#cursors = new Cursors(kv, options.prefix);
    this.#group = new ShardGroup({
      kv,
      prefix: options.prefix,
      shards: options.shards,
      member: `${hostname()}-${process.pid}-${crypto.randomUUID().slice(0, 8)}`,
      leaseMs: options.leaseMs,
      onError: options.onError,
    });
  }

  /** Shards that this process holds. */
  get shards(): number[] {
    return this.#cohorts.flatMap((cohort) => [...cohort.members.keys()]).sort((a, b) => a - b);
  }

  /**
   * Epoch milliseconds: all events of this process's shards stored before this were handled. `null` before the first
   * page or without shards. Advances every second while the feed is idle.
   */
  get handledUpTo(): number | null {
    const times = this.#cohorts.flatMap((cohort) => cohort.handledUpTo ?? []);
    return times.length === 0 ? null : Math.min(...times);
  }

  async start(): Promise<void> {
    await this.#cursors.settle(this.#options.shards, this.#options.startAfter);
    await this.#group.start();
    this.#running = this.#run();
  }

  /** Finishes the current work and releases the shards. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#noteAll();
    await this.#group.stop();
  }

  async #run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      try {
        await this.#settleShards();
        const ready = this.#cohorts.filter((cohort) => cohort.notBefore <= Date.now());
        if (ready.length === 0) await sleep(PAUSE_MS, this.#stopping.signal);
        for (const cohort of ready) await this.#step(cohort, this.#cohorts.length === 1);
        this.#join();
      } catch (error) {
        if (this.#stopping.signal.aborted) return;
        this.#options.onError(error);
        await sleep(PAUSE_MS, this.#stopping.signal);
      }
    }
  }

  /** Adds shards that were gained, and drops shards that were lost or should go to another process. */
  async #settleShards(): Promise<void> {
    for (const cohort of this.#cohorts) {
      for (const [number, member] of cohort.members) {
        const { shard } = member;
        if (this.#group.held.get(number) === shard && !shard.leaving) continue;
        cohort.members.delete(number);
        if (!shard.leaving) continue;
        await this.#note(cohort, member);
        await this.#group.giveBack(shard);
      }
    }
    const mine = new Set(this.shards);
    for (const shard of this.#group.held.values()) {
      if (mine.has(shard.number) || shard.leaving) continue;
      const { cursor, held, epoch } = await this.#cursors.take(shard.number, shard.lease.token);
      const member: Member = { shard, epoch, noted: cursor, notedAt: Date.now(), held: HeldRuns.parse(held) };
      this.#cohorts.push({ cursor, members: new Map([[shard.number, member]]), notBefore: 0, handledUpTo: null });
    }
    this.#join();
  }

  /** Merges cohorts at the same cursor. */
  #join(): void {
    const byCursor = new Map<string | null, Cohort>();
    for (const cohort of this.#cohorts) {
      if (cohort.members.size === 0) continue;
      const other = byCursor.get(cohort.cursor);
      if (!other) byCursor.set(cohort.cursor, cohort);
      else {
        for (const [number, member] of cohort.members) other.members.set(number, member);
        other.notBefore = Math.max(other.notBefore, cohort.notBefore);
        other.handledUpTo = earlier(other.handledUpTo, cohort.handledUpTo);
      }
    }
    this.#cohorts = [...byCursor.values()];
  }

  /** Reads and handles a page of a cohort. Waits for new events only if it is the only cohort. */
  async #step(cohort: Cohort, mayWait: boolean): Promise<void> {
    const began = Date.now();
    const page = await this.#options.store.runs.feedPage({
      limit: this.#pageSize,
      signal: this.#stopping.signal,
      ...(cohort.cursor === null ? {} : { cursor: cohort.cursor }),
      ...(this.#options.filter === undefined ? {} : { filter: this.#options.filter }),
      ...(mayWait ? { wait: WAIT_MS } : {}),
      notices: this.#options.notices === true,
    });
    this.#options.probe?.('read');
    const read = this.#upToOthers(cohort, { items: page.items, held: page.held ?? [], end: page.next ?? null });
    const touched = await this.#handle(cohort, read);
    this.#options.probe?.('handled');
    // Released events are old, so they do not show how far the feed was read.
    const last = read.items.findLast((item) => 'event' in item && item.released !== true) as FeedItem | undefined;
    if (this.#isEnd(page, read) || read.end === cohort.cursor) cohort.handledUpTo = began;
    else if (last) cohort.handledUpTo = Date.parse(last.event.persistedAt);
    cohort.cursor = read.end;
    await Promise.all([
      ...touched
        .filter(
          ([behind, member]) => behind !== cohort || Date.now() - member.notedAt >= (this.#options.noteEveryMs ?? 0),
        )
        .map(([behind, member]) => this.#note(behind, member)),
      ...[...cohort.members.values()]
        .filter((member) => Date.now() - member.notedAt > NOTE_EVERY_MS)
        .map((member) => this.#note(cohort, member)),
    ]);
    this.#options.probe?.('noted');
  }

  /** Whether a page reached the end of the feed: it is not full, and nothing was omitted. */
  #isEnd({ items, held, next }: FeedPage<ShardItem>, read: PageRead): boolean {
    const { filter, store } = this.#options;
    if (items.length >= this.#pageSize || held !== undefined || read.end !== (next ?? null)) return false;
    return (
      filter === undefined &&
      store.info.tenantId === undefined &&
      !items.some((item) => 'event' in item && item.released)
    );
  }

  /** Cuts a page at the cursor of another cohort, so that the two cohorts can merge. */
  #upToOthers(cohort: Cohort, page: PageRead): PageRead {
    const { items, held } = page;
    const others = new Set(this.#cohorts.filter((it) => it !== cohort).map((it) => it.cursor));
    const at = items.findIndex((item) => others.has(item.cursor));
    if (at === -1) return page;
    return { items: items.slice(0, at + 1), held: held.filter(({ index }) => index <= at), end: items[at]!.cursor };
  }

  /**
   * Passes the items of a page to its shards. Each shard handles its items in order; different shards run concurrently.
   * A shard that leaves events unhandled moves to its own cohort. Returns the shards that had events, with their
   * cohorts.
   */
  #handle(cohort: Cohort, page: PageRead): Promise<[Cohort, Member][]> {
    const shardsOf = (run: { tenantId: string; runId: string }) => shardOf(run, this.#options.shards);
    const steps = Map.groupBy(stepsOf(page), ({ item, held }) => shardsOf(item ? runOf(item) : held));
    const mine = [...steps].filter(([number]) => cohort.members.has(number));
    return Promise.all(
      mine.map(async ([number, ofShard]): Promise<[Cohort, Member]> => {
        const member = cohort.members.get(number)!;
        const left = await this.#takeSteps(member, ofShard);
        if (left === null) return [cohort, member];
        cohort.members.delete(number);
        const cursor = left.after ?? cohort.cursor;
        const { first } = left;
        const handledUpTo = 'event' in first ? Date.parse(first.event.persistedAt) : cohort.handledUpTo;
        const behind = { cursor, members: new Map([[number, member]]), notBefore: Date.now() + PAUSE_MS, handledUpTo };
        this.#cohorts.push(behind);
        return [behind, member];
      }),
    );
  }

  /**
   * Handles the items that a shard needs. If some are left unhandled, returns the first of them and the cursor before
   * it.
   */
  async #takeSteps(member: Member, steps: readonly Step[]): Promise<{ first: ShardItem; after: string | null } | null> {
    const ahead = member.held.copy();
    const wanted = steps.filter((step) => this.#isWanted(ahead, step)).map(({ item }) => item!);
    const handled = wanted.length === 0 ? 0 : await this.#handleShard(member, wanted);
    if (handled === wanted.length) {
      member.held = ahead;
      return null;
    }
    // Applies the steps before the first unhandled item. The rest is read again, starting at the last item before it.
    const first = wanted[handled]!;
    const firstAt = steps.findIndex(({ item }) => item === first);
    const last = steps.slice(0, firstAt).findLastIndex(({ item }) => item !== undefined);
    for (const step of steps.slice(0, last + 1)) this.#isWanted(member.held, step);
    return { first, after: steps[last]?.item?.cursor ?? null };
  }

  #isWanted(held: HeldRuns, step: Step): boolean {
    if (step.item === undefined) {
      held.hold(step.held);
      return false;
    }
    const { item } = step;
    if ('notice' in item) return true;
    return held.take(item) || (this.#options.isIdempotent === true && item.released === true);
  }

  async #handleShard({ shard, epoch }: Member, items: readonly ShardItem[]): Promise<number> {
    const lost = new AbortController();
    const watch = setInterval(() => {
      if (!shard.lease.isValid) lost.abort();
    }, PAUSE_MS);
    const signal = AbortSignal.any([lost.signal, this.#stopping.signal]);
    try {
      return await this.#options.handle(items, { number: shard.number, epoch, signal });
    } catch (error) {
      this.#options.onError(error);
      return 0;
    } finally {
      clearInterval(watch);
    }
  }

  async #note(cohort: Cohort, member: Member): Promise<void> {
    if (cohort.cursor === null || member.noted === cohort.cursor) return;
    const { number, lease } = member.shard;
    const noted = await this.#cursors.move(number, lease.token, cohort.cursor, member.held.text);
    if (!noted) {
      cohort.members.delete(number);
      this.#group.held.delete(number);
      return;
    }
    member.noted = cohort.cursor;
    member.notedAt = Date.now();
  }

  async #noteAll(): Promise<void> {
    for (const cohort of this.#cohorts) {
      for (const member of [...cohort.members.values()]) {
        await this.#note(cohort, member).catch(this.#options.onError);
      }
    }
    this.#cohorts = [];
  }
}

/** An item, or a run that was skipped. */
type Step = { item: ShardItem; held?: undefined } | { item?: undefined; held: HeldRun };

/** Returns items and skipped runs in feed order. */
function stepsOf({ items, held }: PageRead): Step[] {
  const steps: Step[] = [];
  let next = 0;
  for (const run of held) {
    for (; next < run.index; next++) steps.push({ item: items[next]! });
    steps.push({ held: run });
  }
  for (; next < items.length; next++) steps.push({ item: items[next]! });
  return steps;
}

function runOf(item: ShardItem): { tenantId: string; runId: string } {
  return 'event' in item ? item.event : item.notice;
}

/** Returns the shard of a run. The result must never change, because all processes and versions have to agree on it. */
function shardOf(run: { tenantId: string; runId: string }, shards: number): number {
  const hash = createHash('sha256').update(`${run.tenantId}\0${run.runId}`).digest();
  return hash.readUInt32BE(0) % shards;
}

function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

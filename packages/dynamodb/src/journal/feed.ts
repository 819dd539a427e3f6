/**
 * The feed of runs. A commit adds a pending position. Readers move pending positions into numbered segments, whose
 * order never changes. Writers therefore never wait for each other. One transaction writes a segment and the head of
 * its shard and removes the pending positions, so every position is in exactly one segment, even with many readers.
 */
import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import {
  decodeCursor,
  type EngineCall,
  encodeCursor,
  type JournalEntry,
  type JournalName,
  Merge,
} from '@tidemark/core/engine';
import type { Client, Item } from '../client.ts';
import { bucketPartition, hash, joined, keyOf, keyOfItem, sequenceBytes, shareOf } from '../keys.ts';
import { HIGHEST, LOWEST, readPartition } from '../partitions.ts';
import type { EntryReader } from './entries.ts';
import { commitKey, partitionOf } from './head.ts';

/** A transaction has at most 100 actions: one for the head, one for the segment, and one for each pending position. */
const MAX_IN_SEGMENT = 98;
const SEGMENTS_PER_PAGE = 8;
const RUN_HASH_BYTES = 16;
const MAX_ROUNDS = 1_000;

/** A commit in the feed. `null` stands for a commit of an erased tenant. */
type Position = readonly [
  tenantId: string,
  name: string,
  life: string,
  first: number,
  count: number,
  time: number,
  restored: 0 | 1,
];

/**
 * How far a reader has got in a shard: the segment, the position within it, and the number of entries already read at
 * that position.
 */
type ShardCursor = [segment: number, position: number, entries: number];

export interface FeedItem {
  cursor: string;
  name: JournalName;
  entry: JournalEntry;
}

export class Feed {
  readonly #client: Client;
  readonly #entries: EntryReader;
  readonly #shards: number;

  constructor(client: Client, entries: EntryReader, shards: number) {
    this.#client = client;
    this.#entries = entries;
    this.#shards = shards;
  }

  /** Returns the action that adds a commit to the feed. */
  addition(
    { tenantId, name }: JournalName,
    life: Buffer,
    { first, count, time, restored }: { first: number; count: number; time: number; restored: boolean },
  ): TransactWriteItem {
    const run = hash(joined(tenantId, name)).subarray(0, RUN_HASH_BYTES);
    const position: Position = [tenantId, name, life.toString('hex'), first, count, time, restored ? 1 : 0];
    const Item: Item = {
      ...keyOf(
        bucketPartition('p', 'runs', shareOf(joined(tenantId, name).toString(), this.#shards)),
        Buffer.concat([run, life, sequenceBytes(first)]),
      ),
      b: { S: JSON.stringify(position) },
    };
    return { Put: { TableName: this.#client.table('log'), Item } };
  }

  async read(after: string | null, limit: number, call: EngineCall): Promise<FeedItem[]> {
    const cursors = after === null ? this.#start() : parseCursors(after, this.#shards);
    await Promise.all(cursors.map((_, shard) => this.#collect(shard, limit, call)));
    // Shards are merged by the times of commits. Within a shard, the order of segments determines the order.
    const merge = new Merge<Placed>(
      {
        buckets: this.#shards,
        compare: (a, b) => a.time - b.time,
        read: (shard, last, count) => this.#page(shard, last?.next ?? cursors[shard]!, count, call),
      },
      limit,
    );
    return (await merge.take(limit)).map(({ at, shard, next }) => {
      cursors[shard] = next;
      return { ...at, cursor: encodeCursor(cursors) };
    });
  }

  #start(): ShardCursor[] {
    return Array.from({ length: this.#shards }, () => [0, 0, 0]);
  }

  /**
   * Moves pending positions into segments until none is left, or until enough for a page were moved. Another reader may
   * do the same at the same time; the condition on the head of the shard lets only one of them succeed.
   */
  async #collect(shard: number, limit: number, call: EngineCall): Promise<void> {
    let from = LOWEST;
    for (let moved = 0, rounds = 0; moved < limit && rounds < MAX_ROUNDS; rounds++) {
      const seen = await this.#pending(shard, from, call);
      if (seen.length === 0) return;
      const head = await this.#client.get('log', this.#headKey(shard), call);
      const last = Buffer.from(seen.at(-1)!.s!.B!);
      const whole = withPredecessors(seen, await this.#pending(shard, from, call, last));
      const done = await this.#append(shard, Number(head?.q?.N ?? 0), whole, call);
      if (done) moved += whole.length;
      // Continues after the positions that were moved, so that a run with many commits does not delay the other runs.
      if (done && seen.length < MAX_IN_SEGMENT) return;
      if (done) from = last;
    }
  }

  async #pending(shard: number, from: Buffer, call: EngineCall, to = HIGHEST): Promise<Item[]> {
    const partition = bucketPartition('p', 'runs', shard);
    const range = { from, to, page: MAX_IN_SEGMENT };
    const found: Item[] = [];
    for await (const items of readPartition(this.#client, 'log', partition, range, call)) {
      found.push(...items);
      if (found.length >= MAX_IN_SEGMENT) break;
    }
    return found.slice(0, MAX_IN_SEGMENT);
  }

  /** Writes a segment. Returns false when another reader has written a segment with this number. */
  async #append(shard: number, segments: number, pending: readonly Item[], call: EngineCall): Promise<boolean> {
    if (pending.length === 0) return true;
    const TableName = this.#client.table('log');
    const positions = pending.map(({ b }) => JSON.parse(b!.S!) as Position);
    // Sorted by time, so that the feed follows the order of commits. The positions of a run keep their order, because
    // the times of a run never decrease.
    positions.sort((a, b) => a[5] - b[5] || compare(a[2], b[2]) || a[3] - b[3]);
    const q = { N: String(segments + 1) };
    const head = { ...this.#headKey(shard), q };
    const isNext =
      segments === 0
        ? { ConditionExpression: 'attribute_not_exists(#q)', ExpressionAttributeNames: { '#q': 'q' } }
        : {
            ConditionExpression: '#q = :q',
            ExpressionAttributeNames: { '#q': 'q' },
            ExpressionAttributeValues: { ':q': { N: String(segments) } },
          };
    const segment: Item = {
      ...keyOf(this.#partition(shard), segmentKey(segments + 1)),
      b: { S: JSON.stringify(positions) },
    };
    const { done } = await this.#client.transact(
      [
        { Put: { TableName, Item: head, ...isNext } },
        { Put: { TableName, Item: segment } },
        ...pending.map((it) => ({ Delete: { TableName, Key: keyOfItem(it) } })),
      ],
      call,
    );
    return done;
  }

  /** Returns the next entries of a shard, each with the cursor after it. */
  async #page(shard: number, cursor: ShardCursor, limit: number, call: EngineCall): Promise<Placed[]> {
    const found: Placed[] = [];
    let expected = Math.max(1, cursor[0]);
    const range = { from: segmentKey(expected), to: HIGHEST, page: SEGMENTS_PER_PAGE };
    for await (const items of readPartition(this.#client, 'log', this.#partition(shard), range, call)) {
      for (const item of items) {
        const segment = Number(Buffer.from(item.s!.B!).readBigUInt64BE(1));
        // A query is not a snapshot: it may miss a segment and return the next one.
        if (segment !== expected++) return found;
        await this.#addSegment(found, { shard, segment, item }, cursor, limit, call);
        if (found.length >= limit) return found.slice(0, limit);
      }
    }
    return found;
  }

  async #addSegment(
    found: Placed[],
    { shard, segment, item }: { shard: number; segment: number; item: Item },
    cursor: ShardCursor,
    limit: number,
    call: EngineCall,
  ): Promise<void> {
    const positions = JSON.parse(item.b!.S!) as (Position | null)[];
    const from = segment === cursor[0] ? cursor[1] : 0;
    // Each position has at least one entry unless runs were removed, so no further positions are needed.
    for (let at = from; at < positions.length && found.length < limit; ) {
      const some = positions.slice(at, at + limit - found.length);
      const skips = some.map((_, offset) => (segment === cursor[0] && at + offset === cursor[1] ? cursor[2] : 0));
      const lists = await this.#entriesOf(some, skips, limit - found.length, call);
      for (const [offset, entries] of lists.entries()) {
        const position = some[offset];
        if (!position) continue;
        const [tenantId, name, , first, count, time] = position;
        for (const entry of entries) {
          const read = entry.seq - first + 1;
          const next: ShardCursor = read === count ? [segment, at + offset + 1, 0] : [segment, at + offset, read];
          found.push({ shard, at: { name: { space: 'runs', tenantId, name }, entry }, time, next });
        }
      }
      at += some.length;
    }
  }

  /** Returns the entries of positions, except the first `skips`. Entries of removed runs are missing. */
  async #entriesOf(
    positions: readonly (Position | null)[],
    skips: readonly number[],
    limit: number,
    call: EngineCall,
  ): Promise<JournalEntry[][]> {
    const keys = positions.map((position) => position && commitKeyOf(position));
    const single = keys.filter((key) => key !== null);
    const items = single.length > 0 ? await this.#client.getMany('log', single, call) : [];
    let next = 0;
    return Promise.all(
      positions.map(async (position, at) => {
        if (!position) return [];
        const [tenantId, name, life, first, count] = position;
        const journal: JournalName = { space: 'runs', tenantId, name };
        const range = { after: first - 1 + skips[at]!, upTo: first + count - 1 };
        const item = keys[at] ? items[next++] : undefined;
        if (keys[at] && !item) return [];
        const lifeBytes = Buffer.from(life, 'hex');
        range.upTo = Math.min(range.upTo, range.after + limit);
        if (!item) return this.#entries.read(journal, lifeBytes, range, call);
        const entries = await this.#entries.entriesOf(journal, lifeBytes, item, range, call);
        return entries.filter(({ seq }) => seq > range.after && seq <= range.upTo);
      }),
    );
  }

  /** Removes the positions of a tenant from segments and from the pending positions. */
  async clear(tenantId: string, call: EngineCall): Promise<void> {
    for (let shard = 0; shard < this.#shards; shard++) {
      await this.#clearPending(shard, tenantId, call);
      await this.#clearSegments(shard, tenantId, call);
    }
  }

  async #clearPending(shard: number, tenantId: string, call: EngineCall): Promise<void> {
    const range = { from: LOWEST, to: HIGHEST };
    const partition = bucketPartition('p', 'runs', shard);
    for await (const items of readPartition(this.#client, 'log', partition, range, call)) {
      const own = items.filter(({ b }) => (JSON.parse(b!.S!) as Position)[0] === tenantId);
      await this.#client.deleteAll('log', own.map(keyOfItem), call);
    }
  }

  async #clearSegments(shard: number, tenantId: string, call: EngineCall): Promise<void> {
    const range = { from: segmentKey(1), to: HIGHEST };
    for await (const items of readPartition(this.#client, 'log', this.#partition(shard), range, call))
      for (const item of items) await this.#clearSegment(item, tenantId, call);
  }

  /**
   * Removes the positions of a tenant from a segment. Keeps the number of positions, because cursors count them.
   * Retries when another erasure has changed the segment.
   */
  async #clearSegment(item: Item, tenantId: string, call: EngineCall): Promise<void> {
    for (let current: Item | undefined = item; current; ) {
      const text = current.b!.S!;
      const positions = JSON.parse(text) as (Position | null)[];
      if (!positions.some((position) => position?.[0] === tenantId)) return;
      const b = { S: JSON.stringify(positions.map((it) => (it?.[0] === tenantId ? null : it))) };
      const input = {
        Item: { p: item.p!, s: item.s!, b },
        ConditionExpression: '#b = :b',
        ExpressionAttributeNames: { '#b': 'b' },
        ExpressionAttributeValues: { ':b': { S: text } },
      };
      const outcome = await this.#client.write({ table: 'log', input }, { isIn: (it) => it.b?.S === b.S }, call);
      if (outcome.done) return;
      current = outcome.item;
    }
  }

  #partition(shard: number): Buffer {
    return bucketPartition('f', 'runs', shard);
  }

  #headKey(shard: number): Item {
    return keyOf(this.#partition(shard), Buffer.from('H'));
  }
}

interface Placed {
  shard: number;
  at: Omit<FeedItem, 'cursor'>;
  time: number;
  next: ShardCursor;
}

/**
 * Returns the positions to move: the positions of the second read whose run has the same or a later position in the
 * first read. A query is not a snapshot, so the first read may have missed a commit but returned its successor. Every
 * predecessor of a position in the first read was stored before the second read began.
 */
function withPredecessors(first: readonly Item[], second: readonly Item[]): Item[] {
  const upTo = new Map<string, Buffer>();
  const runOf = ({ s }: Item) => Buffer.from(s!.B!).subarray(0, RUN_HASH_BYTES).toString('latin1');
  for (const item of first) upTo.set(runOf(item), Buffer.from(item.s!.B!));
  return second.filter((item) => {
    const last = upTo.get(runOf(item));
    return last !== undefined && Buffer.compare(item.s!.B!, last) <= 0;
  });
}

/** Returns the key of a commit. A restored run is one position with several commits, which are read as a range. */
function commitKeyOf([tenantId, name, life, first, count, , restored]: Position): Item | null {
  if (restored) return null;
  const partition = partitionOf({ space: 'runs', tenantId, name });
  return keyOf(partition, commitKey(Buffer.from(life, 'hex'), first + count - 1));
}

/** Returns the key of a segment. It sorts after the key of the shard's head. */
function segmentKey(segment: number): Buffer {
  return Buffer.concat([Buffer.from('N'), sequenceBytes(segment)]);
}

function parseCursors(cursor: string, shards: number): ShardCursor[] {
  const isCursor = (values: unknown[]) =>
    values.length === shards &&
    values.every(
      (it) =>
        Array.isArray(it) && it.length === 3 && it.every((part) => Number.isSafeInteger(part) && (part as number) >= 0),
    );
  return decodeCursor<ShardCursor[]>(cursor, isCursor).map((it) => [...it]);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * The feed of all runs: a stream of commits per bucket. A cursor has a position for each bucket, so that nothing is
 * skipped whatever the order in which buckets are written.
 */
import {
  decodeCursor,
  type EngineCall,
  encodeCursor,
  type JournalEntry,
  type JournalName,
} from '@tidemark/core/engine';
import type { Commands } from './commands.ts';
import { Merge } from './merge.ts';

/** `[id, [field, value, …]]`. */
export type StreamEntry = [Buffer, Buffer[]];

export interface FeedItem {
  cursor: string;
  name: JournalName;
  entry: JournalEntry;
}

export interface FeedSource {
  buckets: number;
  keyOf(bucket: number): string;
  /** Returns the entries of a commit that still exist. */
  entries(commit: Commit): Promise<JournalEntry[]>;
}

export interface Commit {
  bucket: number;
  id: string;
  name: JournalName;
  first: number;
  count: number;
  /** The life of a restored journal: entries of other lives are ignored. */
  life: string | undefined;
}

/**
 * The last commit of a bucket that was returned completely, or with `:n` the one of which n entries were returned.
 * Empty at the start.
 */
const PLACE = /^$|^\d{1,19}-\d{1,19}(:\d{1,15})?$/;

export async function readFeed(
  commands: Commands,
  source: FeedSource,
  after: string | null,
  limit: number,
  call: EngineCall,
): Promise<FeedItem[]> {
  const places = after === null ? Array<string>(source.buckets).fill('') : placesOf(after, source.buckets);
  const merge = new Merge<Commit>(
    {
      buckets: source.buckets,
      compare: compareCommits,
      read: (bucket, last, count) =>
        readCommits(commands, bucket, source.keyOf(bucket), last?.id ?? places[bucket]!, count, call),
    },
    limit,
  );
  const items: FeedItem[] = [];
  while (items.length < limit) {
    const wanted = limit - items.length;
    const commits = await merge.take(wanted);
    const entries = await Promise.all(commits.map((commit) => source.entries(commit)));
    for (const [at, commit] of commits.entries()) {
      if (items.length === limit) break;
      give(items, commit, entries[at]!, places, limit);
    }
    if (commits.length < wanted) break;
  }
  return items;
}

/** Adds the entries of a commit that were not returned before, up to the limit, each with the positions after it. */
function give(items: FeedItem[], commit: Commit, entries: JournalEntry[], places: string[], limit: number): void {
  const { bucket, id, name, first, count } = commit;
  const taken = places[bucket]!.startsWith(`${id}:`) ? Number(places[bucket]!.split(':')[1]) : 0;
  for (const entry of entries) {
    const given = entry.seq - first + 1;
    if (given <= taken) continue;
    if (items.length === limit) return;
    places[bucket] = given === count ? id : `${id}:${given}`;
    items.push({ cursor: encodeCursor(places), name, entry });
  }
  places[bucket] = id;
}

async function readCommits(
  commands: Commands,
  bucket: number,
  key: string,
  place: string,
  count: number,
  call: EngineCall,
): Promise<Commit[]> {
  const from = place === '' ? '-' : place.includes(':') ? place.split(':')[0]! : `(${place}`;
  const entries = (await commands.read(
    bucket,
    ['XRANGE', key, from, '+', 'COUNT', String(count)],
    call,
  )) as StreamEntry[];
  return entries.map(([id, [, run, , events, , life]]) => {
    const [tenantId, name] = run!.toString().split('\0') as [string, string];
    const [first, size] = events!.toString().split(' ').map(Number) as [number, number];
    const place = { bucket, id: id.toString(), first, count: size, life: life?.toString() };
    return { ...place, name: { space: 'runs', tenantId, name } };
  });
}

/** Commit ids start with the time of the commit. */
function compareCommits(a: Commit, b: Commit): number {
  const [timeA, countA] = a.id.split('-').map(Number) as [number, number];
  const [timeB, countB] = b.id.split('-').map(Number) as [number, number];
  return timeA - timeB || countA - countB || a.bucket - b.bucket;
}

function placesOf(cursor: string, buckets: number): string[] {
  const isVector = (values: unknown[]) =>
    values.length === buckets && values.every((place) => typeof place === 'string' && PLACE.test(place));
  return [...decodeCursor<string[]>(cursor, isVector)];
}

/** Reads the feed of a bucket page by page, removes the commits that `pick` returns, and returns how many. */
export async function removeFromFeed(
  commands: Commands,
  { bucket, key, page }: { bucket: number; key: string; page: number },
  pick: (commits: readonly Commit[]) => Commit[] | Promise<Commit[]>,
  call: EngineCall,
): Promise<number> {
  let removed = 0;
  for (let place = ''; ; ) {
    const commits = await readCommits(commands, bucket, key, place, page, call);
    const picked = await pick(commits);
    if (picked.length > 0) await commands.put(bucket, ['XDEL', key, ...picked.map(({ id }) => id)], call);
    removed += picked.length;
    if (commits.length < page) return removed;
    place = commits.at(-1)!.id;
  }
}

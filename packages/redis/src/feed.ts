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
const POSITION = /^$|^\d{1,19}-\d{1,19}(:\d{1,15})?$/;

export async function readFeed(
  commands: Commands,
  source: FeedSource,
  after: string | null,
  limit: number,
  call: EngineCall,
): Promise<FeedItem[]> {
  const positions = after === null ? Array<string>(source.buckets).fill('') : parsePositions(after, source.buckets);
  const merge = new Merge<Commit>(
    {
      buckets: source.buckets,
      compare: compareCommits,
      read: (bucket, last, count) =>
        readCommits(commands, bucket, source.keyOf(bucket), last?.id ?? positions[bucket]!, count, call),
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
      addEntries(items, commit, entries[at]!, positions, limit);
    }
    if (commits.length < wanted) break;
  }
  return items;
}

/** Adds the entries of a commit that were not returned before, up to the limit, each with the positions after it. */
function addEntries(
  items: FeedItem[],
  commit: Commit,
  entries: JournalEntry[],
  positions: string[],
  limit: number,
): void {
  const { bucket, id, name, first, count } = commit;
  const taken = positions[bucket]!.startsWith(`${id}:`) ? Number(positions[bucket]!.split(':')[1]) : 0;
  for (const entry of entries) {
    const given = entry.seq - first + 1;
    if (given <= taken) continue;
    if (items.length === limit) return;
    positions[bucket] = given === count ? id : `${id}:${given}`;
    items.push({ cursor: encodeCursor(positions), name, entry });
  }
  positions[bucket] = id;
}

async function readCommits(
  commands: Commands,
  bucket: number,
  key: string,
  position: string,
  count: number,
  call: EngineCall,
): Promise<Commit[]> {
  const from = position === '' ? '-' : position.includes(':') ? position.split(':')[0]! : `(${position}`;
  const entries = (await commands.read(
    bucket,
    ['XRANGE', key, from, '+', 'COUNT', String(count)],
    call,
  )) as StreamEntry[];
  return entries.map(([id, [, run, , events, , life]]) => {
    const [tenantId, name] = run!.toString().split('\0') as [string, string];
    const [first, size] = events!.toString().split(' ').map(Number) as [number, number];
    const commit = { bucket, id: id.toString(), first, count: size, life: life?.toString() };
    return { ...commit, name: { space: 'runs', tenantId, name } };
  });
}

/** Commit ids start with the time of the commit. */
function compareCommits(a: Commit, b: Commit): number {
  const [timeA, countA] = a.id.split('-').map(Number) as [number, number];
  const [timeB, countB] = b.id.split('-').map(Number) as [number, number];
  return timeA - timeB || countA - countB || a.bucket - b.bucket;
}

function parsePositions(cursor: string, buckets: number): string[] {
  const isVector = (values: unknown[]) =>
    values.length === buckets && values.every((position) => typeof position === 'string' && POSITION.test(position));
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
  for (let position = ''; ; ) {
    const commits = await readCommits(commands, bucket, key, position, page, call);
    const picked = await pick(commits);
    if (picked.length > 0) await commands.put(bucket, ['XDEL', key, ...picked.map(({ id }) => id)], call);
    removed += picked.length;
    if (commits.length < page) return removed;
    position = commits.at(-1)!.id;
  }
}

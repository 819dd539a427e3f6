/**
 * The feed of all runs: a stream of commits per bucket. A cursor has a position for each bucket, so that no event is
 * skipped, regardless of the order in which the buckets are written.
 */
import {
  decodeCursor,
  type EngineCall,
  encodeCursor,
  type JournalEntry,
  type JournalFeedItem,
  type JournalName,
  Merge,
} from '@tidemark/core/engine';
import type { Commands } from './commands.ts';

/** `[id, [field, value, …]]`. */
export type StreamEntry = [Buffer, Buffer[]];

export interface FeedSource {
  /** Whether the reader also receives notices. */
  notices: boolean;
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
  /** The text of a notice, which has no entries. */
  notice: string | undefined;
}

/**
 * The position in a bucket: the id of the last commit that was returned completely. With `:n`, the first n entries of
 * the commit were returned. Empty at the start.
 */
const POSITION = /^$|^\d{1,19}-\d{1,19}(:\d{1,15})?$/;

export async function readFeed(
  commands: Commands,
  source: FeedSource,
  after: string | null,
  limit: number,
  call: EngineCall,
): Promise<JournalFeedItem[]> {
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
  const items: JournalFeedItem[] = [];
  while (items.length < limit) {
    const wanted = limit - items.length;
    const commits = await merge.take(wanted);
    const entries = await Promise.all(
      commits.map((commit) => (commit.notice === undefined ? source.entries(commit) : [])),
    );
    for (const [at, commit] of commits.entries()) {
      if (items.length === limit) break;
      if (commit.notice !== undefined) addNotice(items, commit, commit.notice, positions, source.notices);
      else addEntries(items, commit, entries[at]!, positions, limit);
    }
    if (commits.length < wanted) break;
  }
  return items;
}

/** Adds a notice with the positions after it. If the reader receives no notices, only advances the position. */
function addNotice(
  items: JournalFeedItem[],
  { bucket, id, name }: Commit,
  notice: string,
  positions: string[],
  isWanted: boolean,
): void {
  positions[bucket] = id;
  if (isWanted) items.push({ cursor: encodeCursor(positions), name, notice });
}

/** Adds the entries of a commit that were not returned earlier, up to the limit, each with the positions after it. */
function addEntries(
  items: JournalFeedItem[],
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
  return entries.map(([id, [, run, , events, , life, , notice]]) => {
    const [tenantId, name] = run!.toString().split('\0') as [string, string];
    const [first, size] = events!.toString().split(' ').map(Number) as [number, number];
    const commit = {
      bucket,
      id: id.toString(),
      first,
      count: size,
      life: life?.toString(),
      notice: notice?.toString(),
    };
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

/** Reads the feed of a bucket page by page, removes the commits that `pick` returns, and returns their number. */
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

/** Removes commits of removed runs from the feed, because the feed would otherwise grow without limit. */
import type { EngineCall } from '@tidemark/core/engine';
import type { Commands } from './commands.ts';
import { type Commit, removeFromFeed } from './feed.ts';
import type { Layout } from './layout.ts';
import { LIVES } from './scripts.ts';

/** Limited, because the script loads the body of each commit that it looks up. */
const PAGE = 200;
/** Fewer removed events do not justify a pass over the feed. */
const FEWEST = 1_000;
/**
 * A pass is due when at least one event per this many commits in the feed was removed, which limits the lookups per
 * removal.
 */
const COMMITS_PER_REMOVED_EVENT = 4;

export async function trimFeeds(commands: Commands, layout: Layout, call: EngineCall): Promise<void> {
  for (let bucket = 0; bucket < layout.buckets; bucket++) await trimFeed(commands, layout, bucket, call, FEWEST);
}

/** Trims the feed of a bucket if enough was removed since the last pass. Returns the number of removed commits. */
export async function trimFeed(
  commands: Commands,
  layout: Layout,
  bucket: number,
  call: EngineCall,
  fewest: number,
): Promise<number> {
  const [feed, removed] = [layout.shared(bucket, 'feed'), layout.shared(bucket, 'removed-events')];
  const [events, commits] = await Promise.all([
    commands.read(bucket, ['GET', removed], call).then(Number),
    commands.read(bucket, ['XLEN', feed], call).then(Number),
  ]);
  if (events < Math.max(fewest, commits / COMMITS_PER_REMOVED_EVENT)) return 0;
  const pick = (page: readonly Commit[]) => findRemoved(commands, layout, bucket, page, call);
  const removedCommits = await removeFromFeed(commands, { bucket, key: feed, page: PAGE }, pick, call);
  // Removals during the pass are not counted. The next pass removes their commits.
  await commands.put(bucket, ['SET', removed, '0'], call);
  return removedCommits;
}

/** Returns the commits whose entries no longer exist. A removed entry never reappears with the same life. */
async function findRemoved(
  commands: Commands,
  layout: Layout,
  bucket: number,
  page: readonly Commit[],
  call: EngineCall,
): Promise<Commit[]> {
  // Notices stay: readers may not have received them yet.
  const commits = page.filter(({ notice }) => notice === undefined);
  if (commits.length === 0) return [];
  const logs = new Map<string, number>();
  const args = commits.flatMap(({ name, first }) => {
    const { log } = layout.journal(name);
    if (!logs.has(log)) logs.set(log, logs.size + 1);
    return [String(logs.get(log)), String(first)];
  });
  const lives = (await commands.look(bucket, LIVES, [...logs.keys()], args, call)) as (Buffer | null)[];
  return commits.filter(({ life }, at) => lives[at]?.toString() !== (life ?? ''));
}

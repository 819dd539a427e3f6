/** Takes commits of removed runs out of the feed, which otherwise would grow for ever while runs come and go. */
import type { EngineCall } from '@tidemark/core/engine';
import type { Commands } from './commands.ts';
import { type Commit, removeFromFeed } from './feed.ts';
import type { Layout } from './layout.ts';
import { LIVES } from './scripts.ts';

/** Each is looked up in its log, which brings its body into the script. */
const PAGE = 200;
/** Fewer than these are not worth a walk. */
const FEWEST = 1_000;
/** A walk is due when so many events were removed for each commit in the feed: so many looks at most pay for one that goes. */
const LOOKS = 4;

export async function trimFeeds(commands: Commands, layout: Layout, call: EngineCall): Promise<void> {
  for (let bucket = 0; bucket < layout.buckets; bucket++) await trimFeed(commands, layout, bucket, call, FEWEST);
}

/** Walks the feed of a bucket if enough was removed since the last walk; gives how many commits went. */
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
  if (events < Math.max(fewest, commits / LOOKS)) return 0;
  const pick = (page: readonly Commit[]) => goneOf(commands, layout, bucket, page, call);
  const gone = await removeFromFeed(commands, { bucket, key: feed, page: PAGE }, pick, call);
  // What was removed meanwhile is not counted any more, and goes with the next walk that is due.
  await commands.put(bucket, ['SET', removed, '0'], call);
  return gone;
}

/** Those whose entries are no more: what was removed never comes back under the same life. */
async function goneOf(
  commands: Commands,
  layout: Layout,
  bucket: number,
  commits: readonly Commit[],
  call: EngineCall,
): Promise<Commit[]> {
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

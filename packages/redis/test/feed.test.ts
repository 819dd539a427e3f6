/** The feed drops removed runs: its streams shrink, and readers notice nothing. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { runEvent } from '../../../faults/run-event.ts';
import { Commands } from '../src/commands.ts';
import { trimFeed } from '../src/feed-trimming.ts';
import { Layout } from '../src/layout.ts';
import { readSettings } from '../src/options.ts';
import { SingleServer } from '../src/servers.ts';
import { newPrefix, openStore, sharedServer, WITHOUT_REDIS } from './servers.ts';

const BUCKETS = 2;
const call = () => ({ deadline: Date.now() + 20_000 });

async function newFeed() {
  const prefix = newPrefix();
  const store = await openStore(sharedServer(), { prefix, buckets: BUCKETS });
  const settings = readSettings({ url: sharedServer(), prefix }, 5_000);
  const servers = await SingleServer.open(settings);
  onTestFinished(() => servers.close());
  const commands = new Commands(servers, settings);
  const layout = new Layout(prefix, BUCKETS);
  const buckets = Array.from({ length: BUCKETS }, (_, bucket) => bucket);
  const inAll = async (of: (bucket: number) => Promise<unknown>) => {
    const counts = await Promise.all(buckets.map(of));
    return counts.reduce<number>((sum, count) => sum + Number(count), 0);
  };
  return {
    store,
    /** Counts the commits in the feeds of all buckets. */
    commits: () => inAll((bucket) => commands.read(bucket, ['XLEN', layout.shared(bucket, 'feed')], call())),
    trim: (fewest = 1) => inAll((bucket) => trimFeed(commands, layout, bucket, call(), fewest)),
  };
}

describe.skipIf(WITHOUT_REDIS)('the feed', () => {
  it('loses the commits of removed runs, and a reader in the middle of it continues', async () => {
    const { store, commits, trim } = await newFeed();
    const runIds = Array.from({ length: 60 }, (_, at) => `run-${at}`);
    for (const key of ['a', 'b', 'c'])
      await Promise.all(
        runIds.map((runId) => store.runs.appendEvents([runEvent(runId, key), runEvent(runId, `${key}2`)])),
      );
    expect(await commits()).toBe(180);
    const begun = await store.runs.feedPage({ limit: 111 });
    const isGone = (runId: string) => Number(runId.slice(4)) % 3 !== 0;
    for (const runId of runIds.filter(isGone)) await store.runs.deleteRun(runId, { tenantId: 'default' });

    expect(await trim()).toBe(120);
    // The notices of the 40 removals stay.
    expect(await commits()).toBe(60 + 40);
    const rest = await store.runs.feedPage({ cursor: begun.next!, limit: 1_000 });
    const read = [...begun.items, ...rest.items].map(({ event }) => `${event.runId} ${event.runSeq}`);
    const kept = runIds
      .filter((runId) => !isGone(runId))
      .flatMap((runId) => [1, 2, 3, 4, 5, 6].map((seq) => `${runId} ${seq}`));
    expect(read.filter((item) => !isGone(item.split(' ')[0]!)).sort()).toEqual(kept.sort());
    expect(await trim()).toBe(0);
  });

  it('keeps restored and newer commits, and loses the ones from before the removal', async () => {
    const { store, commits, trim } = await newFeed();
    const ids = { tenantId: 'default' };
    for (const key of ['a', 'b', 'c']) await store.runs.appendEvent(runEvent('back', key));
    const exported = await Array.fromAsync(store.runs.exportRun('back', ids));
    await store.runs.deleteRun('back', ids);
    await store.runs.restoreRun(exported, { overDeleted: true });
    await store.runs.appendEvent(runEvent('back', 'd'));
    // Three commits, the restored ones as one, the new one, and two notices.
    expect(await commits()).toBe(7);
    expect(await trim()).toBe(3);
    const { items } = await store.runs.feedPage();
    expect(items.map(({ event }) => event.runSeq)).toEqual([1, 2, 3, 4]);
  });

  it('is not trimmed for a few events, nor twice for the same', async () => {
    const { store, trim } = await newFeed();
    for (const runId of ['a', 'b', 'c']) await store.runs.appendEvent(runEvent(runId));
    for (const runId of ['a', 'b']) await store.runs.deleteRun(runId, { tenantId: 'default' });
    expect(await trim(10)).toBe(0);
    expect(await trim()).toBe(2);
    expect(await trim()).toBe(0);
  });
});

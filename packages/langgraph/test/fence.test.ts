/** The optional fence: of two processes that continue a thread, one gets `CONFLICT`. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { emptyCheckpoint } from '@langchain/langgraph-checkpoint';
import { isTidemarkError, type Store } from '@tidemark/core';
import { sqliteStore } from '@tidemark/sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startChild } from '../../../scripts/adapters/children.ts';
import { ENGINES } from '../../../scripts/adapters/engines.ts';
import { TidemarkSaver } from '../src/index.ts';
import { type Config, idOf, idsOf, put, withPause } from './checkpoints.ts';

const threadOf = (thread_id: string): Config => ({ configurable: { thread_id } });

for (const [engine, openStore] of Object.entries(ENGINES)) {
  describe(`a fenced thread on ${engine}`, () => {
    let store: Store;
    const fenced = (on = store) => new TidemarkSaver(on, { fence: true });
    beforeAll(async () => {
      store = await openStore();
    });
    afterAll(() => store?.close());

    it('is continued by one of several writers', async () => {
      const thread = threadOf('several');
      let parent = thread;
      for (let round = 0; round < 4; round++) {
        const puts = [1, 2, 3].map((n) => put(fenced(), parent, { n }));
        const results = await Promise.allSettled(puts);
        const stored = results.filter((it) => it.status === 'fulfilled');
        const codes = results.flatMap((it) => (it.status === 'rejected' ? [(it.reason as { code: string }).code] : []));
        expect(codes).toEqual(['CONFLICT', 'CONFLICT']);
        parent = stored[0]!.value;
        expect((await fenced().getTuple(thread))!.config).toEqual(parent);
      }
      expect(await idsOf(fenced(), thread)).toHaveLength(4);
    });

    it('does not branch, unlike a thread without a fence', async () => {
      const thread = threadOf('branch');
      const root = await put(fenced(), thread, { n: 0 });
      const latest = await put(fenced(), root, { n: 1 });
      await expect(put(fenced(), root, { n: 2 })).rejects.toMatchObject({ code: 'CONFLICT', current: idOf(latest) });
      await put(new TidemarkSaver(store), root, { n: 3 });
      expect(await idsOf(fenced(), thread)).toHaveLength(3);
    });

    it('continues after a writer that stopped before it stored its checkpoint', async () => {
      const thread = threadOf('stopped');
      const root = await put(fenced(), thread, { n: 0 });
      const resumed = Promise.withResolvers<void>();
      const reached = Promise.withResolvers<void>();
      const slow = withPause(store, (key) => {
        if (!key.endsWith('.c')) return undefined;
        reached.resolve();
        return resumed.promise;
      });
      const late = put(fenced(slow), root, { n: 1 });
      await reached.promise;
      const next = await put(fenced(), root, { n: 2 });
      resumed.resolve();
      await expect(late).rejects.toMatchObject({ code: 'CONFLICT', current: idOf(next) });
      expect(await idsOf(fenced(), thread)).toEqual([idOf(next), idOf(root)]);
      await put(fenced(), next, { n: 3 });
    });

    it('is read from its head, even if the clocks of two machines differ', async () => {
      const thread = threadOf('clocks');
      const root = await put(fenced(), thread, { n: 0 });
      const behind = { ...emptyCheckpoint(), id: idOf(root).replace(/^./, '0'), channel_values: { n: 1 } };
      const metadata = { source: 'loop', step: 1, parents: {} } as const;
      const stored = await fenced().put(root, { ...behind, channel_versions: { n: 2 } }, metadata, { n: 2 });
      expect((await fenced().getTuple(thread))!.config).toEqual(stored);
      expect((await new TidemarkSaver(store).getTuple(thread))!.config).toEqual(root);
      await fenced().prune({ threadId: 'clocks' });
      expect((await fenced().getTuple(thread))!.config).toEqual(stored);
    });

    it('may have been begun without a fence, and may be deleted and begun again', async () => {
      const thread = threadOf('begun');
      const root = await put(new TidemarkSaver(store), thread, { n: 0 });
      const second = await put(fenced(), root, { n: 1 });
      await fenced().deleteThread('begun');
      await expect(put(fenced(), second, { n: 2 })).rejects.toMatchObject({ code: 'CONFLICT', current: null });
      const again = await put(fenced(), thread, { n: 3 });
      expect(await idsOf(fenced(), thread)).toEqual([idOf(again)]);
    });
  });
}

it('lets two processes take turns without losing a step', { timeout: 120_000 }, async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'tidemark-fence-')), 'state.db');
  const store = await sqliteStore(path);
  const saver = new TidemarkSaver(store, { fence: true });
  const thread = threadOf('turns');
  await put(saver, thread, { log: [] });
  const children = ['a', 'b'].map((name) => startChild(join(import.meta.dirname, 'fence-child.ts'), path, name, '25'));
  await Promise.all(children.map(({ ended }) => ended));
  const { log } = (await saver.getTuple(thread))!.checkpoint.channel_values as { log: string[] };
  await store.close();
  // Each process has seen what the other one added before, so every entry is stored exactly once.
  const wanted = children.flatMap((_, at) => Array.from({ length: 25 }, (__, step) => `${'ab'[at]}${step}`));
  expect([...log].sort()).toEqual([...wanted].sort());
});

it('reports the conflict as an error of Tidemark', async () => {
  const store = await ENGINES.memory!();
  const saver = new TidemarkSaver(store, { fence: true });
  const root = await put(saver, threadOf('error'), { n: 0 });
  await put(saver, root, { n: 1 });
  const failure = await put(saver, root, { n: 2 }).catch((error: unknown) => error);
  expect(isTidemarkError(failure, 'CONFLICT')).toBe(true);
  expect(String(failure)).toContain('Thread "error" is at checkpoint');
});

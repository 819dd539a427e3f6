/** Runs of adapters (ADP-1): the projector and retention leave them alone, copies include them. */
import { ANY_OWNER, memoryStore, OWNER_LABEL } from '@tidemark/core';
import { expect, it, onTestFinished } from 'vitest';
import { copyStore, createProjector, createRetention } from '../src/index.ts';

/** Returns a store with an ordinary run and one of an adapter, in the same state. */
async function filled() {
  let now = Date.UTC(2026, 0, 1);
  const store = memoryStore({ clock: () => now });
  onTestFinished(() => store.close());
  for (const [runId, labels] of [
    ['ordinary', {}],
    ['owned', { [OWNER_LABEL]: 'claude' }],
  ] as const) {
    await store.runs.handle(runId, { labels }).append('RunStarted');
    await store.runs.handle(runId, { labels }).append('RunCompleted');
  }
  return {
    store,
    wait(ms: number) {
      now += ms;
    },
    clock: () => now,
  };
}

it('are not folded by the projector', async () => {
  const { store } = await filled();
  const folded: string[] = [];
  const projection = {
    name: 'seen',
    refresh: async (_: unknown, runId: string) => {
      folded.push(runId);
    },
  };
  await store.runs.handle('last').append('RunStarted');
  const projector = await createProjector({ store, projections: [projection], shards: 1 });
  await expect.poll(() => folded).toContain('last');
  await projector.stop();
  expect(new Set(folded)).toEqual(new Set(['ordinary', 'last']));
});

it('are removed by retention only if a policy names their owner', async () => {
  const { store, wait, clock } = await filled();
  wait(10 * 86_400_000);
  const runIds = async () => (await store.runs.listRuns({ owner: ANY_OWNER })).items.map(({ runId }) => runId);
  const run = async (labels?: Record<string, string>) => {
    const policy = { name: 'old', olderThan: '1d', action: 'delete' as const, ...(labels && { labels }) };
    await createRetention({ store, policies: { runs: [policy] }, clock, share: 1 }).run();
  };
  await run();
  expect(await runIds()).toEqual(['owned']);
  await run({ [OWNER_LABEL]: 'claude' });
  expect(await runIds()).toEqual([]);
});

it('are copied', async () => {
  const { store } = await filled();
  const target = memoryStore();
  onTestFinished(() => target.close());
  expect(await copyStore(store, target)).toMatchObject({ complete: true, parts: { runs: { copied: 2 } } });
  expect((await target.runs.listRuns({ owner: 'claude' })).items.map(({ runId }) => runId)).toEqual(['owned']);
});

/**
 * Copies keep the lives of runs: a later life replaces an ended one, and a tombstone keeps its life's number (RUN-18).
 */
import type { Store } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { copyStore } from '../src/index.ts';
import { memory } from './stores.ts';

const NEW = { life: 'new' } as const;

async function begin({ runs }: Store, runId: string, note: string): Promise<void> {
  await runs.handle(runId).append('Note', { note }, NEW);
}

/** Returns the life of a run and the notes in it. */
async function stateOf({ runs }: Store, runId: string): Promise<[number, unknown[]]> {
  const notes = (await runs.fetchEvents(runId)).map(({ payload }) => payload?.note);
  return [(await runs.position(runId))?.life ?? 1, notes];
}

describe('copies of lives', () => {
  it('carry a later life, and replace the ended one that an earlier copy wrote', async () => {
    const [from, to] = [memory(), memory()];
    await begin(from, 'order-1', 'first');
    await copyStore(from, to);
    await from.runs.deleteRun('order-1');
    await begin(from, 'order-1', 'second');
    expect(await copyStore(from, to)).toMatchObject({ complete: true, differences: [] });
    expect(await stateOf(to, 'order-1')).toEqual([2, ['second']]);
    await expect(to.runs.handle('order-1').append('Note')).rejects.toMatchObject({ code: 'RUN_DELETED' });
    expect((await to.runs.verify('order-1')).ok).toBe(true);
  });

  it.each(['unknown to the target', 'deleted there in its first life'])(
    'keep the number of a deleted life that is %s',
    async (state) => {
      const [from, to] = [memory(), memory()];
      await begin(from, 'order-1', 'first');
      await from.runs.deleteRun('order-1');
      if (state.startsWith('deleted')) await copyStore(from, to);
      await begin(from, 'order-1', 'second');
      await from.runs.deleteRun('order-1');
      expect(await copyStore(from, to)).toMatchObject({ complete: true, differences: [] });
      expect((await to.admin.listRemovedRuns()).items).toMatchObject([{ runId: 'order-1', life: 2 }]);
      await begin(to, 'order-1', 'third');
      expect(await stateOf(to, 'order-1')).toEqual([3, ['third']]);
    },
  );

  it('do not end a later life that only the target has', async () => {
    const [from, to] = [memory(), memory()];
    await begin(from, 'order-1', 'first');
    await copyStore(from, to);
    await from.runs.deleteRun('order-1');
    await copyStore(from, to);
    await begin(to, 'order-1', 'second');
    await copyStore(from, to, { mirror: true });
    expect(await stateOf(to, 'order-1')).toEqual([2, ['second']]);
  });
});

/** Quarantines in SQL: a release is conditional on the entry that was read, and lists are in order (RUN-20). */
import type { QuarantineQuery } from '@tidemark/core/engine';
import { beforeEach, describe, expect, it } from 'vitest';
import { sqlQuarantines } from '../src/quarantines.ts';
import { eachTest, type TestStore } from './database.ts';

const CALL = {};
const RUN = { tenantId: 'acme', runId: 'r' };
const DAMAGE = { fromSeq: 5, reason: 'its leaf does not match', at: 1 };

let store: TestStore;
eachTest((_, opened) => {
  store = opened;
});

describe('quarantines', () => {
  let quarantines: ReturnType<typeof sqlQuarantines>;

  beforeEach(() => {
    let number = 0;
    quarantines = sqlQuarantines(store.database, async () => ++number);
  });

  it('are not released when the damage begins earlier than seen, nor a second time', async () => {
    const { entry: seen } = await quarantines.put(RUN, DAMAGE, CALL);
    const { entry: earlier, isNew } = await quarantines.put(RUN, { ...DAMAGE, fromSeq: 3 }, CALL);
    expect(isNew).toBe(false);
    expect(await quarantines.release(seen, CALL)).toBeNull();
    expect(await quarantines.release({ ...earlier, at: 2 }, CALL)).toBeNull();
    expect(await quarantines.find(RUN, CALL)).toMatchObject({ fromSeq: 3, state: 'quarantined', release: 0 });
    const released = await quarantines.release(earlier, CALL);
    expect(released).toMatchObject({ state: 'released' });
    expect(await quarantines.release(earlier, CALL)).toBeNull();
    expect(await quarantines.find(RUN, CALL)).toEqual(released);
    expect(await quarantines.put(RUN, { ...DAMAGE, fromSeq: 7 }, CALL)).toMatchObject({
      isNew: true,
      entry: { fromSeq: 3, state: 'quarantined', release: 0 },
    });
  });

  it('are listed by tenant and state, in order of tenant and run, after a run and up to a limit', async () => {
    const runs = [
      { tenantId: 'b', runId: '1' },
      { tenantId: 'a', runId: '2' },
      { tenantId: 'a', runId: '1' },
    ];
    for (const run of runs) await quarantines.put(run, DAMAGE, CALL);
    await quarantines.release((await quarantines.find(runs[2]!, CALL))!, CALL);
    const list = async (query: Partial<QuarantineQuery>) =>
      (await quarantines.list({ limit: 10, ...query }, CALL)).map(({ tenantId, runId }) => `${tenantId}${runId}`);
    expect(await list({})).toEqual(['a1', 'a2', 'b1']);
    expect(await list({ state: 'quarantined' })).toEqual(['a2', 'b1']);
    expect(await list({ state: 'released' })).toEqual(['a1']);
    expect(await list({ tenantId: 'a' })).toEqual(['a1', 'a2']);
    expect(await list({ after: runs[2]! })).toEqual(['a2', 'b1']);
    expect(await list({ limit: 2 })).toEqual(['a1', 'a2']);
  });

  it('of a tenant are returned while quarantined, and after their release to readers that have not seen it', async () => {
    for (const runId of ['1', '2', '3']) await quarantines.put({ tenantId: 'a', runId }, DAMAGE, CALL);
    await quarantines.put({ tenantId: 'b', runId: '4' }, DAMAGE, CALL);
    // The four quarantines have the numbers 1 to 4.
    for (const runId of ['1', '2'])
      await quarantines.release((await quarantines.find({ tenantId: 'a', runId }, CALL))!, CALL);
    const current = async (tenantId: string | null, afterRelease: number | null) =>
      (await quarantines.current(tenantId, afterRelease, CALL)).entries.map(({ runId }) => runId).sort();
    expect((await quarantines.current(null, null, CALL)).newest).toBe(6);
    expect((await quarantines.current('b', null, CALL)).newest).toBe(0);
    expect(await current(null, null)).toEqual(['3', '4']);
    expect(await current(null, 0)).toEqual(['1', '2', '3', '4']);
    expect(await current('a', 5)).toEqual(['2', '3']);
    expect(await current('a', 6)).toEqual(['3']);
  });
});

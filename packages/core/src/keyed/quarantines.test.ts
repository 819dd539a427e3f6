/** A release applies only to the quarantine that was read (RUN-20). */
import { expect, it } from 'vitest';
import type { QuarantineQuery } from '../engine/quarantines.ts';
import type { Records } from '../engine/records.ts';
import { memoryRecords } from '../memory/records.ts';
import { StoreContext } from '../tools/context.ts';
import { withCalls } from '../tools/with-calls.ts';
import { KeyedQuarantines } from './quarantines.ts';

const CALL = {};
const RUN = { tenantId: 'acme', runId: 'r' };
const DAMAGE = { fromSeq: 5, reason: 'its leaf does not match', at: 1 };

it('does not release if the damage begins earlier than seen, or a second time', async () => {
  const quarantines = new KeyedQuarantines(memoryRecords(new StoreContext()));
  const { entry: seen } = await quarantines.put(RUN, DAMAGE, CALL);
  const { entry: earlier } = await quarantines.put(RUN, { ...DAMAGE, fromSeq: 3 }, CALL);
  expect(await quarantines.release(seen, CALL)).toBeNull();
  expect(await quarantines.find(RUN, CALL)).toMatchObject({ fromSeq: 3, state: 'quarantined' });
  expect(await quarantines.release(earlier, CALL)).toMatchObject({ state: 'released', release: 2 });
  expect(await quarantines.release(earlier, CALL)).toBeNull();
  expect(await quarantines.find(RUN, CALL)).toMatchObject({ release: 2 });
});

it('lists entries by tenant and state, in order of tenant and run, after a run and up to a limit', async () => {
  const quarantines = new KeyedQuarantines(memoryRecords(new StoreContext()));
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

it('reports the quarantined runs of a tenant, and runs released after a number', async () => {
  const quarantines = new KeyedQuarantines(memoryRecords(new StoreContext()));
  for (const runId of ['1', '2', '3']) await quarantines.put({ tenantId: 'a', runId }, DAMAGE, CALL);
  await quarantines.put({ tenantId: 'b', runId: '4' }, DAMAGE, CALL);
  // The four quarantines have the numbers 1 to 4.
  for (const runId of ['1', '2'])
    await quarantines.release((await quarantines.find({ tenantId: 'a', runId }, CALL))!, CALL);
  const current = async (tenantId: string | null, afterRelease: number | null) => {
    const { newest, entries } = await quarantines.current(tenantId, afterRelease, CALL);
    return [newest, entries.map(({ runId }) => runId).sort()];
  };
  expect(await current(null, null)).toEqual([6, ['3', '4']]);
  expect(await current(null, 0)).toEqual([6, ['1', '2', '3', '4']]);
  expect(await current('a', 5)).toEqual([6, ['2', '3']]);
  expect(await current('a', 6)).toEqual([6, ['3']]);
  expect(await current('b', 0)).toEqual([0, ['4']]);
});

it('writes nothing when nothing changes', async () => {
  const records = memoryRecords(new StoreContext());
  let writes = 0;
  const write: Records['write'] = (it) => {
    writes++;
    return records.write(it);
  };
  const quarantines = new KeyedQuarantines(withCalls<Records>(records, { write }));
  expect(await quarantines.put(RUN, DAMAGE, CALL)).toMatchObject({ isNew: true });
  expect(await quarantines.put(RUN, DAMAGE, CALL)).toMatchObject({ isNew: false });
  await quarantines.remove({ ...RUN, runId: 'other' }, CALL);
  await quarantines.eraseTenant('other', CALL);
  expect(writes).toBe(1);
  await quarantines.eraseTenant(RUN.tenantId, CALL);
  expect([writes, await quarantines.find(RUN, CALL)]).toEqual([2, null]);
});

/** Leftovers of killed writers and removals on backends whose batches take several steps, and their repair. */
import { describe, expect, it, vi } from 'vitest';
import { createArtifacts } from '../artifacts/store.ts';
import { memoryBlobs } from '../memory/blobs.ts';
import { memoryRecords } from '../memory/records.ts';
import { StoreContext } from '../tools/context.ts';
import { keyedArtifacts } from './artifacts.ts';

const CALL = {};
const TENANT = 'default';

async function oneArtifact() {
  const context = new StoreContext();
  const records = memoryRecords(context);
  const engine = keyedArtifacts(context, records, memoryBlobs(context), { stepwise: true });
  const store = createArtifacts(context, engine, TENANT, false);
  const { id } = await store.putBytes(Buffer.from('bytes'), { scope: { sessionId: 's1', traceId: 't1' }, ttl: null });
  const keys = async () =>
    (await records.scan('artifacts', TENANT, { prefix: '', after: null, limit: 100 })).map(({ key }) => key);
  const lose = (key: string) =>
    records.write({ name: { space: 'artifacts', tenantId: TENANT, key }, mode: 'delete', set: new Map() });
  return { engine, store, records, id, keys, lose };
}

it('the references of a tenant are not read to erase a session without artifacts', async () => {
  const { engine, records } = await oneArtifact();
  const scan = vi.spyOn(records, 'scan');
  expect(await engine.eraseRefs(TENANT, { sessionId: 's2' }, 10, CALL)).toBe(0);
  expect(scan.mock.calls.map(([, , { prefix }]) => prefix)).not.toContain('ref/');
});

describe('leftovers of an artifact after a crash', () => {
  it('a reference without an entry is listed again after a sweep', async () => {
    const { engine, store, id, keys, lose } = await oneArtifact();
    const all = await keys();
    for (const key of [`session/s1/${id}`, `trace/t1/${id}`]) {
      await lose(key);
      await engine.sweep(null, Date.now(), 0, CALL);
      expect(await keys()).toEqual(all);
    }
    expect((await store.list({ sessionId: 's1' })).items.map((item) => item.id)).toEqual([id]);
  });

  it('an entry without a reference is removed by the erasure of its session only', async () => {
    const { engine, id, keys, lose } = await oneArtifact();
    await lose(`ref/${id}`);
    await engine.eraseRefs(TENANT, { sessionId: 's2' }, 10, CALL);
    await engine.eraseRefs(TENANT, {}, 10, CALL);
    expect(await keys()).toEqual([`session/s1/${id}`, `trace/t1/${id}`]);
    await engine.eraseRefs(TENANT, { sessionId: 's1' }, 10, CALL);
    expect(await keys()).toEqual([`trace/t1/${id}`]);
  });

  it('an entry without session and trace is removed by a sweep once its reference is gone', async () => {
    const { engine, store, keys, lose } = await oneArtifact();
    const kept = await store.putText('kept', { ttl: null });
    const { id } = await store.putText('lost', { ttl: null });
    await lose(`ref/${id}`);
    expect(await keys()).toContain(`unscoped/${id}`);
    await engine.sweep(null, Date.now(), 3_600_000, CALL);
    const left = (await keys()).filter((key) => key.startsWith('unscoped/'));
    expect(left).toEqual([`unscoped/${kept.id}`]);
  });
});

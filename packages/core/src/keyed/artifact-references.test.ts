/** Lists of artifact references that span several pages of the index. */
import { expect, it } from 'vitest';
import type { ArtifactRow } from '../engine/artifacts.ts';
import type { RecordWrite } from '../engine/records.ts';
import { memoryRecords } from '../memory/records.ts';
import { StoreContext } from '../tools/context.ts';
import { withCalls } from '../tools/with-calls.ts';
import { KeyedReferences } from './artifact-references.ts';

const CALL = {};

function row(n: number, userId: string): ArtifactRow {
  return {
    ...{ id: `id-${String(n).padStart(4, '0')}`, sha256: 'f'.repeat(64), sizeBytes: 1 },
    ...{ mimeType: null, filename: null, namespace: null, source: '{}', expiresAt: null, createdAt: 1, accessedAt: 1 },
    ...{ scopeTenantId: null, userId, sessionId: 's', traceId: null },
  };
}

/** The index is read 500 entries at a time. */
it('finds a match after any number of full pages without one', async () => {
  const context = new StoreContext();
  const references = new KeyedReferences(context, memoryRecords(context), {});
  const last = 1_000;
  for (let n = 0; n < last; n++) await references.put('t', row(n, 'other'), CALL);
  const list = (match: object, after: string | null, limit: number) =>
    references.listRefs('t', match, { after, limit }, CALL);
  expect(await list({ userId: 'ada' }, null, 10)).toEqual([]);
  await references.put('t', row(last, 'ada'), CALL);
  const ids = async (...range: Parameters<typeof list>) => (await list(...range)).map(({ id }) => id);
  expect(await ids({ userId: 'ada' }, null, 10)).toEqual([row(last, 'ada').id]);
  expect(await ids({ sessionId: 's', userId: 'ada' }, null, 10)).toEqual([row(last, 'ada').id]);
  expect(await ids({}, null, 2_000)).toHaveLength(last + 1);
  expect(await ids({}, 'id-0499', 2)).toEqual(['id-0500', 'id-0501']);
  expect(await ids({ sessionId: 's' }, 'id-0998', 10)).toEqual(['id-0999', 'id-1000']);
});

/** A reference removed between two steps of a batch must not leave its new version without index entries. */
it.each([
  [false, ['session', 'ref']],
  [true, ['session', 'ref', 'session']],
])('with stepwise batches %s, writes %j', async (stepwise, wanted) => {
  const context = new StoreContext();
  const records = memoryRecords(context);
  const batches: RecordWrite[][] = [];
  const noting = withCalls(records, {
    batch: (writes: RecordWrite[]) => {
      batches.push(writes);
      return records.batch(writes);
    },
  });
  await new KeyedReferences(context, noting, { stepwise }).put('t', row(1, 'ada'), CALL);
  expect(batches[0]!.map(({ name }) => name.key.split(/[^a-z]/)[0])).toEqual(wanted);
});

it('finds unscoped references only where neither a session nor a trace is set', async () => {
  const context = new StoreContext();
  const references = new KeyedReferences(context, memoryRecords(context), {});
  const scopes = [
    { sessionId: null, traceId: null },
    { sessionId: 's', traceId: null },
    { sessionId: null, traceId: 'tr' },
    { sessionId: 's', traceId: 'tr' },
  ];
  for (const [n, scope] of scopes.entries()) await references.put('t', { ...row(n, 'ada'), ...scope }, CALL);
  const list = async (match: object) =>
    (await references.listRefs('t', match, { after: null, limit: 10 }, CALL)).map(({ id }) => Number(id.slice(3)));
  expect(await list({ isUnscoped: true })).toEqual([0]);
  expect(await list({ sessionId: 's' })).toEqual([1, 3]);
  expect(await list({ traceId: 'tr' })).toEqual([2, 3]);
  expect(await list({ sessionId: 's', traceId: 'tr' })).toEqual([3]);
});

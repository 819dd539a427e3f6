/** Lists of artifact references that span several pages of the index. */
import { expect, it } from 'vitest';
import type { ArtifactRow } from '../engine/artifacts.ts';
import { memoryRecords } from '../memory/records.ts';
import { StoreContext } from '../tools/context.ts';
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

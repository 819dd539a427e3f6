/** Listing and counting the artifacts of all tenants, for an operator (GEN-10, AGT-11). */
import type { ArtifactTotals, StoredArtifact } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { casesOf, expectField } from '../agents/samples.ts';
import { bytesOf } from '../artifacts/samples.ts';
import { allPages } from '../iterate.ts';

const artifactCase = casesOf('general', 'admin', 'artifacts');

function inOrder(left: StoredArtifact, right: StoredArtifact): number {
  const order = Buffer.compare(Buffer.from(left.tenantId), Buffer.from(right.tenantId));
  return order || (left.id < right.id ? -1 : 1);
}

/** Bytes that a codec may add to a few artifacts. */
const CODEC_BYTES = 4_096;

/** Compares totals. Bytes are those that are stored, so a codec may have added some. */
function expectTotals(actual: readonly ArtifactTotals[], expected: readonly ArtifactTotals[], what: string): void {
  const withoutBytes = (totals: readonly ArtifactTotals[]) => totals.map(({ bytes: _, ...rest }) => rest);
  expectEqual(withoutBytes(actual), withoutBytes(expected), what);
  for (const [at, { bytes }] of actual.entries()) {
    const added = bytes - expected[at]!.bytes;
    expect(added >= 0 && added <= CODEC_BYTES, `${what}: ${bytes} bytes for ${expected[at]!.bytes} stored`);
  }
}

export const ARTIFACT_LISTING_CASES: readonly ConformanceCase[] = [
  artifactCase({
    id: 'general/admin-lists-artifacts',
    title: 'an operator lists the artifacts of one tenant or of all, each once and in order',
    proves: ['GEN-10', 'AGT-11'],
    async run({ store, id }) {
      const [one, two, none] = [id('tenant-a'), id('tenant-b'), id('tenant-c')];
      const stored: StoredArtifact[] = [];
      for (const tenantId of [two, one]) {
        const { artifacts } = store.forTenant(tenantId);
        for (const [n, scope] of [{}, { sessionId: 's' }, { userId: 'u', traceId: 't' }].entries()) {
          const ref = await artifacts.putText(`text ${n}`, { scope, ttl: null, filename: `${n}.txt`, source: { n } });
          const { sha256: _, source: __, ...listed } = ref;
          stored.push({ tenantId, ...listed });
        }
      }
      stored.sort(inOrder);
      for (const limit of [1, 2, 100]) {
        const all = await allPages((cursor) => store.admin.listArtifacts({ cursor, limit }));
        const ours = all.filter(({ tenantId }) => tenantId === one || tenantId === two);
        expectEqual(ours, stored, `pages of ${limit} list all artifacts of all tenants in order`);
        const ofOne = await allPages((cursor) => store.admin.listArtifacts({ tenantId: one, cursor, limit }));
        const expected = stored.filter(({ tenantId }) => tenantId === one);
        expectEqual(ofOne, expected, `pages of ${limit} list the artifacts of the named tenant`);
        const inView = await allPages((cursor) => store.forTenant(one).admin.listArtifacts({ cursor, limit }));
        expectEqual(inView, expected, `pages of ${limit} list the artifacts of the view's tenant`);
      }
      expectEqual((await store.admin.listArtifacts({ tenantId: none })).items, [], 'an unknown tenant has none');
    },
  }),

  artifactCase({
    id: 'general/admin-artifact-lists-stay-in-the-view',
    title: 'a view lists and counts only its own artifacts, even with a cursor of another tenant',
    proves: ['GEN-10'],
    async run({ store, id }) {
      const [own, other] = [id('tenant-a'), id('tenant-b')];
      for (const tenantId of [own, other]) {
        for (const n of [1, 2, 3]) await store.forTenant(tenantId).artifacts.putText(`text ${n}`, { ttl: null });
      }
      const { admin } = store.forTenant(own);
      const foreign = (await store.admin.listArtifacts({ tenantId: other, limit: 1 })).next!;
      expect(foreign, 'there is a cursor of the other tenant');
      for (const list of [
        (cursor: string) => admin.listArtifacts({ cursor }),
        (cursor: string) => store.admin.listArtifacts({ tenantId: own, cursor }),
      ]) {
        const error = await expectCode('INVALID_ARGUMENT', 'a cursor of another tenant is refused', () =>
          list(foreign),
        );
        expectField(error, 'cursor');
      }
      for (const call of [admin.listArtifacts, admin.artifactTotals])
        await expectCode('TENANT_MISMATCH', 'another tenant is refused', () => call({ tenantId: other }));
      const totals = await admin.artifactTotals();
      expectEqual(
        totals.items.map(({ tenantId }) => tenantId),
        [own],
        'a view counts its own tenant',
      );
      expectEqual(totals.next, undefined, 'there is no second page');
    },
  }),

  artifactCase({
    id: 'general/admin-counts-artifacts',
    title: 'totals count live references, and shared bytes once per tenant',
    proves: ['AGT-11', 'GEN-10'],
    async run({ store, id }) {
      const [one, two] = [id('tenant-a'), id('tenant-b')];
      const { artifacts } = store.forTenant(one);
      const large = bytesOf(300_000);
      await artifacts.putBytes(large, { scope: { sessionId: 's1' }, ttl: null });
      await artifacts.putBytes(large, { scope: { sessionId: 's2' }, ttl: null });
      await artifacts.putBytes(large, { scope: { userId: 'u' }, ttl: null });
      const { id: deleted } = await artifacts.putText('deleted', { ttl: null });
      await artifacts.delete(deleted);
      await store.forTenant(two).artifacts.putText('12345', { ttl: null });
      const expected = [
        { tenantId: one, references: 3, blobs: 2, bytes: large.length + 'deleted'.length },
        { tenantId: two, references: 1, blobs: 1, bytes: 5 },
      ];
      for (const limit of [1, 100]) {
        const all = await allPages((cursor) => store.admin.artifactTotals({ cursor, limit }));
        const ours = all.filter(({ tenantId }) => tenantId === one || tenantId === two);
        expectTotals(ours, expected, `pages of ${limit} count each tenant`);
      }
      const { items } = await store.admin.artifactTotals({ tenantId: two });
      expectTotals(items, [expected[1]!], 'one tenant is counted');
    },
  }),
];

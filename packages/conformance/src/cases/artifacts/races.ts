/** Artifacts stored, deleted, swept and erased concurrently: acknowledged artifacts stay (AGT-11). */
import { type ArtifactRef, type ArtifactStore, isTidemarkError } from '@tidemark/core';
import { expect, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { casesOf } from '../agents/samples.ts';
import { stopwatch } from '../stopwatch.ts';
import { bytesOf, expectThere, inPieces, sameBytes } from './samples.ts';

const GRACE = 1_500;
/** One chunk and several, because engines may store them differently. */
const SIZES = [3_000, 300_000];
const SHARED = 4;
const MAX_PUTS = 20;

const artifacts = casesOf('artifacts', 'artifacts');
const erasure = casesOf('artifacts', 'artifacts', 'admin');

async function peerArtifacts(bench: Bench): Promise<ArtifactStore> {
  return (await bench.peer()).forTenant(bench.tenantId).artifacts;
}

async function expectReadable(store: ArtifactStore, ref: ArtifactRef, bytes: Uint8Array, when: string): Promise<void> {
  expect(sameBytes(await store.get(ref.id), bytes), `an acknowledged artifact is readable ${when}`);
}

/** Retries a put whose upload was swept, which stores nothing and fails. */
async function untilStored(put: () => Promise<ArtifactRef>): Promise<ArtifactRef> {
  for (let tries = 1; ; tries++) {
    try {
      return await put();
    } catch (error) {
      if (tries === MAX_PUTS || !isTidemarkError(error, 'UNAVAILABLE')) throw error;
    }
  }
}

export const ARTIFACT_RACE_CASES: ConformanceCase[] = [
  artifacts({
    id: 'artifacts/bytes-put-again-are-young-again',
    title: 'Storing bytes again resets their age, so that a sweep keeps them for its grace period',
    proves: ['AGT-11'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      const bytes = bytesOf(5_000, 79);
      await store.putBytes(bytes, { ttl: null });
      await bench.pass(GRACE + 100);
      const isYoung = stopwatch(GRACE);
      const again = await store.putBytes(bytes, { ttl: null });
      await store.delete(again.id);
      const { blobs } = await store.sweep({ grace: GRACE });
      if (isYoung()) expectEqual(blobs, 0, 'bytes that were just stored again stay for the grace period');
      await bench.pass(GRACE + 100);
      await store.sweep({ grace: GRACE });
      const stored = await store.putBytes(bytes, { ttl: null });
      await expectReadable(store, stored, bytes, 'when its bytes were swept before');
    },
  }),

  erasure({
    id: 'artifacts/erased-with-their-bytes',
    title: 'Erasing a session immediately removes the bytes that only it referenced',
    proves: ['AGT-11'],
    async run(bench) {
      const { artifacts: store, admin } = bench.tenant;
      for (const [n, size] of SIZES.entries())
        await store.putBytes(bytesOf(size, 90 + n), { scope: { sessionId: 'erased' }, ttl: null });
      await admin.eraseSession('erased');
      await bench.pass(10);
      expectEqual((await store.sweep({ grace: 1 })).blobs, 0, 'nothing is left for a sweep');
    },
  }),

  erasure({
    id: 'artifacts/erasure-beside-puts',
    title: 'Erasing a session never removes bytes that another session is storing',
    proves: ['AGT-11'],
    async run(bench) {
      const { artifacts: store, admin } = bench.tenant;
      const peer = await peerArtifacts(bench);
      for (const [n, size] of SIZES.entries()) {
        const contents = Array.from({ length: SHARED }, (_, at) => bytesOf(size, 1_000 * (n + 1) + at));
        for (const bytes of contents) await store.putBytes(bytes, { scope: { sessionId: 'erased' } });
        const put = async (bytes: Uint8Array, at: number) => {
          const options = { scope: { sessionId: `kept ${at}` } };
          return at % 2 === 0 ? peer.putBytes(bytes, options) : peer.putStream(inPieces(bytes, [10, 1_000]), options);
        };
        const [refs] = await Promise.all([Promise.all(contents.map(put)), admin.eraseSession('erased')]);
        for (const [at, ref] of refs.entries()) await expectReadable(store, ref, contents[at]!, 'after the erasure');
        expectEqual((await store.list({ sessionId: 'erased' })).items, [], 'the session is erased');
      }
    },
  }),

  artifacts({
    id: 'artifacts/sweeps-beside-puts',
    title: 'A sweep with the shortest grace period never removes bytes that are being stored',
    proves: ['AGT-11'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      const peer = await peerArtifacts(bench);
      for (const [n, size] of SIZES.entries()) {
        const bytes = bytesOf(size, 2_000 + n);
        await store.delete((await store.putBytes(bytes)).id);
        await bench.pass(10);
        const puts = Array.from({ length: SHARED }, (_, at) =>
          untilStored(() => peer.putBytes(bytes, { scope: { sessionId: `session ${at}` } })),
        );
        const [refs] = await Promise.all([Promise.all(puts), store.sweep({ grace: 1 }), store.sweep({ grace: 1 })]);
        for (const ref of refs) await expectReadable(store, ref, bytes, 'after the sweep');
      }
    },
  }),

  artifacts({
    id: 'artifacts/deletes-beside-puts',
    title: 'An artifact stored while it is deleted is visible to every kind of read, or to none',
    proves: ['AGT-11'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      const peer = await peerArtifacts(bench);
      const scope = { sessionId: 'session', traceId: 'trace' };
      const put = () => store.putText('stored and deleted', { scope });
      const ref = await put();
      for (let round = 0; round < 5; round++) {
        await Promise.all([put(), peer.delete(ref.id)]);
        const isThere = await store.exists(ref.id);
        await expectThere(store, ref, isThere, scope);
        await expectThere(peer, ref, isThere, { sessionId: 'session' });
      }
      await put();
      await expectThere(peer, ref, true, scope);
    },
  }),
];

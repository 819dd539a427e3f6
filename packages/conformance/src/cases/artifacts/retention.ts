/**
 * Retention of artifacts: expiry to the millisecond, sweeps after a grace period, least recently used evicted (AGT-11).
 */
import type { ArtifactRef } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { casesOf, expectField } from '../agents/samples.ts';
import { stopwatch } from '../stopwatch.ts';
import { bytesOf, expectThere, listed, sameBytes, TEXT } from './samples.ts';

const TTL = 1_500;

const artifacts = casesOf('artifacts', 'artifacts');

export const RETENTION_CASES: ConformanceCase[] = [
  artifacts({
    id: 'artifacts/gone-at-its-millisecond',
    title: 'An artifact exists until its expiry and is gone from that millisecond onwards',
    proves: ['AGT-11'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      const isFresh = stopwatch(TTL);
      const ref = await store.putText(TEXT, { ttl: TTL });
      const kept = await store.putText('kept', { ttl: null });
      expectEqual(Date.parse(ref.expiresAt!) - Date.parse(ref.createdAt), TTL, 'a reference tells when it expires');
      await bench.pass(TTL / 3);
      const isThere = expectThere(store, ref, true);
      await isThere.catch((error) => (isFresh() ? Promise.reject(error) : undefined));
      await bench.pass(TTL - TTL / 3);
      await expectThere(store, ref, false);
      expectEqual(await store.delete(ref.id), false, 'an expired artifact cannot be deleted');
      await expectThere(store, kept, true);
    },
  }),

  artifacts({
    id: 'artifacts/kept-for-an-hour',
    title: 'An artifact is kept for its ttl: an hour by default, forever with null',
    proves: ['AGT-11'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      const usual = await store.putText('usual');
      expectEqual(Date.parse(usual.expiresAt!) - Date.parse(usual.createdAt), 3_600_000, 'an hour is the default');
      const day = await store.putText('day', { ttl: '1d' });
      expectEqual(Date.parse(day.expiresAt!) - Date.parse(day.createdAt), 86_400_000, 'a duration may be text');
      expectEqual((await store.putText('ever', { ttl: null })).expiresAt, null, 'null keeps it forever');
    },
  }),

  artifacts({
    id: 'artifacts/swept-when-expired',
    title: 'A sweep removes expired references and the bytes that nothing references any more',
    proves: ['AGT-11'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      const bytes = bytesOf(5_000, 77);
      const gone = await store.putBytes(bytes, { ttl: TTL });
      const stays = await store.putText(TEXT, { ttl: '1h' });
      await bench.pass(TTL + 10);
      const removed = await store.sweep({ grace: 1 });
      expect(removed.references >= 1, 'the expired reference is removed');
      expect(removed.blobs >= 1 && removed.bytes >= bytes.length, 'the bytes are removed after the grace period');
      await expectThere(store, gone, false);
      await expectThere(store, stays, true);
      const again = await store.putBytes(bytes);
      expect(sameBytes(await store.get(again.id), bytes), 'the same bytes can be stored again');
    },
  }),

  artifacts({
    id: 'artifacts/swept-after-a-grace-period',
    title: 'A sweep keeps recent bytes, because their reference may not be stored yet',
    proves: ['AGT-11'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      await store.delete((await store.putBytes(bytesOf(5_000, 78))).id);
      await bench.pass(10);
      const removed = await store.sweep({ grace: '36500d' });
      expectEqual(removed.blobs, 0, 'bytes younger than the grace period stay');
    },
  }),

  artifacts({
    id: 'artifacts/unscoped-are-limited',
    title: 'Artifacts without session and trace are limited per tenant, in number and in bytes',
    proves: ['AGT-11'],
    async run(bench) {
      const scoped = await bench.tenant.artifacts.putText('of a session', { scope: { sessionId: 'session' } });
      const few = bench.withRetention({ maxUnscopedCount: 3, maxUnscopedBytes: 1_000, strategy: 'fifo' });
      const refs: ArtifactRef[] = [];
      for (let n = 0; n < 5; n++) {
        const scope = n % 2 === 0 ? {} : { userId: 'user' };
        refs.push(await (few ?? bench.tenant).artifacts.putText(`text ${n}`, { scope }));
        await bench.pass(5);
      }
      // If the case cannot set limits, it can only show that the default is not small.
      for (const [n, ref] of refs.entries()) await expectThere(bench.tenant.artifacts, ref, few === null || n >= 2);
      await expectThere(bench.tenant.artifacts, scoped, true);
      const none = bench.withRetention({ maxUnscopedCount: 3, maxUnscopedBytes: 1_000, strategy: 'none' });
      if (none === null) return;
      expectEqual((await none.artifacts.putText('text 4')).id, refs[4]!.id, 'a stored artifact is renewed');
      const error = await expectCode('LIMIT_EXCEEDED', 'a fourth is refused', () => none.artifacts.putText('text 5'));
      expectField(error, 'scope');
      await none.artifacts.putText('text 5', { scope: { traceId: 'trace' } });
      expect(await none.artifacts.delete(refs[2]!.id), 'one is deleted');
      await expectCode('LIMIT_EXCEEDED', 'too many bytes are refused', () => none.artifacts.putBytes(bytesOf(990)));
      await none.artifacts.putBytes(bytesOf(900));
      expectEqual((await listed(none.artifacts)).length, 5, 'three without and two with a session or trace are left');
    },
  }),

  artifacts({
    id: 'artifacts/least-recently-used-goes',
    title: 'A trace keeps its 100 most recently used artifacts',
    proves: ['AGT-11'],
    async run(bench) {
      const store = bench.tenant.artifacts;
      const scope = { sessionId: 'session', traceId: 'trace' };
      const other = await store.putText('of another trace', { scope: { ...scope, traceId: 'other' } });
      const refs: ArtifactRef[] = [];
      for (let n = 0; n < 100; n++) {
        refs.push(await store.putText(`text ${n}`, { scope }));
        if (n < 2) await bench.pass(5);
      }
      await bench.pass(5);
      await store.get(refs[0]!.id);
      await bench.pass(5);
      const newest = await store.putText('text 100', { scope });
      await expectThere(store, refs[1]!, false);
      for (const ref of [refs[0]!, refs[2]!, refs[99]!, newest, other]) await expectThere(store, ref, true);
      expectEqual((await listed(store, scope)).length, 100, 'a trace holds 100');
    },
  }),
];

/** Watching a prefix: changes made after the call, in order for each key (KV-4). */

import type { KvChange } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import { expect, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { kvCase } from '../define.ts';
import { textsOf } from './fields.ts';

/** Long enough to be reported as a put first, short enough to wait for. */
const SHORT_MS = 200;

/** Returns a watch that is known to be live, because it has reported a change under its prefix. */
async function liveWatch(bench: Bench, prefix: string) {
  const controller = new AbortController();
  const changes = bench.tenant.kv.watch(prefix, { signal: controller.signal })[Symbol.asyncIterator]();
  let live = false;
  const first = changes.next().then((it) => {
    live = true;
    return it;
  });
  // A watch begins when the engine has subscribed. Writing until a change is reported finds that moment.
  for (let n = 0; !live; n++) {
    await bench.tenant.kv.put(`${prefix}warm-up`, { n });
    await sleep(5);
  }
  await first;
  return { changes, controller };
}

async function nextOf(changes: AsyncIterator<KvChange>, count: number): Promise<KvChange[]> {
  const seen: KvChange[] = [];
  while (seen.length < count) {
    const { value, done } = await changes.next();
    expect(!done, 'the watch continues until it is aborted');
    if (!value.key.endsWith('warm-up')) seen.push(value);
  }
  return seen;
}

export const WATCH_CASES: readonly ConformanceCase[] = [
  kvCase({
    id: 'kv/watch-reports-puts-and-deletes',
    title: 'a watch reports each put and delete under its prefix, and nothing else',
    proves: ['KV-4'],
    needs: ['kv.watch'],
    async run(bench) {
      const { changes, controller } = await liveWatch(bench, 'a.');
      const kv = bench.tenant.kv;
      await kv.put('b.other', { v: '0' });
      await kv.put('a.x', { v: '1' });
      await kv.setField('a.x', 'w', '2');
      await kv.compareAndSwap('a.x', 'v', 'wrong', 'never');
      await kv.delete('a.x');
      await kv.put('ab', { v: 'not under a.' });
      await kv.put('a.*', { v: '3' });
      // One more change than is read, so that a missed change causes a difference and not a long wait.
      await kv.put('a.z', { v: '4' });
      const seen = await nextOf(changes, 4);
      expectEqual(
        seen.map((it) => [it.key, it.type, textsOf(it.record)]),
        [
          ['a.x', 'put', { v: '1' }],
          ['a.x', 'put', { v: '1', w: '2' }],
          ['a.x', 'delete', null],
          ['a.*', 'put', { v: '3' }],
        ],
        'changes are in order, with the record of that time; a failed swap is not a change',
      );
      controller.abort();
    },
  }),
  kvCase({
    id: 'kv/watch-hears-other-clients',
    title: 'a watch reports writes of other clients, in its own tenant only',
    proves: ['KV-4', 'GEN-10'],
    needs: ['kv.watch'],
    async run(bench) {
      const peer = (await bench.peer()).forTenant(bench.tenantId);
      const stranger = bench.store.forTenant(bench.id('tenant'));
      const { changes, controller } = await liveWatch(bench, '');
      await stranger.kv.put('k', { v: 'foreign' });
      await peer.kv.put('k', { v: 'ours' });
      const [change] = await nextOf(changes, 1);
      expectEqual(
        [change?.key, textsOf(change?.record ?? null)],
        ['k', { v: 'ours' }],
        'the peer’s writes are reported, those of another tenant are not',
      );
      controller.abort();
    },
  }),
  kvCase({
    id: 'kv/watch-then-scan-misses-nothing',
    title: 'after a lost connection, watching again and then scanning returns the current state of every record',
    proves: ['KV-4'],
    needs: ['kv.watch'],
    async run(bench) {
      const peer = (await bench.peer()).forTenant(bench.tenantId);
      const first = await liveWatch(bench, 'r.');
      await peer.kv.put('r.before', { v: '1' });
      await nextOf(first.changes, 1);
      first.controller.abort();
      await peer.kv.put('r.between', { v: '2' });
      await peer.kv.delete('r.before');
      const { changes, controller } = await liveWatch(bench, 'r.');
      await peer.kv.put('r.after-the-watch', { v: '3' });
      const known = new Map<string, unknown>();
      for await (const { key, record } of bench.tenant.kv.scan('r.')) known.set(key, textsOf(record));
      await peer.kv.put('r.after-the-scan', { v: '4' });
      for (const { key, record } of await nextOf(changes, 2)) known.set(key, textsOf(record));
      controller.abort();
      known.delete('r.warm-up');
      expectEqual(
        Object.fromEntries(known),
        { 'r.between': { v: '2' }, 'r.after-the-watch': { v: '3' }, 'r.after-the-scan': { v: '4' } },
        'the scan has the missed changes, the watch the later ones',
      );
    },
  }),
  kvCase({
    id: 'kv/watch-reports-expiry',
    title: 'a watch reports expiry as an expiry and not as a delete',
    proves: ['KV-4', 'KV-2'],
    needs: ['kv.watch'],
    async run(bench) {
      const { kv } = bench.tenant;
      const { changes, controller } = await liveWatch(bench, 'e.');
      await kv.put('e.short', { v: '1' }, { ttl: SHORT_MS });
      await kv.put('e.stays', { v: '1' });
      await kv.put('e.touched', { v: '1' });
      await kv.touch('e.touched', SHORT_MS);
      const ends: KvChange[] = [];
      const listening = (async () => {
        while (ends.length < 2) for (const it of await nextOf(changes, 1)) if (it.type !== 'put') ends.push(it);
      })();
      await bench.pass(SHORT_MS);
      // Engines find expired records when they clean up; a read finds them immediately.
      await kv.getMany(['e.short', 'e.touched']);
      await listening;
      controller.abort();
      const told = ends.map(({ type, key, record }) => [type, key, record]).toSorted();
      expectEqual(
        told,
        [
          ['expire', 'e.short', null],
          ['expire', 'e.touched', null],
        ],
        'both have expired and are gone',
      );
    },
  }),
  kvCase({
    id: 'kv/watch-ends-when-aborted',
    title: 'a waiting watch ends when its signal aborts',
    proves: ['GEN-3', 'KV-4'],
    needs: ['kv.watch'],
    async run(bench) {
      const { changes, controller } = await liveWatch(bench, 'k.');
      const drained = (async () => {
        while (!(await changes.next()).done);
        return 'ended';
      })().catch((error: { code?: string }) => error.code);
      await sleep(20);
      controller.abort();
      const outcome = await drained;
      expect(outcome === 'ended' || outcome === 'ABORTED', `the watch ends or fails with ABORTED, not with ${outcome}`);
    },
  }),
];

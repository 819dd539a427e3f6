/** Codec keys: old keys stay readable, and destroying a key makes its payloads unreadable. */
import { randomBytes } from 'node:crypto';
import { encryption, type FeedOptions, type KeyRing } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { generalCase, runsCase } from '../define.ts';
import { runEvent } from '../runs/events.ts';
import { feedMark, pagedFeed } from '../runs/feed-pages.ts';
import { keptPayloads } from './kept-payloads.ts';

export const KEY_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/feed-passes-over-destroyed-keys',
    title: 'The feed stops at an event whose key was destroyed, or skips it if requested',
    proves: ['GEN-10'],
    needs: ['payloadCodec', 'runs.feed'],
    async run(bench) {
      const rings = new Map<string, KeyRing>([[bench.tenantId, { keys: { a: randomBytes(32) }, current: 'a' }]]);
      const store = bench.encoded(encryption({ keyFor: (tenantId) => rings.get(tenantId) ?? null }));
      const runId = bench.id('run');
      const eventType = bench.id('type');
      const own = { cursor: await feedMark(bench), filter: { eventTypes: [eventType] } };
      await store.runs.appendEvent(runEvent(bench, { runId, eventType, payload: { n: 1 } }));
      await store.runs.appendEvent(runEvent(bench, { runId, eventType }));
      rings.delete(bench.tenantId);
      const read = async (options: FeedOptions) =>
        (await pagedFeed(store, 1, options)).map(({ event }) => event.runSeq);
      await expectCode('CODEC_FAILED', 'nothing is skipped by default', () => read(own));
      expectEqual(await read({ ...own, unreadable: 'skip' }), [2], 'an event without a payload needs no key');
      await expectCode('INVALID_ARGUMENT', 'another value is refused', () =>
        read({ ...own, unreadable: 'keep' as 'skip' }),
      );
      // It would stop readers without this codec in later cases too.
      await bench.tenant.runs.deleteRun(runId);
    },
  }),

  generalCase({
    id: 'general/codec-keys-are-changed',
    title: 'After a key rotation, old payloads are read with the old key and new ones are written with the new',
    proves: ['GEN-4'],
    needs: ['payloadCodec'],
    async run(bench) {
      const keys = { old: randomBytes(32), new: randomBytes(32) };
      const before = bench.encoded(encryption({ keys, current: 'old' }));
      const after = bench.encoded(encryption({ keys, current: 'new' }));
      const retired = bench.encoded(encryption({ keys: { new: keys.new }, current: 'new' }));
      for (const { name, save, load } of keptPayloads(bench)) {
        const [older, newer] = [bench.id(), bench.id()];
        await save(before, older, { text: 'old' });
        await save(after, newer, { text: 'new' });
        expectEqual<unknown>(await load(after, older), { text: 'old' }, `the old ${name} is read`);
        expectEqual<unknown>(
          await load(retired, newer),
          { text: 'new' },
          `the new ${name} cannot be read with the old key`,
        );
        const error = await expectCode('CODEC_FAILED', `the old ${name} can be read with the old key`, () =>
          load(retired, older),
        );
        expectEqual(error.keyId, 'old', 'the error names the key');
      }
    },
  }),

  generalCase({
    id: 'general/codec-key-destroyed',
    title: 'A tenant whose key is destroyed can be deleted but neither read nor written; other tenants are unaffected',
    proves: ['GEN-10'],
    needs: ['payloadCodec', 'runs', 'memory'],
    async run(bench) {
      const rings = new Map<string, KeyRing>();
      const codec = encryption({ keyFor: (tenantId) => rings.get(tenantId) ?? null });
      const store = bench.encoded(codec);
      rings.set(bench.tenantId, { keys: { own: randomBytes(32) }, current: 'own' });
      const [runId, key] = [bench.id('run'), bench.id('key')];
      const event = runEvent(bench, { runId, payload: { text: 'secret' } });
      await store.runs.appendEvent(event);
      await store.agents.saveMemoryState(key, { text: 'secret' });
      rings.delete(bench.tenantId);
      await expectCode('CODEC_FAILED', 'events are unreadable', () => store.runs.fetchEvents(runId));
      await expectCode('CODEC_FAILED', 'memory is unreadable', () => store.agents.loadMemoryState(key));
      await expectCode('CODEC_FAILED', 'nothing is written in plain text', () => store.runs.appendEvent({ ...event }));
      expectEqual(await store.runs.headSeq(runId), 1, 'nothing was written');
      expect((await store.runs.verify(runId)).ok, 'the chain is verified without the key');
      expect(await store.runs.deleteRun(runId), 'the run can be deleted');
      expect(await store.agents.deleteMemoryState(key), 'the memory state can be deleted');
    },
  }),
];

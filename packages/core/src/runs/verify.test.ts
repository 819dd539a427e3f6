/** Reports of `verify`: their fields, and payloads that this store cannot decode. */
import { expect, it } from 'vitest';
import { codecFailed } from '../codec/failure.ts';
import type { PayloadCodec } from '../contracts/codec.ts';
import { memoryStore } from '../memory/store.ts';
import { withRuns } from '../store.ts';

it('checks the chain, and does not compare the snapshot, when payloads of events cannot be decoded', async () => {
  let canDecode = true;
  const codec: PayloadCodec = {
    encrypts: false,
    formOf: () => 'plain',
    encode: (payload) => payload,
    decode: (payload, context) => {
      if (context.kind === 'event' && !canDecode) throw codecFailed(context, 'its key is missing', 'k1');
      return payload;
    },
  };
  const { runs } = memoryStore({ codec });
  for (let n = 1; n <= 3; n++) await runs.handle('r').append('Progress', { n });
  await runs.refreshSnapshot('r');
  expect(await runs.verify('r')).toMatchObject({ ok: true, events: 3, snapshot: { ok: true, runSeq: 3 } });
  canDecode = false;
  const report = await runs.verify('r');
  expect(report).toMatchObject({ ok: true, events: 3 });
  expect(report).not.toHaveProperty('snapshot');
});

it('reports a problem, a summary and a snapshot only if there is one', async () => {
  const { runs } = memoryStore();
  await runs.handle('r').append('Progress');
  expect(Object.keys(await runs.verify('r')).sort()).toEqual(['events', 'head', 'ok', 'runId', 'tenantId']);
});

it('reports a head whose link differs from that of the last event', async () => {
  const store = memoryStore();
  for (let n = 1; n <= 3; n++) await store.runs.handle('r').append('Progress', { n });
  const { runs } = withRuns(store, (engine) => ({
    head: async (...args) => {
      const head = await engine.head(...args);
      return head && 'link' in head ? { ...head, link: 'x'.repeat(32) } : head;
    },
  }))!;
  expect(await runs.verify('r')).toMatchObject({
    ...{ ok: false, events: 3 },
    problem: { runSeq: 3, reason: 'the link of the run does not match its last event' },
  });
});

it('reports why a stored snapshot is wrong: it cannot be decoded, or is ahead of the run', async () => {
  const store = memoryStore();
  for (let n = 1; n <= 3; n++) await store.runs.handle('r').append('Progress', { n });
  await store.runs.refreshSnapshot('r');
  const problemOf = async (change: object) => {
    const { runs } = withRuns(store, (engine) => ({
      loadSnapshot: async (...args) => {
        const snapshot = await engine.loadSnapshot(...args);
        return snapshot && { ...snapshot, ...change };
      },
      dropSnapshot: async () => {},
      saveSnapshot: async () => true,
    }))!;
    const report = await runs.verify('r');
    return report.snapshot?.ok === false ? report.snapshot.problem : report;
  };
  const [undecodable, ahead] = [await problemOf({ body: '{' }), await problemOf({ lastEventSeq: 9 })];
  expect(undecodable).toEqual(expect.any(String));
  expect(undecodable).not.toBe('it is ahead of the last event');
  expect(ahead).toEqual(expect.any(String));
});

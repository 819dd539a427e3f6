/** Reports of `verify`: their members, and payloads that this store cannot decode. */
import { expect, it } from 'vitest';
import { codecFailed } from '../codec/failure.ts';
import type { PayloadCodec } from '../contracts/codec.ts';
import { memoryStore } from '../memory/store.ts';

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

/** A store with a codec in cases that the conformance kit does not cover: projections, wrappers, and a missing key. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../memory/store.ts';
import { defineProjection } from '../projections/define.ts';
import { withCodec } from '../store.ts';
import { withTelemetry } from '../telemetry/with-telemetry.ts';
import { withRetries } from '../wrappers/retrying.ts';
import { encryption } from './encryption.ts';
import { isEnvelope } from './envelope.ts';

const SCOPE = { tenantId: 'acme' };
const keys = { k1: randomBytes(32), k2: randomBytes(32) };
const codec = encryption({ keys, current: 'k1' });

const total = defineProjection({
  name: 'total',
  version: 1,
  initial: { cents: 0 },
  on: {
    Paid(state, event) {
      state.cents += event.payload?.cents as number;
    },
  },
});

describe('a duplicate of a redacted event', () => {
  it.each([
    ['is compared with the payload when there is no codec', () => memoryStore(), false],
    ['is not compared when a codec encodes each payload differently', () => memoryStore({ codec }), undefined],
  ])('%s', async (_, open, payloadMatches) => {
    const store = open();
    const run = store.forTenant('acme').runs.handle('r');
    await run.append('Paid', { cents: 1 }, { idempotencyKey: 'k' });
    await store.forTenant('acme').runs.redactEvent('r', 1, { by: 'officer', reason: 'asked for' });
    const other = await run.append('Paid', { cents: 2 }, { idempotencyKey: 'k' });
    expect([other.idempotent, other.payloadMatches]).toEqual([true, payloadMatches]);
  });
});

describe('a store with a codec', () => {
  it.each([
    ['without wrappers', () => memoryStore({ codec })],
    ['with retries and telemetry', () => withTelemetry(withRetries(memoryStore({ codec })), {})],
  ])('%s, stores the states of projections encoded', async (_, open) => {
    const store = open();
    const run = store.runs.handle('run', SCOPE);
    await run.append('Paid', { cents: 5 });
    await total.refresh(store, 'run');
    await run.append('Paid', { cents: 7 });
    await total.refresh(store, 'run');
    expect((await total.get(store, 'run'))?.state).toEqual({ cents: 12 });
    const states: string[] = [];
    for await (const { record } of store.forTenant('acme').kv.scan('tidemark.projections.total.1.')) {
      states.push(Buffer.from(record.fields.state!).toString());
    }
    expect(states.map(isEnvelope)).toEqual([true]);
    await store.close();
  });

  it('returns results for a batch even if the payload of a duplicate is unreadable', async () => {
    const store = memoryStore({ codec });
    const run = store.runs.handle('run', SCOPE);
    await run.append('Paid', { cents: 5 }, { idempotencyKey: 'first' });
    const [stored] = await store.runs.fetchEvents('run');
    const { runSeq: _, persistedAt: __, ...first } = stored!;
    const second = { ...first, eventId: crypto.randomUUID(), idempotencyKey: 'second' };
    const later = withCodec(store, encryption({ keys: { k2: keys.k2 }, current: 'k2' }))!;
    const results = await later.runs.appendEvents([first, second]);
    expect(results).toMatchObject([
      { runSeq: 1, idempotent: true, payloadMatches: false },
      { runSeq: 2, idempotent: false, persisted: true },
    ]);
    await store.close();
  });

  it('rejects values that are not a codec', () => {
    for (const none of [null, {}, { keys: {}, current: 'k1' }, () => codec]) {
      expect(() => memoryStore({ codec: none as never })).toThrow(expect.objectContaining({ field: 'codec' }));
    }
  });

  it('encodes the payloads of a fork for the fork', async () => {
    const store = memoryStore({ codec });
    await store.runs.handle('run', SCOPE).append('Paid', { cents: 5 });
    await store.runs.forkRun('run', { toRunId: 'fork' });
    const [copy] = await store.runs.fetchEvents('fork');
    expect(copy?.payload).toEqual({ cents: 5 });
    await store.close();
  });
});

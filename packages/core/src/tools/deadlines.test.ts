/** Abandoned calls: the error that the caller receives, and whether the engine may still begin them (GEN-3, GEN-8). */
import { describe, expect, it } from 'vitest';
import type { EngineCall } from '../engine/call.ts';
import { DeadlineWatch } from './deadlines.ts';
import { writeCall } from './writes.ts';

const WRITE = writeCall(null, 'kv', 'put', ['key', { a: 1 }, { requestId: 'q' }]);
const never = new Promise<never>(() => {});

/** Abandons a call at its deadline, or when its signal aborts. */
function abandon(call: EngineCall, how: 'deadline' | 'signal', write: typeof WRITE | null): Promise<never> {
  const controller = new AbortController();
  Object.assign(call, how === 'deadline' ? { deadline: Date.now() } : { signal: controller.signal });
  const raced = new DeadlineWatch().race(never, call, write);
  controller.abort();
  return raced;
}

describe.each([
  ['deadline', 'TIMEOUT'],
  ['signal', 'ABORTED'],
] as const)('a call abandoned by its %s', (how, code) => {
  it('wrote nothing while it waited, and the engine no longer begins it', async () => {
    const call: EngineCall = { phase: 'waiting' };
    await expect(abandon(call, how, WRITE)).rejects.toMatchObject({ code, outcome: 'rejected' });
    expect(call.phase).toBe('given up');
  });

  it.each(['begun', undefined] as const)('has an unknown outcome in the phase %s, and stays in it', async (phase) => {
    const call: EngineCall = phase === undefined ? {} : { phase };
    const write = { domain: 'kv', method: 'put', args: ['key', { a: 1 }, { requestId: 'q' }] };
    await expect(abandon(call, how, WRITE)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', write });
    expect(call.phase).toBe(phase);
  });

  it('wrote nothing if it is a read', async () => {
    await expect(abandon({}, how, null)).rejects.toMatchObject({ code });
  });
});

it('settles like the promise until then', async () => {
  const watch = new DeadlineWatch();
  const call = { deadline: Date.now() + 60_000 };
  expect(await watch.race(Promise.resolve(7), call, WRITE)).toBe(7);
  await expect(watch.race(Promise.reject(new Error('x')), call, WRITE)).rejects.toThrow('x');
});

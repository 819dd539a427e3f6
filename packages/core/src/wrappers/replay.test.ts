/** `error.write`, and the writes that `replay` rejects (GEN-8). Tests in runtime replay every write on all engines. */
import { describe, expect, it } from 'vitest';
import { isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import type { RunEventInput } from '../contracts/run-events.ts';
import type { Store } from '../contracts/store.ts';
import type { StoreWrite } from '../contracts/writes.ts';
import { memoryStore } from '../memory/store.ts';
import { assembleStore, engineOf } from '../store.ts';
import { StoreContext } from '../tools/context.ts';
import { withCalls } from '../tools/with-calls.ts';
import { isReplayable, replay } from './replay.ts';

const LOST = new TidemarkError('OUTCOME_UNKNOWN', 'The reply was lost');

/** Returns a memory store whose runs, records and pauses execute each write and lose the reply. */
function lossy(): { store: Store; healthy: Store } {
  const healthy = memoryStore();
  const engine = engineOf(healthy)!;
  const losing = <T extends object>(part: T, ...names: (keyof T)[]): T =>
    new Proxy(part, {
      get: (target, name) => {
        const method = Reflect.get(target, name, target) as (...args: unknown[]) => Promise<unknown>;
        if (typeof method !== 'function') return method;
        if (!names.includes(name as keyof T)) return method.bind(target);
        return (...args: unknown[]) => method.apply(target, args).then(() => Promise.reject(LOST));
      },
    });
  const store = assembleStore(new StoreContext(), {
    ...engine,
    runs: losing(engine.runs!, 'append', 'remove'),
    kv: losing(engine.kv!, 'write'),
    agents: { ...engine.agents, pauses: losing(engine.agents!.pauses!, 'save', 'consume') },
  });
  return { store, healthy };
}

async function writeOf(call: Promise<unknown>): Promise<StoreWrite> {
  const error: unknown = await call.catch((it: unknown) => it);
  if (!isTidemarkError(error, 'OUTCOME_UNKNOWN')) throw error;
  return error.write!;
}

describe('error.write', () => {
  it('contains the ids that a handle generated, so that a replay is a duplicate', async () => {
    const { store, healthy } = lossy();
    const write = await writeOf(store.runs.handle('r').append('Progress', { n: 1 }, { timeoutMs: 1_000 }));
    expect(write).toMatchObject({ domain: 'runs', method: 'appendEvent', args: [{ eventType: 'Progress' }] });
    expect(write.args, 'its bounds belong to the first attempt').toHaveLength(1);
    expect(await replay(healthy, write)).toMatchObject({ idempotent: true, runSeq: 1 });
    expect(await healthy.runs.headSeq('r')).toBe(1);
  });

  it('contains conditions, but no signal or timeout', async () => {
    const { store, healthy } = lossy();
    await healthy.runs.handle('r').append('Progress');
    const { signal } = new AbortController();
    const write = await writeOf(store.runs.deleteRun('r', { expectedSeq: 1, signal, timeoutMs: 500 }));
    expect(write).toEqual({ domain: 'runs', method: 'deleteRun', args: ['r', { expectedSeq: 1 }] });
    expect(await replay(healthy, write), 'the first attempt deleted it').toBe(false);
  });

  it('is absent when the append joined a transaction of the caller', async () => {
    const engine = engineOf(memoryStore())!;
    const runs = withCalls(engine.runs!, { append: () => Promise.reject(LOST) });
    const store = assembleStore(new StoreContext(), { ...engine, runs });
    const event = { runId: 'r', tenantId: 'default', eventType: 'Progress', eventId: crypto.randomUUID() };
    const envelope = {
      projectId: 'p',
      environmentId: 'e',
      planId: 'plan',
      planVersion: '1',
      emittedAt: '2026-01-01T00:00:00.000Z',
    };
    const whole: RunEventInput = { ...event, ...envelope, engineAttemptId: 1, logicalAttemptId: 1 };
    const error: unknown = await store.runs.appendEvent(whole, { transaction: {} }).catch((it: unknown) => it);
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', write: undefined });
  });

  it('never contains the token of a pause', async () => {
    const { store, healthy } = lossy();
    const save = await writeOf(store.agents.savePlannerState('secret-token', { step: 1 }));
    const load = await writeOf(store.agents.loadPlannerState('secret-token'));
    for (const write of [save, load]) {
      expect(JSON.stringify(write)).not.toContain('secret-token');
      expect(write.args[0]).toMatchObject({ withheld: 'token', pauseId: expect.stringMatching(/^[0-9a-f]{64}$/) });
    }
    await expect(replay(healthy, load)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field: 'withheld' });
    expect(await replay(healthy, load, { withheld: 'secret-token' }), 'handed out once, to this load').toEqual({
      step: 1,
    });
    expect(await healthy.agents.loadPlannerState('secret-token')).toEqual({});
  });

  it('names the view it was made on, and is replayed on that view', async () => {
    const { store, healthy } = lossy();
    const write = await writeOf(store.forTenant('acme').kv.put('key', { a: '1' }, { requestId: 'q' }));
    expect(write.tenantId).toBe('acme');
    await expect(replay(healthy.forTenant('other'), write)).rejects.toMatchObject({
      code: 'TENANT_MISMATCH',
      field: 'write.tenantId',
    });
    await replay(healthy, write);
    expect(await healthy.kv.get('key')).toBeNull();
    expect((await healthy.forTenant('acme').kv.get('key'))?.revision).toBe(1);
  });
});

describe('replay', () => {
  it('rejects writes without a key or condition that settles them, and values that are not writes', async () => {
    const { store, healthy } = lossy();
    const write = await writeOf(store.kv.compareAndSwap('key', 'a', null, '1'));
    expect(isReplayable(write)).toBe(false);
    const refused = { code: 'INVALID_ARGUMENT', field: 'write' };
    await expect(replay(healthy, write)).rejects.toMatchObject(refused);
    for (const wrong of [
      undefined,
      { domain: 'kv', method: 'get', args: ['key'] },
      { domain: 'kv', method: 'toString', args: [] },
      { domain: 'runs', method: 'deleteRun' },
      { domain: '__proto__', method: 'put', args: [] },
      { domain: 'nothing', method: 'put', args: [] },
      { domain: 7, method: 'put', args: [] },
    ])
      await expect(replay(healthy, wrong as unknown as StoreWrite), JSON.stringify(wrong)).rejects.toMatchObject(
        refused,
      );
  });
});

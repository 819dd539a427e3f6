/**
 * Forks that are interrupted, retried or run concurrently with other writers, on a memory store with failing appends.
 */
import { describe, expect, it, vi } from 'vitest';
import { TidemarkError } from '../contracts/errors.ts';
import type { RunStore } from '../contracts/runs.ts';
import { memoryStore } from '../memory/store.ts';
import { forkRun } from './fork.ts';

async function origin(count = 450) {
  const { runs } = memoryStore();
  const run = runs.handle('a', { labels: { shop: 'berlin' } });
  await run.append('RunStarted', { by: 'ada' });
  await run.append('StepStarted', {}, { stepId: 's' });
  for (let n = 3; n <= count; n++) await run.append('Progress', { n }, { traceparent: `trace-${n}` });
  return runs;
}

/** Returns a run store whose append number `at` fails, before or after it is written. */
function failing(runs: RunStore, failure: { at: number; written: boolean }): RunStore {
  let appends = 0;
  return new Proxy(runs, {
    get(target, key) {
      const method = Reflect.get(target, key, target) as (...args: unknown[]) => Promise<unknown>;
      return async (...args: unknown[]) => {
        const fails = key === 'appendEvents' && ++appends === failure.at;
        if (fails && !failure.written) throw new TidemarkError('UNAVAILABLE', 'not now');
        const result = await method.apply(target, args);
        if (fails) throw new TidemarkError('OUTCOME_UNKNOWN', 'the reply was lost');
        return result;
      };
    },
  });
}

describe('forkRun', () => {
  it('continues where it was interrupted, whether or not the last step was written', async () => {
    for (const written of [false, true]) {
      const runs = await origin();
      const broken = failing(runs, { at: 2, written });
      await expect(forkRun(broken, null, 'a', { toRunId: 'b' })).rejects.toThrow(TidemarkError);
      expect(await runs.headSeq('b')).toBe(written ? 400 : 200);
      expect(await runs.forkRun('a', { toRunId: 'b' })).toMatchObject({ copied: written ? 50 : 250 });
      expect(await runs.forkRun('a', { toRunId: 'b' })).toMatchObject({ copied: 0 });
      expect(await runs.verify('b')).toMatchObject({ ok: true, events: 450 });
    }
  });

  it('copies each event once when called concurrently', async () => {
    const runs = await origin();
    const forks = await Promise.all(Array.from({ length: 8 }, () => runs.forkRun('a', { toRunId: 'b', atSeq: 401 })));
    expect(forks.reduce((sum, fork) => sum + fork.copied, 0)).toBe(401);
    expect(await runs.headSeq('b')).toBe(401);
  });

  it('fails when another writer appends to the target before the fork is complete', async () => {
    const runs = await origin();
    await expect(forkRun(failing(runs, { at: 2, written: false }), null, 'a', { toRunId: 'b' })).rejects.toThrow();
    await runs.handle('b').append('Stranger');
    await expect(runs.forkRun('a', { toRunId: 'b' })).rejects.toMatchObject({ code: 'CONFLICT', field: 'toRunId' });
    await expect(runs.forkRun('a', { toRunId: 'b', atSeq: 300 })).rejects.toMatchObject({ code: 'CONFLICT' });
  });

  it.each([0, -1, 1.5, '2', 6])('rejects %j as the last sequence to copy, and copies nothing', async (atSeq) => {
    const runs = await origin(5);
    await expect(runs.forkRun('a', { toRunId: 'b', atSeq: atSeq as number })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      field: 'atSeq',
    });
    expect(await runs.headSeq('b')).toBe(0);
  });

  it('fails when the origin is deleted while it is copied', async () => {
    const runs = await origin();
    const append = runs.appendEvents.bind(runs);
    const appends = vi.spyOn(runs, 'appendEvents').mockRejectedValue(new Error('nothing is left to copy'));
    appends.mockImplementationOnce(async (...args) => {
      const results = await append(...args);
      await runs.deleteRun('a');
      return results;
    });
    await expect(forkRun(runs, null, 'a', { toRunId: 'b' })).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    expect(await runs.headSeq('b')).toBe(200);
  });

  it('keeps completed steps completed, so repeating one in the fork is a duplicate', async () => {
    const runs = await origin(5);
    await runs.forkRun('a', { toRunId: 'b' });
    expect(await runs.handle('b').append('StepStarted', {}, { stepId: 's' })).toMatchObject({
      idempotent: true,
      runSeq: 2,
    });
  });

  it('keeps idempotency keys chosen by callers', async () => {
    const runs = await origin(2);
    await runs.handle('a').append('Charged', { cents: 1 }, { idempotencyKey: 'charge-1' });
    await runs.forkRun('a', { toRunId: 'b' });
    expect(await runs.handle('b').append('Charged', { cents: 1 }, { idempotencyKey: 'charge-1' })).toMatchObject({
      idempotent: true,
    });
  });
});

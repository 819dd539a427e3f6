/** The wrappers on a memory store whose calls can fail before or after they take effect. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type ErrorCode, TidemarkError } from '../contracts/errors.ts';
import type { RunEventInput } from '../contracts/run-events.ts';
import type { Store } from '../contracts/store.ts';
import { memoryStore } from '../memory/store.ts';
import { type LostEvent, withBatching } from './batching.ts';
import { type StoreFailure, withFailSafe } from './fail-safe.ts';
import { InterceptedStore, type StoreCall } from './intercept.ts';
import { replay } from './replay.ts';
import { withRetries } from './retrying.ts';

type Fault = { code: ErrorCode; after?: boolean } | null;

/** Returns a memory store that records its calls and fails those that `faultOf` selects. */
function faulty(faultOf: (call: StoreCall, nth: number) => Fault = () => null) {
  const calls: string[] = [];
  const inner = memoryStore();
  const store = new InterceptedStore(inner, {
    async call(call, proceed) {
      const name = `${call.domain}.${call.method}`;
      calls.push(name);
      const fault = faultOf(call, calls.filter((it) => it === name).length);
      if (fault && !fault.after) throw new TidemarkError(fault.code, 'as asked');
      const result = await proceed();
      if (fault) throw new TidemarkError(fault.code, 'as asked');
      return result;
    },
  });
  return { store, inner, calls };
}

function event(runId = 'r', change: Partial<RunEventInput> = {}): RunEventInput {
  return {
    ...{ eventId: crypto.randomUUID(), eventType: 'Progress', emittedAt: '2026-02-16T09:30:00.000Z', runId },
    ...{ tenantId: 'default', projectId: 'p', environmentId: 'e', planId: 'plan', planVersion: '1' },
    ...{ engineAttemptId: 1, logicalAttemptId: 1 },
    ...change,
  };
}

const flowEvent = (n: number, traceId: string | null = 't') => ({
  ...{ traceId, ts: n, kind: 'node_start', nodeName: null, nodeId: null },
  payload: { n },
});
const plannerEvent = (n: number) => ({ eventType: 'step', ts: 1, trajectoryStep: n });
const down = (): Fault => ({ code: 'UNAVAILABLE' });
const soon = (ms = 20) => new Promise((done) => setTimeout(done, ms));

describe('withFailSafe', () => {
  it('returns the empty result of each method and reports the failure', async () => {
    const { store } = faulty(down);
    const failures: StoreFailure[] = [];
    const lines: object[] = [];
    const safe = withFailSafe(store, {
      onError: (it) => failures.push(it),
      logger: { error: (line) => lines.push(line) },
    });
    expect(await safe.runs.appendEvent(event())).toBeNull();
    expect(await safe.runs.appendEvents([event(), event()])).toEqual([null, null]);
    expect(await safe.runs.handle('r').append('Progress')).toBeNull();
    expect(await safe.runs.fetchEvents('r')).toEqual([]);
    expect(await safe.runs.getSnapshot('r')).toBeNull();
    expect(await safe.runs.headSeq('r')).toBe(0);
    expect(await safe.runs.feedPage({ cursor: 'c' })).toEqual({ items: [], next: 'c' });
    await safe.agents.saveEvent(flowEvent(1));
    await safe.agents.savePlannerEvent('trace', plannerEvent(1));
    expect(await safe.agents.loadHistory('t')).toEqual([]);
    expect(await safe.agents.loadMemoryState('k')).toBeNull();
    expect(await safe.agents.listUpdatesPage('s')).toEqual({ items: [], cursorFound: false });
    expect(await safe.agents.saveMemoryState('k', { expectedVersion: 'only a field' })).toEqual({ version: 0 });
    expect(await safe.artifacts.exists('a')).toBe(false);
    expect(safe.failures).toEqual({ saves: 6, loads: 8 });
    expect(failures).toHaveLength(14);
    expect(failures[0]).toMatchObject({ event: 'statestore_save_failed', method: 'runs.appendEvent', runId: 'r' });
    expect(failures[1]).toMatchObject({ method: 'runs.appendEvents', runId: 'r' });
    expect(lines.slice(7, 10)).toMatchObject([
      { event: 'statestore_save_failed', method: 'agents.saveEvent', trace_id: 't' },
      { event: 'statestore_save_failed', method: 'agents.savePlannerEvent', trace_id: 'trace' },
      { event: 'statestore_load_failed', method: 'agents.loadHistory', exception: 'TidemarkError: as asked' },
    ]);
  });

  it('throws where an invented result would lose or duplicate data', async () => {
    const safe = withFailSafe(faulty(down).store);
    const calls: (() => Promise<unknown>)[] = [
      () => safe.agents.savePlannerState('token', {}),
      () => safe.agents.loadPlannerState('token'),
      () => safe.agents.claimPause('token'),
      () => safe.agents.confirmPause('token', 'claim'),
      () => safe.agents.saveMemoryState('k', {}, { expectedVersion: 1 }),
      () => safe.runs.appendEvent(event(), { expectedSeq: 0 }),
      () => safe.runs.projectSnapshot('r'),
      () => safe.runs.deleteRun('r'),
      () => safe.kv.get('k'),
      () => safe.kv.swap('k', { set: { a: 1 } }),
      () => safe.jobs.enqueue({ taskType: 'a', taskId: 'b' }),
      () => safe.artifacts.putText('text'),
    ];
    for (const call of calls) await expect(call(), String(call)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(safe.failures).toEqual({ saves: 0, loads: 0 });
  });

  it('ends failed iterators, counts failures in views, and ignores errors of reporters', async () => {
    const inner = memoryStore();
    const safe = withFailSafe(inner, {
      onError() {
        throw new Error('reporter');
      },
    });
    const view = safe.forTenant('acme');
    await view.runs.handle('r').append('Progress');
    const seen: number[] = [];
    for await (const it of view.runs.tail('r')) {
      seen.push(it.runSeq);
      void inner.close();
    }
    for await (const _ of view.runs.readEvents('r'));
    expect(seen).toEqual([1]);
    expect(safe.failures.loads).toBe(1);
  });
});

describe('withRetries', () => {
  it('retries a call until it succeeds', async () => {
    const { store, calls } = faulty((_, nth) => (nth < 4 ? { code: 'OVERLOADED' } : null));
    const result = await withRetries(store, { firstDelay: 1 }).runs.handle('r').append('Progress');
    expect(result).toMatchObject({ runSeq: 1, persisted: true });
    expect(calls).toHaveLength(4);
  });

  it('does not treat a field named signal as an AbortSignal', async () => {
    const { store, inner } = faulty((_, nth) => (nth < 3 ? { code: 'OVERLOADED' } : null));
    await withRetries(store, { firstDelay: 1 }).kv.put('lamp', { signal: 'red' });
    expect((await inner.kv.getField('lamp', 'signal'))?.length).toBe(3);
  });

  it('settles an unknown outcome with the key, so that nothing is stored twice', async () => {
    const { store, inner } = faulty((_, nth) => (nth === 1 ? { code: 'OUTCOME_UNKNOWN', after: true } : null));
    const again = withRetries(store, { firstDelay: 1 });
    expect(await again.runs.handle('r').append('Progress')).toMatchObject({ runSeq: 1, idempotent: true });
    expect(await inner.runs.headSeq('r')).toBe(1);
    expect(await again.kv.swap('k', { expectedRevision: 0, set: { n: 1 }, requestId: 'q' })).toMatchObject({
      swapped: true,
    });
    await again.agents.saveMemoryState('m', { requestId: 'only a field' }, { requestId: 'q' });
    expect((await inner.agents.getMemoryRecord('m'))?.version).toBe(1);
  });

  it('sends the same ids with every attempt of an event that has none', async () => {
    const { store, inner } = faulty((_, nth) => (nth === 1 ? { code: 'OUTCOME_UNKNOWN', after: true } : null));
    const retried = withRetries(store, { firstDelay: 1 });
    const said = { runId: 'r', eventType: 'UserSaid' };
    await retried.runs.appendEvent(said);
    await retried.runs.appendEvents([said, said]);
    expect(await inner.runs.headSeq('r')).toBe(3);
  });

  it('reports an unknown outcome that no later attempt has settled', async () => {
    const faults: Fault[] = [{ code: 'OUTCOME_UNKNOWN', after: true }, { code: 'UNAVAILABLE' }];
    const { store, inner } = faulty((_, nth) => faults[Math.min(nth, 2) - 1]!);
    const append = withRetries(store, { firstDelay: 1, deadline: 50 }).runs.appendEvent(event());
    await expect(append).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', attempts: expect.any(Number) });
    expect(await inner.runs.headSeq('r')).toBe(1);
  });

  it('treats the rejection of the same write as settling an unknown outcome', async () => {
    const { store } = faulty((_, nth) => (nth === 1 ? { code: 'OUTCOME_UNKNOWN' } : { code: 'SCOPE_MISMATCH' }));
    const append = withRetries(store, { firstDelay: 1 }).runs.appendEvent(event());
    await expect(append).rejects.toMatchObject({ code: 'SCOPE_MISMATCH', outcome: 'rejected', attempts: 2 });
  });

  it('reports an unknown outcome for a batch with one run written and another rejected', async () => {
    const inner = memoryStore();
    await inner.runs.appendEvent(event('gone'));
    await inner.runs.deleteRun('gone');
    const append = withRetries(inner, { firstDelay: 1 }).runs.appendEvents([event('r'), event('gone')]);
    await expect(append).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', runId: 'gone', attempts: 2 });
    expect(await inner.runs.headSeq('r')).toBe(1);
  });

  it('does not retry a write of unknown outcome without a key to settle it', async () => {
    const { store, calls } = faulty(() => ({ code: 'OUTCOME_UNKNOWN', after: true }));
    const again = withRetries(store, { firstDelay: 1, deadline: 100 });
    const writes: (() => Promise<unknown>)[] = [
      () => again.kv.put('k', { requestId: 'only a field' }),
      () => again.kv.swap('k', { set: { n: 1 } }),
      () => again.agents.loadPlannerState('token'),
      () => again.agents.saveMemoryState('m', {}),
      () => again.kv.delete('k'),
      () => again.jobs.claim({ taskType: 'a' }, { worker: 'w' }),
      () => again.runs.appendEvent(event(), { transaction: {} }),
    ];
    for (const write of writes) {
      calls.length = 0;
      await expect(write(), String(write)).rejects.toThrow(TidemarkError);
      expect(calls, String(write)).toHaveLength(1);
    }
  });

  it('does not retry calls that cannot succeed', async () => {
    const { store, calls } = faulty();
    await expect(withRetries(store).runs.appendEvent(event('r', { eventId: 'no uuid' }))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      attempts: undefined,
    });
    expect(calls).toHaveLength(1);
  });

  it('stops at the deadline or when aborted, and reports the number of attempts', async () => {
    const { store, calls } = faulty(down);
    const start = Date.now();
    const error = await withRetries(store, { firstDelay: 10, maxDelay: 20, deadline: 200 })
      .kv.get('k')
      .catch((it: TidemarkError) => it);
    expect(error).toMatchObject({ code: 'UNAVAILABLE', attempts: expect.any(Number) });
    expect(calls.length).toBeGreaterThan(1);
    expect((error as TidemarkError).attempts).toBe(calls.length);
    expect(Date.now() - start).toBeLessThan(10_000);
    const aborted = withRetries(store, { firstDelay: 60_000, maxDelay: 60_000, deadline: '1h' }).kv.get('k', {
      signal: AbortSignal.timeout(30),
    });
    await expect(aborted).rejects.toMatchObject({ code: 'UNAVAILABLE', attempts: 2 });
  });
});

describe('withBatching', () => {
  const open: Store[] = [];
  const opened = <T extends Store>(store: T): T => {
    open.push(store);
    return store;
  };
  afterEach(async () => {
    for (const store of open.splice(0)) await store.close().catch(() => undefined);
  });

  it('writes many events in few calls, in order, and before reads', async () => {
    const { store, calls } = faulty();
    const batched = opened(withBatching(store, { maxDelay: '10s', maxBatch: 50 }));
    for (let n = 0; n < 120; n++) {
      await batched.agents.saveEvent(flowEvent(0, n % 2 ? 'odd' : 'even'));
      await batched.agents.saveEvent({ ...flowEvent(0, 'all'), payload: { n } });
    }
    const history = await batched.agents.loadHistory('all');
    expect(history.map((it) => it.payload.n)).toEqual(Array.from({ length: 120 }, (_, n) => n));
    expect(calls.filter((it) => it === 'agents.saveEvents').length).toBeLessThanOrEqual(6);
    expect(calls).not.toContain('agents.saveEvent');
  });

  it('keeps waiting for calls that cannot read what is queued', async () => {
    const { store, calls } = faulty();
    const batched = opened(withBatching(store, { maxDelay: '1h', maxBatch: 100 }));
    await batched.agents.saveEvent(flowEvent(1));
    const appended = batched.runs.appendEvent(event());
    await batched.kv.put('k', { a: 1 });
    for await (const _ of batched.kv.scan('k'));
    await batched.agents.listRemoteBindings('t');
    expect(calls).not.toContain('runs.appendEvents');
    expect(calls).not.toContain('agents.saveEvents');
    expect(await batched.runs.headSeq('r')).toBe(1);
    expect(await appended).toMatchObject({ runSeq: 1 });
    expect(calls).not.toContain('agents.saveEvents');
    await batched.agents.loadHistory('t');
    expect(calls).toContain('agents.saveEvents');
  });

  it('writes after the delay, on flush and on close', async () => {
    const { store, inner, calls } = faulty();
    const timed = opened(withBatching(store, { maxDelay: 20 }));
    await timed.agents.saveEvent(flowEvent(1));
    expect(calls).toEqual([]);
    await vi.waitFor(() => expect(calls).toEqual(['agents.saveEvents']));
    const slow = withBatching(store, { maxDelay: '1h' });
    await slow.forTenant('acme').agents.savePlannerEvent('trace', plannerEvent(1));
    await slow.flush();
    expect(await inner.forTenant('acme').agents.listPlannerEvents('trace')).toHaveLength(1);
    await slow.forTenant('acme').agents.saveEvent(flowEvent(2));
    const close = inner.close.bind(inner);
    let stored: unknown[] = [];
    inner.close = async () => {
      stored = await inner.forTenant('acme').agents.loadHistory('t');
      await close();
    };
    await slow.close();
    expect(stored).toHaveLength(1);
  });

  it('resolves appends when they are stored, each with its own result', async () => {
    const { store, calls } = faulty();
    const batched = opened(withBatching(store, { maxDelay: 5, maxBatch: 100 }));
    const results = await Promise.all(
      Array.from({ length: 300 }, (_, n) => batched.runs.appendEvent(event(`r${n % 3}`))),
    );
    expect(results.map((it) => it.runSeq)).toEqual(Array.from({ length: 300 }, (_, n) => Math.floor(n / 3) + 1));
    expect(calls.length).toBeLessThanOrEqual(4);
    void batched.runs.appendEvent(event('r0'));
    expect(await batched.runs.headSeq('r0')).toBe(101);
    expect(await batched.runs.appendEvent(event('r0'), { expectedSeq: 101 })).toMatchObject({ runSeq: 102 });
  });

  it('fails only the invalid event of a batch', async () => {
    const { store } = faulty();
    const lost: LostEvent[] = [];
    const batched = opened(withBatching(store, { maxDelay: 5, onLost: (it) => lost.push(it) }));
    const outcomes = await Promise.allSettled([
      batched.runs.appendEvent(event()),
      batched.runs.appendEvent(event('r', { eventType: 'StepStarted' })),
      batched.runs.appendEvent(event()),
    ]);
    expect(outcomes.map((it) => (it.status === 'fulfilled' ? it.value.runSeq : it.reason.field))).toEqual([
      1,
      'stepId',
      2,
    ]);
    await batched.agents.saveEvent(flowEvent(1));
    await batched.agents.saveEvent({ ...flowEvent(2), payload: { when: new Date() } });
    await batched.agents.saveEvent(flowEvent(3));
    expect((await batched.agents.loadHistory('t')).map((it) => it.ts)).toEqual([1, 3]);
    expect(lost).toMatchObject([{ method: 'saveEvent', event: { ts: 2 }, error: { code: 'INVALID_PAYLOAD' } }]);
  });

  it('retries events that could not be written, without duplicates', async () => {
    const { store } = faulty(({ method }, nth) => {
      if (method === 'saveEvents' && nth <= 3) return { code: 'OUTCOME_UNKNOWN', after: nth === 2 };
      return method === 'savePlannerEvent' && nth === 2 ? { code: 'UNAVAILABLE' } : null;
    });
    const batched = opened(withBatching(store, { maxDelay: 5 }));
    for (const n of [1, 2, 3]) await batched.agents.saveEvent(flowEvent(n));
    await expect(batched.flush()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    await vi.waitFor(async () => expect(await batched.agents.loadHistory('t')).toHaveLength(3), { timeout: 5_000 });
    for (const n of [1, 2, 3]) await batched.agents.savePlannerEvent('trace', plannerEvent(n));
    const steps = async () => (await batched.agents.listPlannerEvents('trace')).map((it) => it.trajectoryStep);
    await vi.waitFor(async () => expect(await steps()).toEqual([1, 2, 3]), { timeout: 5_000 });
  });

  it('rejects each caller of a failed batch with its own write to replay', async () => {
    const { store } = faulty((_, nth) => (nth === 1 ? { code: 'OUTCOME_UNKNOWN', after: true } : null));
    const batched = opened(withBatching(store, { maxDelay: 5 }));
    const events = [event(), event()];
    const outcomes = await Promise.allSettled(events.map((it) => batched.runs.appendEvent(it)));
    for (const [at, outcome] of outcomes.entries())
      expect((outcome as PromiseRejectedResult).reason).toMatchObject({
        code: 'OUTCOME_UNKNOWN',
        write: { domain: 'runs', method: 'appendEvent', args: [{ eventId: events[at]!.eventId }] },
      });
    expect(await batched.runs.appendEvent(events[1]!)).toMatchObject({ runSeq: 2, idempotent: true });
  });

  it('rejects each caller of a failed batch with the ids of its event', async () => {
    const { store, inner } = faulty((_, nth) => (nth === 1 ? { code: 'OUTCOME_UNKNOWN', after: true } : null));
    const batched = withBatching(store, { maxDelay: 1 });
    const errors = await Promise.all(
      [1, 2].map(() =>
        batched.runs.appendEvent({ runId: 'r', eventType: 'UserSaid' }).catch((it: TidemarkError) => it),
      ),
    );
    for (const error of errors) await replay(inner, (error as TidemarkError).write!);
    expect(await inner.runs.headSeq('r')).toBe(2);
    await batched.close();
  });

  it('resolves or rejects each caller of a batch of several runs separately', async () => {
    const { store, inner } = faulty();
    await inner.runs.appendEvent(event('gone'));
    await inner.runs.deleteRun('gone');
    const batched = opened(withBatching(store, { maxDelay: 5 }));
    const appends = ['a', 'gone', 'b'].map((runId) => batched.runs.appendEvent(event(runId)));
    const outcomes = await Promise.allSettled(appends);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect((outcomes[1] as PromiseRejectedResult).reason).toMatchObject({ code: 'RUN_DELETED' });
    for (const runId of ['a', 'b']) expect(await inner.runs.headSeq(runId)).toBe(1);
  });

  it('rejects with OUTCOME_UNKNOWN when a partly written batch cannot be settled', async () => {
    const { store, inner } = faulty(({ method }) => (method === 'appendEvent' ? { code: 'UNAVAILABLE' } : null));
    await inner.runs.appendEvent(event('gone'));
    await inner.runs.deleteRun('gone');
    const batched = opened(withBatching(store, { maxDelay: 5 }));
    const outcomes = await Promise.allSettled(['a', 'gone'].map((runId) => batched.runs.appendEvent(event(runId))));
    for (const outcome of outcomes)
      expect((outcome as PromiseRejectedResult).reason).toMatchObject({
        code: 'OUTCOME_UNKNOWN',
        write: { method: 'appendEvent' },
      });
  });

  it('makes callers wait for room in a full queue, then rejects with OVERLOADED', async () => {
    let isDown = true;
    const { store } = faulty(() => (isDown ? { code: 'UNAVAILABLE' } : null));
    const batched = opened(withBatching(store, { maxDelay: 5, maxBatch: 2, maxQueued: 4 }));
    for (const n of [1, 2, 3, 4]) await batched.agents.saveEvent(flowEvent(n));
    await expect(batched.agents.saveEvent(flowEvent(9), { timeoutMs: 20 })).rejects.toMatchObject({
      code: 'OVERLOADED',
    });
    const waiting = [5, 6, 7, 8].map((n) => batched.agents.saveEvent(flowEvent(n)));
    await expect(batched.agents.saveEvent(flowEvent(9))).rejects.toMatchObject({ code: 'OVERLOADED' });
    isDown = false;
    await Promise.all(waiting);
    expect((await batched.agents.loadHistory('t')).map((it) => it.ts)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('reports events that it could not write on close', async () => {
    const { store } = faulty(down);
    const lost: LostEvent[] = [];
    const batched = withBatching(store, { maxDelay: '1h', closeTimeout: 200, onLost: (it) => lost.push(it) });
    await batched.agents.saveEvent(flowEvent(1));
    await batched.agents.savePlannerEvent('trace', plannerEvent(2));
    await expect(batched.close()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(lost.map((it) => it.method)).toEqual(['saveEvent', 'savePlannerEvent']);
    await soon();
  });

  it('retries transient failures on close', async () => {
    const { store, inner } = faulty((_, nth) => (nth <= 2 ? { code: 'UNAVAILABLE' } : null));
    const saved = vi.spyOn(inner.agents, 'saveEvents');
    const batched = withBatching(store, { maxDelay: '1h' });
    await batched.agents.saveEvent(flowEvent(1));
    await batched.close();
    expect(saved.mock.calls[0]?.[0]).toHaveLength(1);
  });

  it('rejects aborted calls, and calls after close', async () => {
    const batched = withBatching(memoryStore(), { maxDelay: 5 });
    await expect(batched.agents.saveEvent(flowEvent(1), { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'ABORTED',
    });
    expect(await batched.agents.loadHistory('t')).toEqual([]);
    await batched.close();
    await expect(batched.agents.saveEvent(flowEvent(1))).rejects.toMatchObject({ code: 'STORE_CLOSED' });
    await expect(batched.runs.handle('r').append('Progress')).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  });

  it('copies events when they are passed', async () => {
    const batched = opened(withBatching(memoryStore(), { maxDelay: '1h' }));
    const changing = flowEvent(1);
    await batched.agents.saveEvent(changing);
    changing.payload.n = 99;
    expect((await batched.agents.loadHistory('t'))[0]!.payload).toEqual({ n: 1 });
  });
});

it('wrappers can be combined', async () => {
  const { store, inner } = faulty((_, nth) => (nth === 1 ? { code: 'OUTCOME_UNKNOWN', after: true } : null));
  const safe = withFailSafe(withBatching(withRetries(store, { firstDelay: 1 }), { maxDelay: 1 }));
  await safe.forTenant('acme').agents.saveEvent(flowEvent(1));
  expect(await safe.forTenant('acme').runs.handle('r').append('Progress')).toMatchObject({ runSeq: 1 });
  expect(await inner.forTenant('acme').runs.headSeq('r')).toBe(1);
  await safe.close();
});

/** Quotas on a memory store: enforced before anything is written, counted exactly, shared between processes. */
import { describe, expect, it } from 'vitest';
import { TidemarkError } from '../contracts/errors.ts';
import type { RunEventInput } from '../contracts/run-events.ts';
import type { Store } from '../contracts/store.ts';
import { memoryStore } from '../memory/store.ts';
import { InterceptedStore } from './intercept.ts';
import type { TenantQuota } from './quota-options.ts';
import { withQuotas } from './quotas.ts';

let now = Date.now();
const clock = () => now;

function guarded(quota: TenantQuota, inner: Store = memoryStore()) {
  return { inner, store: withQuotas(inner, { limits: { acme: quota }, clock }) };
}

function event(runId: string, change: Partial<RunEventInput> = {}): RunEventInput {
  return {
    ...{ eventId: crypto.randomUUID(), eventType: 'Progress', emittedAt: '2026-02-16T09:30:00.000Z', runId },
    ...{ tenantId: 'acme', projectId: 'p', environmentId: 'e', planId: 'plan', planVersion: '1' },
    ...{ engineAttemptId: 1, logicalAttemptId: 1, idempotencyKey: crypto.randomUUID() },
    ...change,
  };
}

const over = (field: keyof TenantQuota, size: number) => ({ code: 'QUOTA_EXCEEDED', field, rule: `at most ${size}` });

describe('eventsPerSecond', () => {
  it('allows a burst, then the rate, and reports when to retry', async () => {
    const { store, inner } = guarded({ eventsPerSecond: 10, burst: 5 });
    for (let n = 0; n < 5; n++) await store.runs.appendEvent(event('r'));
    await expect(store.runs.appendEvent(event('r'))).rejects.toMatchObject({
      ...over('eventsPerSecond', 10),
      retryAfterMs: 100,
    });
    expect(await inner.runs.headSeq('r')).toBe(5);
    now += 100;
    await store.runs.appendEvent(event('r'));
    now += 10_000;
    await store.runs.appendEvents([event('r'), event('r'), event('r'), event('r'), event('r')]);
    await expect(store.forTenant('acme').agents.saveUpdate({} as never)).rejects.toMatchObject(
      over('eventsPerSecond', 10),
    );
  });

  it('returns the tokens of duplicates and failed calls', async () => {
    const { store } = guarded({ eventsPerSecond: 1, burst: 2 });
    const once = event('r');
    for (let n = 0; n < 10; n++) await store.runs.appendEvent(once);
    for (let n = 0; n < 10; n++)
      await expect(store.runs.appendEvent(event('r', { eventType: '' }))).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    await store.runs.appendEvent(event('r'));
    await expect(store.runs.appendEvent(event('r'))).rejects.toMatchObject(over('eventsPerSecond', 1));
  });

  it('allows a call larger than the burst, and delays later calls accordingly', async () => {
    const { store } = guarded({ eventsPerSecond: 10, burst: 2 });
    await store.runs.appendEvents(Array.from({ length: 12 }, () => event('r')));
    now += 1_000;
    await expect(store.runs.appendEvent(event('r'))).rejects.toMatchObject({ retryAfterMs: 100 });
  });

  it('applies only to its own tenant', async () => {
    const { store } = guarded({ eventsPerSecond: 1 });
    await store.runs.appendEvent(event('r'));
    for (let n = 0; n < 5; n++) await store.runs.appendEvent(event('r', { tenantId: 'other' }));
    const mixed = [event('r2', { tenantId: 'other' }), event('r2')];
    await expect(store.runs.appendEvents(mixed)).rejects.toMatchObject(over('eventsPerSecond', 1));
    expect(await store.runs.headSeq('r2', { tenantId: 'other' })).toBe(0);
  });
});

describe('runs', () => {
  it('rejects a new run above the limit before anything is written, and allows appends to others', async () => {
    const { store, inner } = guarded({ runs: 3 });
    for (const runId of ['a', 'b', 'c']) await store.runs.appendEvent(event(runId));
    await expect(store.runs.appendEvent(event('d'))).rejects.toMatchObject(over('runs', 3));
    expect(await inner.runs.headSeq('d', { tenantId: 'acme' })).toBe(0);
    for (const runId of ['a', 'b', 'c']) await store.runs.appendEvent(event(runId));
    expect(await store.usage('acme')).toMatchObject({ runs: 3 });
  });

  it('counts exactly with concurrent callers', async () => {
    const { store, inner } = guarded({ runs: 20 });
    const calls = Array.from({ length: 100 }, (_, n) => store.runs.appendEvent(event(`run-${n % 40}`)));
    const refused = (await Promise.allSettled(calls)).filter((it) => it.status === 'rejected').length;
    expect((await inner.forTenant('acme').runs.listRuns()).items).toHaveLength(20);
    expect(refused).toBeGreaterThan(0);
    expect(await store.usage('acme')).toMatchObject({ runs: 20 });
  });

  it('subtracts a deleted run and adds a fork', async () => {
    const { store } = guarded({ runs: 2 });
    await store.runs.appendEvent(event('a'));
    await store.runs.forkRun('a', { toRunId: 'b' });
    await expect(store.runs.forkRun('a', { toRunId: 'c' })).rejects.toMatchObject(over('runs', 2));
    await store.runs.deleteRun('b');
    await store.runs.forkRun('a', { toRunId: 'c' });
    expect(await store.usage('acme')).toMatchObject({ runs: 2 });
  });

  it('counts a restored run', async () => {
    const { store } = guarded({ runs: 1 });
    await store.runs.appendEvent(event('a'));
    const parts = await Array.fromAsync(store.runs.exportRun('a'));
    await store.runs.archiveRun('a', { location: 'elsewhere', expectedSeq: 1 });
    await store.runs.appendEvent(event('b'));
    await expect(store.runs.restoreRun(parts)).rejects.toMatchObject(over('runs', 1));
    await store.runs.deleteRun('b');
    await store.runs.restoreRun(parts);
    expect(await store.usage('acme')).toMatchObject({ runs: 1 });
  });
});

describe('bytes', () => {
  const payload = { text: 'x'.repeat(89) };
  const BYTES = JSON.stringify(payload).length;

  it('counts payloads and artifacts, duplicates once, and subtracts deleted data', async () => {
    const { store } = guarded({ bytes: 3 * BYTES });
    const view = store.forTenant('acme');
    const first = event('r', { payload });
    await view.runs.appendEvent(first);
    await view.runs.appendEvent(first);
    const ref = await view.artifacts.putBytes(Buffer.alloc(BYTES), { ttl: null });
    now += 5;
    await view.artifacts.putText('y'.repeat(BYTES), { ttl: null });
    expect(await store.usage('acme')).toEqual({ runs: 1, bytes: 3 * BYTES });
    await expect(view.runs.appendEvent(event('r', { payload }))).rejects.toMatchObject(over('bytes', 3 * BYTES));
    await expect(view.artifacts.putText('z')).rejects.toMatchObject(over('bytes', 3 * BYTES));
    await view.runs.appendEvent(event('r'));
    await view.artifacts.delete(ref.id);
    await view.runs.appendEvent(event('r', { payload }));
    await view.runs.deleteRun('r');
    expect(await store.usage('acme')).toEqual({ runs: 0, bytes: BYTES });
  });

  it('stops a stream that would exceed them, and stores nothing of it', async () => {
    const { store, inner } = guarded({ bytes: 1_000 });
    const chunks = async function* () {
      for (let n = 0; n < 20; n++) yield Buffer.alloc(100);
    };
    const view = store.forTenant('acme');
    await expect(view.artifacts.putStream(chunks())).rejects.toMatchObject(over('bytes', 1_000));
    expect((await inner.forTenant('acme').artifacts.list()).items).toEqual([]);
    expect(await store.usage('acme')).toMatchObject({ bytes: 0 });
    await view.artifacts.putBytes(Buffer.alloc(1_000));
  });

  it('releases the reservation of a failed call, and keeps that of an unknown outcome', async () => {
    const memory = memoryStore();
    let fault: 'UNAVAILABLE' | 'OUTCOME_UNKNOWN' | null = 'UNAVAILABLE';
    const failing = new InterceptedStore(memory, {
      async call(call, proceed) {
        if (fault && call.method === 'appendEvent') throw new TidemarkError(fault, 'as asked');
        return proceed();
      },
    });
    const { store } = guarded({ bytes: 10 * BYTES, runs: 10 }, failing);
    await store.runs.appendEvent(event('r', { payload })).catch(() => {});
    expect(await store.usage('acme')).toEqual({ runs: 0, bytes: 0 });
    fault = 'OUTCOME_UNKNOWN';
    await store.runs.appendEvent(event('r', { payload })).catch(() => {});
    expect(await store.usage('acme')).toEqual({ runs: 1, bytes: BYTES });
    fault = null;
    expect(await store.recount('acme')).toEqual({ runs: 0, bytes: 0 });
  });
});

describe('usage', () => {
  it('is counted from the store when there is no record, and shared through the record', async () => {
    const inner = memoryStore();
    for (const runId of ['a', 'b']) await inner.runs.appendEvent(event(runId, { payload: { n: 1 } }));
    const [one, two] = [guarded({ runs: 5 }, inner).store, guarded({ runs: 5 }, inner).store];
    expect(await one.usage('acme')).toEqual({ runs: 2, bytes: 14 });
    await one.runs.appendEvent(event('c'));
    now += 1_000;
    await one.usage('acme');
    await two.runs.appendEvent(event('d'));
    expect(await two.usage('acme')).toMatchObject({ runs: 4 });
    now += 1_000;
    await two.usage('acme');
    now += 1_000;
    expect(await one.usage('acme')).toMatchObject({ runs: 4 });
    await one.runs.appendEvent(event('e'));
    await expect(one.runs.appendEvent(event('f'))).rejects.toMatchObject(over('runs', 5));
  });

  it('fails when the store cannot be counted', async () => {
    const failing = new InterceptedStore(memoryStore(), {
      async call({ domain, method }, proceed) {
        if (domain === 'artifacts' && method === 'list') throw new TidemarkError('UNAVAILABLE', 'as asked');
        return proceed();
      },
    });
    await expect(guarded({ bytes: 10 }, failing).store.usage('acme')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('is synced on close, and exceeds a quota at most by what others write within a second', async () => {
    const inner = memoryStore();
    const stores = Array.from({ length: 4 }, () => guarded({ runs: 40 }, new Unclosed(inner)).store);
    for (let second = 0; second < 5; second++) {
      await Promise.all(
        stores.flatMap((store, at) =>
          Array.from({ length: 5 }, (_, n) => store.runs.appendEvent(event(`${second}-${at}-${n}`)).catch(() => {})),
        ),
      );
      now += 1_000;
      await Promise.all(stores.map((store) => store.usage('acme')));
    }
    await Promise.all(stores.map((store) => store.close()));
    const { items } = await inner.forTenant('acme').runs.listRuns({ limit: 1_000 });
    expect(items.length).toBeGreaterThanOrEqual(40);
    expect(items.length).toBeLessThanOrEqual(60);
    expect(await guarded({ runs: 40 }, inner).store.usage('acme')).toMatchObject({ runs: items.length });
  });

  it('is not recorded for a tenant without limits on runs and bytes', async () => {
    const inner = memoryStore();
    const { store } = guarded({ eventsPerSecond: 1_000 }, new Unclosed(inner));
    await store.runs.appendEvent(event('a'));
    await store.runs.deleteRun('a');
    const { id } = await store.forTenant('acme').artifacts.putText('text');
    await store.forTenant('acme').artifacts.delete(id);
    await store.close();
    expect(await inner.forTenant('acme').kv.get('tidemark.quota')).toBeNull();
  });

  it('starts from zero after the tenant was erased', async () => {
    const { store } = guarded({ runs: 1 });
    await store.runs.appendEvent(event('a'));
    await store.admin.eraseTenant('acme');
    await store.runs.appendEvent(event('b'));
    expect(await store.usage('acme')).toMatchObject({ runs: 1 });
  });
});

describe('withQuotas', () => {
  it('rejects invalid limits', () => {
    const inner = memoryStore();
    for (const quota of [{ runs: -1 }, { eventsPerSecond: 0 }, { bytes: 1.5 }, { burst: 3 }, 7])
      expect(() => withQuotas(inner, { limits: { acme: quota as TenantQuota } })).toThrow(/limits/);
  });

  it('accepts a function, and a default for tenants without limits', async () => {
    const limits = (tenantId: string) => (tenantId === 'acme' ? { runs: 1 } : undefined);
    const store = withQuotas(memoryStore(), { limits, default: { runs: 0 } });
    await store.runs.appendEvent(event('a'));
    await expect(store.runs.appendEvent(event('a', { tenantId: 'other' }))).rejects.toMatchObject(over('runs', 0));
  });
});

/** A store that ignores `close`, so that several wrappers can share it. */
class Unclosed extends InterceptedStore {
  constructor(inner: Store) {
    super(inner, { call: (_, proceed) => proceed() });
  }

  override async close(): Promise<void> {}
}

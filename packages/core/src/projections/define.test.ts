/** Projections on the memory store: folding, storing, concurrent refreshes, rebuilding and blame. */
import { describe, expect, expectTypeOf, it } from 'vitest';
import { TidemarkError } from '../contracts/errors.ts';
import type { RebuildProgress } from '../contracts/projections.ts';
import type { StandardSchema } from '../contracts/schemas.ts';
import type { Store } from '../contracts/store.ts';
import { defineEvents } from '../events/define.ts';
import { numberOf, textOf } from '../kv/values.ts';
import { memoryStore } from '../memory/store.ts';
import { InterceptedStore } from '../wrappers/intercept.ts';
import { defineProjection } from './define.ts';
import { servingKey, stateKey } from './stored.ts';

function anything<T>(): StandardSchema<T> {
  return { '~standard': { version: 1, vendor: 'by hand', validate: (value) => ({ value: value as T }) } };
}

const Order = defineEvents({ Placed: anything<{ cents: number }>(), Noted: anything<{ text: string }>() });

interface OrderState {
  cents: number;
  notes: string[];
  status: 'new' | 'started';
}

const initial: OrderState = { cents: 0, notes: [], status: 'new' };
const orders = defineProjection({
  name: 'orders',
  version: 1,
  events: Order,
  initial,
  on: {
    Placed(state, event) {
      state.cents += event.payload.cents;
    },
    Noted(state, event) {
      state.notes.push(event.payload.text);
    },
    RunStarted: (state): OrderState => ({ ...state, status: 'started' }),
  },
});

async function fill(store: Store, runId: string, count: number, tenantId = 'default'): Promise<void> {
  const run = store.runs.handle(runId, { tenantId });
  await run.append('RunStarted');
  for (let n = 2; n <= count; n++)
    await run.append(n % 2 ? 'Noted' : 'Placed', n % 2 ? { text: `n${n}` } : { cents: n });
}

const filled = { cents: 6, notes: ['n3', 'n5'], status: 'started' };

describe('projections', () => {
  it('are typed by their events', () => {
    defineProjection({
      name: 'typed',
      version: 1,
      events: Order,
      initial: { cents: 0 },
      on: {
        Placed(state, event) {
          expectTypeOf(state).toEqualTypeOf<{ cents: number }>();
          expectTypeOf(event.payload).toEqualTypeOf<{ cents: number }>();
          expectTypeOf(event.runSeq).toEqualTypeOf<number>();
        },
      },
    });
    // @ts-expect-error an event that is not defined
    defineProjection({ name: 'wrong', version: 1, events: Order, initial: {}, on: { Plcd() {} } });
    // @ts-expect-error a state of another type
    defineProjection({
      name: 'wrong',
      version: 1,
      events: Order,
      initial: { n: 1 },
      on: { Placed: () => ({ n: 'x' }) },
    });
    expectTypeOf(orders.project).returns.resolves.toHaveProperty('state').toEqualTypeOf<OrderState>();
  });

  it('fold to the latest event and to any past sequence', async () => {
    const store = memoryStore();
    await fill(store, 'a', 5);
    expect(await orders.project(store, 'a')).toEqual({
      tenantId: 'default',
      runId: 'a',
      state: filled,
      lastEventSeq: 5,
    });
    expect((await orders.project(store, 'a', { atSeq: 3 })).state).toEqual({
      cents: 2,
      notes: ['n3'],
      status: 'started',
    });
    await orders.refresh(store, 'a');
    expect((await orders.project(store, 'a', { atSeq: 1 })).state).toEqual({ ...initial, status: 'started' });
    expect((await orders.project(store, 'a')).state).toEqual(filled);
    await expect(orders.project(store, 'a', { atSeq: 6 })).rejects.toMatchObject({ field: 'atSeq' });
    await expect(orders.project(store, 'a', { atSeq: 0 })).rejects.toMatchObject({ field: 'atSeq' });
    await expect(orders.project(store, 'unknown')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    expect(await orders.get(store, 'unknown')).toBeNull();
    expect(initial).toEqual({ cents: 0, notes: [], status: 'new' });
  });

  it('are stored by the first get and stay unchanged until they are refreshed', async () => {
    const store = memoryStore();
    await fill(store, 'a', 5);
    expect((await orders.get(store, 'a'))?.lastEventSeq).toBe(5);
    await store.runs.handle('a').append('Placed', { cents: 10 });
    expect((await orders.get(store, 'a'))?.lastEventSeq).toBe(5);
    expect(await orders.refresh(store, 'a')).toMatchObject({ lastEventSeq: 6, folded: 1, state: { cents: 16 } });
    expect(await orders.refresh(store, 'a')).toMatchObject({ lastEventSeq: 6, folded: 0 });
    expect((await orders.get(store, 'a'))?.state.cents).toBe(16);
  });

  it('work in the tenant of the run', async () => {
    const store = memoryStore();
    await fill(store, 'a', 3, 'acme');
    await orders.refresh(store, 'a');
    expect((await store.forTenant('acme').kv.get(stateKey('orders', 1, 'a')))?.fields.state).toBeDefined();
    expect(await store.kv.get(stateKey('orders', 1, 'a'))).toBeNull();
    expect((await orders.get(store.forTenant('acme'), 'a'))?.tenantId).toBe('acme');
    expect(await orders.get(store.forTenant('other'), 'a')).toBeNull();
    await fill(store, 'a', 4, 'umbrella');
    await expect(orders.refresh(store, 'a')).rejects.toMatchObject({ code: 'AMBIGUOUS_RUN' });
    expect((await orders.refresh(store, 'a', { tenantId: 'umbrella' })).lastEventSeq).toBe(4);
  });

  it('never go back with concurrent refreshes', async () => {
    const store = memoryStore();
    await fill(store, 'a', 1);
    let last = 0;
    const write = async () => {
      for (let n = 0; n < 100; n++) await store.runs.handle('a').append('Placed', { cents: 1 });
    };
    const refresh = async () => {
      for (let n = 0; n < 40; n++) {
        await orders.refresh(store, 'a');
        const kept = (await orders.get(store, 'a'))!;
        expect(kept.lastEventSeq).toBeGreaterThanOrEqual(last);
        last = kept.lastEventSeq;
        expect(kept.state.cents).toBe(kept.lastEventSeq - 1);
      }
    };
    await Promise.all([write(), refresh(), refresh(), refresh()]);
    expect((await orders.refresh(store, 'a')).state.cents).toBe(100);
  });

  it('store nothing when a handler throws, and name the event', async () => {
    const store = memoryStore();
    await fill(store, 'a', 3);
    const brittle = defineProjection({
      name: 'brittle',
      version: 3,
      initial: { n: 0 },
      on: {
        RunStarted(state) {
          state.n = 1;
        },
        Noted() {
          throw new Error('no notes here');
        },
      },
    });
    for (const call of [brittle.refresh(store, 'a'), brittle.get(store, 'a'), brittle.project(store, 'a')]) {
      await expect(call).rejects.toMatchObject({
        code: 'PROJECTION_FAILED',
        field: 'brittle.on.Noted',
        runId: 'a',
        runSeq: 3,
        message: expect.stringMatching(/brittle, version 3, .* event 3 of run "a": no notes here/),
        cause: expect.objectContaining({ message: 'no notes here' }),
      });
    }
    expect(await store.kv.get(stateKey('brittle', 3, 'a'))).toBeNull();
    expect((await brittle.project(store, 'a', { atSeq: 2 })).state).toEqual({ n: 1 });
  });

  it.each(['constructor', 'toString', '__proto__'])('ignore an event of type %s', async (eventType) => {
    const store = memoryStore();
    await fill(store, 'r', 5);
    await store.runs.handle('r').append(eventType, { text: 'x' });
    expect(await orders.project(store, 'r')).toMatchObject({ state: filled, lastEventSeq: 6 });
  });

  it('discard the state of a deleted run', async () => {
    const store = memoryStore();
    await fill(store, 'a', 3);
    await orders.refresh(store, 'a');
    await store.runs.deleteRun('a');
    await expect(orders.project(store, 'a', { tenantId: 'default' })).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    await expect(orders.refresh(store, 'a', { tenantId: 'default' })).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    expect(await orders.get(store, 'a', { tenantId: 'default' })).toBeNull();
  });

  it('use distinct keys within the length limit for runs with unusual ids', () => {
    const ids = [
      'a.b',
      'a%2Eb',
      'a',
      'A',
      'é',
      'x'.repeat(512),
      'y'.repeat(512),
      '🌊'.repeat(128),
      '~x',
      '%7Ex',
      "'()*!",
    ];
    const keys = ids.map((id) => stateKey('orders', 1, id));
    expect(new Set(keys).size).toBe(ids.length);
    for (const key of keys) expect(Buffer.byteLength(key)).toBeLessThanOrEqual(512);
    for (const key of keys) expect(key.split('.')).toHaveLength(5);
  });

  it('reject invalid definitions', () => {
    const define = (change: object) => () =>
      defineProjection({ name: 'n', version: 1, initial: {}, on: {}, ...change } as never);
    for (const [change, field] of [
      [{ name: 'a.b' }, 'name'],
      [{ name: '' }, 'name'],
      [{ version: 0 }, 'version'],
      [{ initial: new Date() }, 'initial'],
      [{ initial: undefined }, 'initial'],
      [{ on: { A: 1 } }, 'on.A'],
    ] as const)
      expect(define(change)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', field }));
  });
});

const ordersTwo = defineProjection({
  name: 'orders',
  version: 2,
  initial: { events: 0 },
  on: Object.fromEntries(
    ['RunStarted', 'Placed', 'Noted'].map((type) => [
      type,
      (state: { events: number }) => {
        state.events++;
      },
    ]),
  ),
});

describe('rebuilding', () => {
  async function filledStore() {
    const store = memoryStore();
    for (const [n, tenantId] of ['default', 'acme', 'default'].entries()) await fill(store, `r${n}`, 5, tenantId);
    for (let n = 0; n < 250; n++) await fill(store, `many-${n}`, 2, 'acme');
    return store;
  }

  it('builds a new version of all runs while the old one is active, then switches', async () => {
    const store = await filledStore();
    expect(await orders.activeVersion(store)).toBeNull();
    expect(await orders.rebuild(store)).toEqual({ runs: 506, refreshed: 253, activeVersion: 1 });
    const seen: (number | null)[] = [];
    const progress: RebuildProgress[] = [];
    await ordersTwo.rebuild(store, {
      onProgress(it) {
        progress.push(it);
        void orders.activeVersion(store).then((active) => seen.push(active));
      },
    });
    expect(new Set(seen)).toEqual(new Set([1]));
    expect(progress.map((it) => it.runs)).toEqual([200, 253, 453, 506]);
    expect(await orders.activeVersion(store)).toBe(2);
    expect((await orders.get(store, 'r0'))?.state).toEqual(filled);
    expect((await ordersTwo.get(store, 'r0'))?.state).toEqual({ events: 5 });
  });

  it('continues where it stopped', async () => {
    const store = await filledStore();
    const controller = new AbortController();
    const stop = (it: RebuildProgress) => it.runs >= 200 && controller.abort();
    await expect(orders.rebuild(store, { signal: controller.signal, onProgress: stop })).rejects.toMatchObject({
      code: 'ABORTED',
    });
    expect(await orders.activeVersion(store)).toBeNull();
    expect(await orders.rebuild(store)).toMatchObject({ refreshed: 53, activeVersion: 1 });
  });

  it('has the same result after any number of interruptions, before or after a write', async () => {
    const inner = await filledStore();
    let seed = 7;
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    const flaky = new InterceptedStore(inner, {
      async call(_, proceed) {
        if (random() < 0.005) throw new TidemarkError('UNAVAILABLE', 'as asked');
        const result = await proceed();
        if (random() < 0.005) throw new TidemarkError('OUTCOME_UNKNOWN', 'as asked');
        return result;
      },
    });
    let interrupted = 0;
    for (let isDone = false; !isDone; ) {
      isDone = await orders.rebuild(flaky).then(
        () => true,
        () => false,
      );
      if (!isDone) interrupted++;
    }
    expect(interrupted).toBeGreaterThan(3);
    const { items } = await inner.runs.listRuns({ limit: 1_000 });
    for (const { runId, tenantId, lastEventSeq } of items) {
      const stored = await inner.forTenant(tenantId).kv.get(stateKey('orders', 1, runId));
      expect(numberOf(stored?.fields.seq)).toBe(lastEventSeq);
      const { state } = await orders.project(inner, runId, { tenantId });
      expect(JSON.parse(textOf(stored?.fields.state)!)).toEqual(state);
    }
    expect(await orders.activeVersion(inner)).toBe(1);
  });

  it('includes events appended during the rebuild', async () => {
    const store = await filledStore();
    let appended = false;
    await orders.rebuild(store, {
      onProgress({ runs }) {
        if (runs === 253 && !appended) appended = !!store.runs.handle('r0').append('Placed', { cents: 100 });
      },
    });
    expect(appended).toBe(true);
    expect((await orders.get(store, 'r0'))?.state.cents).toBe(106);
  });

  it('never replaces a higher version', async () => {
    const store = await filledStore();
    await ordersTwo.rebuild(store);
    expect(await orders.rebuild(store)).toMatchObject({ activeVersion: 2 });
    expect(await orders.activeVersion(store)).toBe(2);
  });

  it('removes lower versions in one scan, even if the version is as large as a date', async () => {
    const store = memoryStore();
    await fill(store, 'r0', 5, 'default');
    const { kv } = store.forTenant('default');
    const keys = (name: string, versions: readonly (number | string)[]) =>
      versions.map((version) => `tidemark.projections.${name}.${version}.r0`);
    const [lower, other] = [keys('orders', [3, 20_250_101, 9]), keys('others', [3])];
    const kept = [...keys('orders', [20_270_101, 'not a version', '~é']), 'tidemark.projections.orders.x'];
    for (const key of [...lower, ...other, ...kept]) await kv.put(key, { state: '0' });
    let scans = 0;
    const counted = new InterceptedStore(store, {
      call({ method }, proceed) {
        if (method === 'scanPage') scans++;
        return proceed();
      },
    });
    const dated = defineProjection({ name: 'orders', version: 20_260_101, initial: 0, on: {} });
    await dated.rebuild(counted);
    const left = (await Array.fromAsync(kv.scan('tidemark.projections.'))).map(({ key }) => key);
    expect(left.sort()).toEqual([...keys('orders', [20_260_101]), ...kept, ...other, servingKey('orders')].sort());
    expect(scans).toBeLessThan(20);
  });

  it('rebuilds one tenant in its view', async () => {
    const store = await filledStore();
    expect(await orders.rebuild(store.forTenant('default'))).toMatchObject({ refreshed: 2, activeVersion: 1 });
    expect(await store.forTenant('acme').kv.get(stateKey('orders', 1, 'r1'))).toBeNull();
  });

  it('does not switch the version when a handler throws', async () => {
    const store = await filledStore();
    const on = {
      Noted() {
        throw new Error('no');
      },
    };
    const brittle = defineProjection({ name: 'orders', version: 9, initial: 0, on });
    await expect(brittle.rebuild(store)).rejects.toMatchObject({ code: 'PROJECTION_FAILED' });
    expect(await orders.activeVersion(store)).toBeNull();
  });
});

describe('blame', () => {
  it('returns the event that last wrote each path, now and at a past sequence', async () => {
    const store = memoryStore();
    await fill(store, 'a', 5);
    expect(await orders.blame(store, 'a')).toEqual({ '/cents': 4, '/notes/0': 3, '/notes/1': 5, '/status': 1 });
    expect(await orders.blame(store, 'a', { atSeq: 2 })).toEqual({ '/cents': 2, '/notes': 0, '/status': 1 });
    await expect(orders.blame(store, 'unknown')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });

  it('takes at most ten times as long as reading 20 000 events', async () => {
    const store = memoryStore();
    const run = store.runs.handle('long');
    await run.append('RunStarted');
    const [first] = await store.runs.fetchEvents('long');
    const { runSeq: _, persistedAt: __, ...sample } = first!;
    for (let at = 0; at < 20_000; at += 1_000) {
      const events = Array.from({ length: 1_000 }, (_, n) => {
        const eventId = crypto.randomUUID();
        return {
          ...sample,
          eventType: 'Step',
          eventId,
          idempotencyKey: eventId,
          payload: { id: `s${(at + n) % 2_000}` },
        };
      });
      await store.runs.appendEvents(events);
    }
    const steps = defineProjection({
      name: 'steps',
      version: 1,
      initial: { byId: {} as Record<string, { tries: number; log: number[] }>, total: 0 },
      on: {
        Step(state, event) {
          const id = String(event.payload?.id);
          state.byId[id] ??= { tries: 0, log: [] };
          const step = state.byId[id];
          step.tries++;
          step.log.push(event.runSeq);
          state.total++;
        },
      },
    });
    await steps.blame(store, 'long');
    const timed = async <T>(work: () => Promise<T>): Promise<[T, number]> => {
      const start = performance.now();
      return [await work(), performance.now() - start];
    };
    const [, reading] = await timed(async () => {
      for await (const _ of store.runs.readEvents('long'));
    });
    const [blame, blaming] = await timed(() => steps.blame(store, 'long'));
    expect(blame['/total']).toBe(20_001);
    expect(blame['/byId/s7/tries']).toBe(18_009);
    expect(Object.keys(blame)).toHaveLength(1 + 2_000 + 20_000);
    // Comparing the state before and after each event would take hundreds of times as long.
    expect(blaming).toBeLessThan(10 * reading);
  });
});

describe('a projection', () => {
  it('ignores events whose type is the name of a member that every object has', async () => {
    const store = memoryStore();
    const seen: string[] = [];
    const types = defineProjection({
      name: 'types',
      version: 1,
      initial: { n: 0 },
      on: { Progress: () => void seen.push('Progress') },
    } as never);
    for (const eventType of ['toString', 'constructor', 'Progress'])
      await store.runs.handle('r').append(eventType as never);
    expect(await types.get(store, 'r')).toMatchObject({ state: { n: 0 } });
    expect(seen).toEqual(['Progress']);
  });

  it.each([
    ['', 'name'],
    ['1 name', 'name'],
    [7, 'name'],
    [['orders'], 'name'],
    [undefined, 'name'],
  ])('refuses the name %j', (name, field) => {
    expect(() => defineProjection({ name, version: 1, initial: {}, on: {} } as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', field }),
    );
  });
});

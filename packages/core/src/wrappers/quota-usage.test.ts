/** The shared record of a tenant's usage: counted over every page, and joined by what each process adds. */
import { describe, expect, it } from 'vitest';
import type { Store } from '../contracts/store.ts';
import { memoryStore } from '../memory/store.ts';
import { InterceptedStore } from './intercept.ts';
import { SharedUsage } from './quota-usage.ts';

const NONE = { runs: 0, bytes: 0 };
const time = { now: 0 };
const usageOf = (store: Store) => new SharedUsage(store.forTenant('acme'), () => time.now);

async function filled(): Promise<Store> {
  const store = memoryStore();
  const { runs, artifacts } = store.forTenant('acme');
  await runs.handle('r').append('Progress', { a: 1 });
  await artifacts.putText('12345');
  return store;
}

const EVENT_BYTES = '{"a":1}'.length;

describe('the usage of a tenant', () => {
  it('is counted once and then read from the record', async () => {
    const store = await filled();
    const first = usageOf(store);
    await first.current();
    expect(first.total).toEqual({ runs: 1, bytes: EVENT_BYTES + 5 });
    await store.forTenant('acme').runs.handle('q').append('Progress', { a: 1 });
    const second = usageOf(store);
    await second.current();
    expect(second.total, 'what no wrapper counted is missing until a recount').toEqual(first.total);
    expect(await second.recount()).toEqual({ runs: 2, bytes: 2 * EVENT_BYTES + 5 });
  });

  it('is counted over more than one page', async () => {
    const store = memoryStore();
    const { artifacts } = store.forTenant('acme');
    const texts = Array.from({ length: 1_001 }, (_, n) => String(n).padStart(4, '0'));
    await Promise.all(texts.map((text) => artifacts.putText(text, { scope: { traceId: `trace-${text}` } })));
    const usage = usageOf(store);
    await usage.current();
    expect(usage.total).toEqual({ runs: 0, bytes: 4 * 1_001 });
  });

  it('includes what a call holds, and what it settled', async () => {
    const usage = usageOf(memoryStore());
    await usage.current();
    expect([usage.total, usage.isAhead]).toEqual([NONE, false]);
    usage.hold(1, 10);
    expect([usage.total, usage.isAhead]).toEqual([{ runs: 1, bytes: 10 }, false]);
    usage.settle({ runs: 1, bytes: 10 }, { runs: 0, bytes: 4 });
    expect([usage.total, usage.isAhead]).toEqual([{ runs: 0, bytes: 4 }, true]);
    usage.settle(NONE, { runs: 1, bytes: -4 });
    expect([usage.total, usage.isAhead]).toEqual([{ runs: 1, bytes: 0 }, true]);
    usage.settle(NONE, { runs: -1, bytes: 0 });
    expect([usage.total, usage.isAhead]).toEqual([NONE, false]);
  });

  it('is added to the record at most once a second, for all processes', async () => {
    const store = memoryStore();
    const [one, other] = [usageOf(store), usageOf(store)];
    for (const usage of [one, other]) await usage.current();
    one.settle(NONE, { runs: 1, bytes: 10 });
    other.settle(NONE, { runs: 2, bytes: 20 });
    time.now += 999;
    for (const usage of [one, other, one]) await usage.current();
    expect([one.total.runs, other.total.runs]).toEqual([1, 2]);
    time.now += 1;
    for (const usage of [one, other]) await usage.current();
    expect([one.isAhead, other.isAhead]).toEqual([false, false]);
    expect(other.total).toEqual({ runs: 3, bytes: 30 });
    time.now += 1_000;
    await one.current();
    expect(one.total).toEqual({ runs: 3, bytes: 30 });
  });

  it('is never recorded as less than nothing', async () => {
    const store = memoryStore();
    const usage = usageOf(store);
    await usage.current();
    usage.settle(NONE, { runs: -1, bytes: -10 });
    await usage.sync();
    expect(usage.total).toEqual(NONE);
  });

  it('shares one read among calls that wait for it', async () => {
    let reads = 0;
    const counting = new InterceptedStore(memoryStore(), {
      call: (call, proceed) => {
        if (call.domain === 'kv' && call.method === 'get') reads++;
        return proceed();
      },
    });
    const usage = usageOf(counting);
    await Promise.all([usage.sync(), usage.sync(), usage.sync()]);
    expect(reads).toBe(1);
    await usage.sync();
    expect(reads).toBe(2);
  });
});

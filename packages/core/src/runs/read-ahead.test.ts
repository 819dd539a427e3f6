/** Live reads buffer at most one page, even when the consumer is slow and events keep arriving (GEN-3). */
import { describe, expect, it } from 'vitest';
import type { RunEventInput } from '../contracts/run-events.ts';
import type { RunEngine } from '../engine/runs.ts';
import { KeyedRuns } from '../keyed/runs.ts';
import { memoryJournal } from '../memory/journal.ts';
import { memoryRecords } from '../memory/records.ts';
import { StoreContext } from '../tools/context.ts';
import { Runs } from './store.ts';

function setUp() {
  const context = new StoreContext();
  const engine: RunEngine = new KeyedRuns(memoryJournal(context), memoryRecords(context));
  const pages: number[] = [];
  const counted = new Proxy(engine, {
    get(target, key) {
      const method = Reflect.get(target, key, target) as (...args: unknown[]) => Promise<unknown>;
      if (key !== 'fetch' && key !== 'feed') return typeof method === 'function' ? method.bind(target) : method;
      return async (...args: unknown[]) => {
        const page = (await method.apply(target, args)) as { events: unknown[] } | unknown[];
        pages.push(Array.isArray(page) ? page.length : page.events.length);
        return page;
      };
    },
  });
  return { runs: new Runs(context, counted, null), pages };
}

function events(count: number): RunEventInput[] {
  return Array.from({ length: count }, () => ({
    ...{ eventId: crypto.randomUUID(), eventType: 'Progress', emittedAt: '2026-02-16T09:30:00.000Z' },
    ...{ runId: 'r', tenantId: 't', projectId: 'p', environmentId: 'e', planId: 'plan', planVersion: '1' },
    ...{ engineAttemptId: 1, logicalAttemptId: 1 },
  }));
}

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));

describe('live reads', () => {
  it('of a run read the next page only when the consumer asks for it', async () => {
    const { runs, pages } = setUp();
    await runs.appendEvents(events(1_000));
    const tail = runs.tail('r', { limit: 100 })[Symbol.asyncIterator]();
    await tail.next();
    for (let n = 0; n < 5; n++) await runs.appendEvents(events(1_000));
    await sleep(1_100);
    expect(pages).toEqual([100]);
    for (let n = 0; n < 100; n++) await tail.next();
    expect(pages).toEqual([100, 100]);
    await tail.return?.();
  });

  it('of the feed read the next page only when the consumer asks for it', async () => {
    const { runs, pages } = setUp();
    for (let n = 0; n < 3; n++) await runs.appendEvents(events(1_000));
    const feed = runs.feed()[Symbol.asyncIterator]();
    await feed.next();
    await runs.appendEvents(events(1_000));
    await sleep(1_100);
    expect(pages.filter((size) => size > 1)).toEqual([1_000]);
    await feed.return?.();
  });
});

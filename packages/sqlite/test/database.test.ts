/**
 * One file with several writers: locks of other processes, shared commits, the caller's transaction, notifications from
 * other processes.
 */
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunEventRecord, Store } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newPath, openStore, runEvent } from './fixtures.ts';
import { startNode } from './programs.ts';

/** Takes the write lock of the file, prints that, and releases it after a time. */
const LOCKER = `
  import { DatabaseSync } from 'node:sqlite';
  const [path, ms] = process.argv.slice(1);
  const database = new DatabaseSync(path);
  database.exec('PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE');
  console.log('locked');
  setTimeout(() => { database.exec('COMMIT'); database.close(); }, Number(ms));`;

/** Appends numbered events to the run \`r\`, one every few milliseconds, each with the time it was sent. */
const APPENDER = `
  import { sqliteStore } from '@tidemark/sqlite';
  const store = await sqliteStore(process.argv[1]);
  const run = store.runs.handle('r');
  for (let n = 1; n <= 20; n++) {
    await run.append('Progress', { n, sentAt: Date.now() });
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
  await store.close();`;

/** Returns the longest time between two turns of the event loop during the work. */
async function longestGap(work: () => Promise<unknown>): Promise<number> {
  let last = performance.now();
  let longest = 0;
  const look = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 5);
  try {
    await work();
    look();
  } finally {
    clearInterval(timer);
  }
  return longest;
}

/** The application's own handle, with its own table in the same file. */
function callersHandle(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  onTestFinished(() => database.close());
  database.exec('CREATE TABLE orders (id TEXT) STRICT');
  return database;
}

function ordersIn(database: DatabaseSync): number {
  return Number(database.prepare('SELECT count(*) AS count FROM orders').get()!.count);
}

describe('a write lock that another process holds', () => {
  it('is waited for without blocking this process', { timeout: 60_000, retry: 2 }, async () => {
    const path = newPath();
    const store = await openStore(path);
    await store.runs.appendEvent(runEvent('r'));
    const locker = startNode({ source: LOCKER }, path, '300');
    await locker.said('locked');
    const began = performance.now();
    const gap = await longestGap(() =>
      Promise.all(Array.from({ length: 20 }, () => store.runs.appendEvent(runEvent('r')))),
    );
    expect(performance.now() - began, 'the lock was there').toBeGreaterThan(150);
    expect(gap, 'the event loop went on turning').toBeLessThan(100);
    expect(await store.runs.headSeq('r')).toBe(21);
    await locker.ended;
  });

  it('does not keep readers waiting', { timeout: 60_000 }, async () => {
    const path = newPath();
    const store = await openStore(path);
    await store.runs.appendEvent(runEvent('r'));
    const locker = startNode({ source: LOCKER }, path, '1000');
    await locker.said('locked');
    expect(await store.runs.fetchEvents('r', { timeoutMs: 500 })).toHaveLength(1);
    locker.child.kill();
    await locker.ended;
  });

  it('held past the time limit rejects the write, and nothing is stored (GEN-8)', {
    timeout: 60_000,
  }, async () => {
    const path = newPath();
    const store = await openStore(path, { timeoutMs: 300 });
    const locker = startNode({ source: LOCKER }, path, '1500');
    await locker.said('locked');
    const refused = await store.runs.appendEvent(runEvent('r', 'k')).catch((error) => error);
    // An unknown outcome would also be correct, as long as a retry settles it.
    expect(['TIMEOUT', 'UNAVAILABLE', 'OUTCOME_UNKNOWN']).toContain(refused.code);
    await locker.ended;
    await sleep(300);
    expect(await store.runs.fetchEvents('r'), 'a write that was given up does not turn up later').toEqual([]);
    expect((await store.runs.appendEvent(runEvent('r', 'k'))).runSeq).toBe(1);
  });

  it('held past the time limit rejects the call: nothing was begun (GEN-3)', async () => {
    const path = newPath();
    const store = await openStore(path, { timeoutMs: 100 });
    const locker = new DatabaseSync(path);
    onTestFinished(() => locker.close());
    locker.exec('BEGIN IMMEDIATE');
    for (let attempt = 0; attempt < 10; attempt++) {
      await expect(store.runs.appendEvent(runEvent('r'))).rejects.toMatchObject({ outcome: 'rejected' });
    }
  });
});

describe('reads', () => {
  it('in a row let timers and other calls run', async () => {
    const store = await openStore(newPath());
    await store.runs.appendEvents(Array.from({ length: 1_000 }, () => runEvent('r')));
    const gap = await longestGap(async () => {
      const until = performance.now() + 400;
      while (performance.now() < until) await store.runs.fetchEvents('r');
    });
    expect(gap).toBeLessThan(200);
  });
});

describe('a shared commit', () => {
  it('lets one bad event fail alone, with its neighbours stored (RUN-7)', async () => {
    const store = await openStore(newPath());
    await store.runs.appendEvent(runEvent('r'));
    const settled = await Promise.allSettled([
      store.runs.appendEvent(runEvent('r', 'a')),
      store.runs.appendEvent(runEvent('r', 'fenced'), { expectedSeq: 77 }),
      store.runs.appendEvents([runEvent('r', 'b'), runEvent('r', 'c')], { expectedSeq: 99 }),
      store.runs.appendEvent({ ...runEvent('r', 'scope'), projectId: 'other' }),
      store.runs.appendEvents([runEvent('r', 'd'), runEvent('r', 'e')]),
    ]);
    expect(settled.map((it) => (it.status === 'fulfilled' ? 'stored' : it.reason.code))).toEqual([
      'stored',
      'SEQ_CONFLICT',
      'SEQ_CONFLICT',
      'SCOPE_MISMATCH',
      'stored',
    ]);
    const events = await store.runs.fetchEvents('r');
    expect(events.map(({ idempotencyKey }) => idempotencyKey).slice(1)).toEqual(['a', 'd', 'e']);
    expect((await store.runs.verify('r')).ok).toBe(true);
  });

  it('keeps two stores on one file from issuing a sequence twice (RUN-2)', async () => {
    const path = newPath();
    const stores = [await openStore(path), await openStore(path)];
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, index) => stores[index % 2]!.runs.appendEvent(runEvent('r', `k${index}`))),
    );
    expect(results.map(({ runSeq }) => runSeq).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 200 }, (_, index) => index + 1),
    );
    expect(await stores[0]!.runs.verify('r')).toMatchObject({ ok: true, events: 200 });
  });

  it('stores a key once, even if two stores append it (RUN-4)', async () => {
    const path = newPath();
    const stores = [await openStore(path), await openStore(path)];
    const event = runEvent('r', 'k');
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, index) => stores[index % 2]!.runs.appendEvent(event)),
    );
    expect(results.filter(({ persisted }) => persisted)).toHaveLength(1);
    expect(new Set(results.map(({ runSeq }) => runSeq))).toEqual(new Set([1]));
  });

  it('never moves times back along a run, even when the clock does (RUN-6, F15)', async () => {
    let now = Date.parse('2026-01-01T12:00:00Z');
    const store = await openStore(newPath(), { clock: () => now });
    await store.runs.appendEvent(runEvent('r'));
    now -= 3_600_000;
    await store.runs.appendEvent(runEvent('r'));
    now += 1;
    await store.runs.appendEvents([runEvent('r'), runEvent('r')]);
    const times = (await store.runs.fetchEvents('r')).map(({ persistedAt }) => persistedAt);
    expect(times).toEqual([...times].sort());
    expect(times[1]).toBe('2026-01-01T12:00:00.000Z');
  });
});

describe("the caller's own transaction", () => {
  it('commits its rows and the events together, and tails see them after the commit', async () => {
    const path = newPath();
    const store = await openStore(path);
    const tail = nextEvent(store, 'r');
    const database = callersHandle(path);
    database.exec('BEGIN IMMEDIATE');
    database.exec("INSERT INTO orders VALUES ('o-1')");
    const results = await store.runs.appendEvents([runEvent('r', 'a'), runEvent('r', 'b')], { transaction: database });
    expect(results.map(({ runSeq }) => runSeq)).toEqual([1, 2]);
    expect(await store.runs.fetchEvents('r'), 'nobody sees it before the commit').toEqual([]);
    database.exec('COMMIT');
    expect(await tail).toMatchObject({ runSeq: 1, idempotencyKey: 'a' });
    expect(ordersIn(database)).toBe(1);
    expect((await store.runs.appendEvent(runEvent('r', 'c'))).runSeq, 'the store goes on after it').toBe(3);
    expect((await store.runs.verify('r')).ok).toBe(true);
  });

  it('removes the events with its rows when it is rolled back', async () => {
    const path = newPath();
    const store = await openStore(path);
    await store.runs.appendEvent(runEvent('r', 'before'));
    const database = callersHandle(path);
    database.exec("BEGIN IMMEDIATE; INSERT INTO orders VALUES ('o-1')");
    await store.runs.appendEvent(runEvent('r', 'a'), { transaction: database });
    database.exec('ROLLBACK');
    expect(ordersIn(database)).toBe(0);
    expect((await store.runs.appendEvent(runEvent('r', 'b'))).runSeq).toBe(2);
    expect((await store.runs.fetchEvents('r')).map((it) => it.idempotencyKey)).toEqual(['before', 'b']);
    expect((await store.runs.verify('r')).ok).toBe(true);
  });

  it('must have begun', async () => {
    const path = newPath();
    const store = await openStore(path);
    const append = store.runs.appendEvents([runEvent('r')], { transaction: callersHandle(path) });
    await expect(append).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field: 'transaction' });
  });

  it('fails with a TidemarkError when another process holds the lock (GEN-1)', async () => {
    const path = newPath();
    const store = await openStore(path);
    const [database, locker] = [callersHandle(path), new DatabaseSync(path)];
    onTestFinished(() => locker.close());
    locker.exec('BEGIN IMMEDIATE');
    database.exec('PRAGMA busy_timeout = 0; BEGIN');
    const append = store.runs.appendEvent(runEvent('r'), { transaction: database });
    await expect(append).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('must be a handle of node:sqlite', async () => {
    const store = await openStore(newPath());
    const append = store.runs.appendEvent(runEvent('r'), { transaction: {} });
    await expect(append).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field: 'transaction' });
  });
});

describe('changes by other processes', () => {
  it('reach a tail and a feed within a few polls', { timeout: 60_000, retry: 2 }, async () => {
    const path = newPath();
    const store = await openStore(path);
    const ended = new AbortController();
    const delays: number[] = [];
    const tailing = (async () => {
      for await (const { payload } of store.runs.tail('r', { tenantId: 'default', signal: ended.signal })) {
        delays.push(Date.now() - Number(payload!.sentAt));
        if (payload!.n === 20) return;
      }
    })();
    const fed: unknown[] = [];
    const feeding = (async () => {
      for await (const { event } of store.runs.feed({ signal: ended.signal })) {
        fed.push(event.payload!.n);
        if (event.payload!.n === 20) return;
      }
    })();
    const appender = startNode({ source: APPENDER }, path);
    expect(await appender.ended).toMatchObject({ code: 0, stderr: '' });
    await Promise.all([tailing, feeding]);
    ended.abort();
    expect(fed).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    expect(delays).toHaveLength(20);
    const typical = [...delays].sort((a, b) => a - b)[10]!;
    expect(typical, `half of the delays ${delays.join(', ')} ms`).toBeLessThan(300);
  });
});

async function nextEvent(store: Store, runId: string): Promise<RunEventRecord | undefined> {
  for await (const event of store.runs.tail(runId, { tenantId: 'default' })) return event;
  return undefined;
}

/** The errors that callers get when the server or the connection fails, and that they are true (GEN-3, GEN-8). */
import { isTidemarkError, type Store } from '@tidemark/core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { FaultProxy } from '../../../faults/proxy.ts';
import { runQuietly } from '../../../scripts/processes.ts';
import { startOwnServer } from '../../../scripts/servers/index.ts';
import type { RunningServer } from '../../../scripts/servers/start.ts';
import { keysOf, newDatabase, openClient, openStore, runEvent, WITHOUT_POSTGRES } from './databases.ts';
import { through, withClient } from './servers.ts';

/** Returns the code of a call's error and how long it took. Fails the test if the call succeeds. */
async function failureOf(call: Promise<unknown>): Promise<{ code: string; outcome: string; ms: number }> {
  const began = performance.now();
  const error: unknown = await call.then(
    () => expect.fail('The call succeeded'),
    (reason: unknown) => reason,
  );
  if (!isTidemarkError(error)) throw error;
  return { code: error.code, outcome: error.outcome, ms: performance.now() - began };
}

/** Ends every connection of stores to this database. */
const TERMINATE = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE application_name LIKE 'tidemark%' AND datname = current_database()`;

async function proxyTo(url: string): Promise<FaultProxy> {
  const proxy = await FaultProxy.before(url);
  onTestFinished(() => proxy.close());
  return proxy;
}

/** Retries an append until it succeeds, as a caller may. */
async function untilAppended(store: Store, event = runEvent('r'), limitMs = 10_000): Promise<void> {
  const limit = performance.now() + limitMs;
  for (;;) {
    try {
      await store.runs.appendEvent(event);
      return;
    } catch (error) {
      if (!isTidemarkError(error) || !error.retryable || performance.now() > limit) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe.skipIf(WITHOUT_POSTGRES)('a reply that is lost after the commit (F8)', () => {
  it('fails with OUTCOME_UNKNOWN, and a retry with the same key settles it', async () => {
    const url = await newDatabase();
    const proxy = await proxyTo(url);
    const store = await openStore(through(url, proxy.port));
    await store.runs.appendEvent(runEvent('r', 'first'));
    const event = runEvent('r', 'lost-reply-key');
    proxy.cutReplyTo('lost-reply-key');
    expect(await failureOf(store.runs.appendEvent(event))).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(proxy.cuts).toBe(1);
    const direct = await openStore(url);
    expect(await keysOf(direct, 'r')).toEqual(['first', 'lost-reply-key']);
    expect(await store.runs.appendEvent(event)).toMatchObject({ runSeq: 2, idempotent: true, eventId: event.eventId });
    expect(await keysOf(direct, 'r')).toEqual(['first', 'lost-reply-key']);
  });

  it('fails with OUTCOME_UNKNOWN for a fenced append too, whose COMMIT is a separate message', async () => {
    const url = await newDatabase();
    const proxy = await proxyTo(url);
    const store = await openStore(through(url, proxy.port));
    const event = runEvent('r', 'fenced');
    proxy.cutReplyTo('COMMIT\0');
    expect(await failureOf(store.runs.appendEvent(event, { expectedSeq: 0 }))).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
    });
    expect(proxy.cuts).toBe(1);
    expect(await store.runs.appendEvent(event)).toMatchObject({ runSeq: 1, idempotent: true });
  });
});

describe.skipIf(WITHOUT_POSTGRES)('a connection that goes silent (F9)', () => {
  it('ends calls at their time limit, writes as unknown, and is replaced once the network works again', async () => {
    const url = await newDatabase();
    const proxy = await proxyTo(url);
    const store = await openStore(through(url, proxy.port), { timeoutMs: 2_000, connectionTimeoutMs: 2_000 });
    await store.runs.appendEvent(runEvent('r', 'before'));
    proxy.goSilent();
    const event = runEvent('r', 'into-the-silence');
    const append = await failureOf(store.runs.appendEvent(event));
    expect(append).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(append.ms, 'not its usual five seconds').toBeLessThan(4_500);
    const read = await failureOf(store.runs.fetchEvents('r'));
    expect(read.outcome).toBe('rejected');
    expect(read.ms, 'not its usual five seconds').toBeLessThan(4_500);
    proxy.heal();
    await untilAppended(store, event);
    expect(await keysOf(await openStore(url), 'r')).toEqual(['before', 'into-the-silence']);
  });

  it('only delays calls when it is slow (F10)', async () => {
    const url = await newDatabase();
    const proxy = await proxyTo(url);
    const store = await openStore(through(url, proxy.port));
    proxy.delayMs = 30;
    await Promise.all(Array.from({ length: 20 }, (_, at) => store.runs.appendEvent(runEvent('r', String(at)))));
    expect((await keysOf(store, 'r')).length).toBe(20);
  });
});

describe.skipIf(WITHOUT_POSTGRES)('a lock that another client holds', () => {
  it('ends the append at its time limit, and nothing is written later', async () => {
    const url = await newDatabase();
    const store = await openStore(url, { timeoutMs: 1_500 });
    await store.runs.appendEvent(runEvent('r', 'a'));
    const client = await openClient(url);
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM tidemark.runs FOR UPDATE');
    const failure = await failureOf(store.runs.appendEvent(runEvent('r', 'b')));
    expect(['TIMEOUT', 'OUTCOME_UNKNOWN']).toContain(failure.code);
    expect(failure.ms, 'not its usual five seconds').toBeLessThan(4_500);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await client.query('COMMIT');
    if (failure.code === 'TIMEOUT') expect(await keysOf(store, 'r')).toEqual(['a']);
    await untilAppended(store, runEvent('r', 'c'));
    expect(await keysOf(store, 'r')).toEqual(['a', 'c']);
  });

  it('past the server’s lock_timeout fails with UNAVAILABLE, and nothing is written', async () => {
    const url = await newDatabase();
    await withClient(url, (client) =>
      client.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET lock_timeout = 200`),
    );
    const store = await openStore(url);
    await store.runs.appendEvent(runEvent('r', 'a'));
    const client = await openClient(url);
    await client.query('BEGIN');
    await client.query('SELECT 1 FROM tidemark.runs FOR UPDATE');
    expect(await failureOf(store.runs.appendEvent(runEvent('r', 'b')))).toMatchObject({ code: 'UNAVAILABLE' });
    await client.query('COMMIT');
    expect(await keysOf(store, 'r')).toEqual(['a']);
  });
});

describe.skipIf(WITHOUT_POSTGRES)('an exhausted pool (F18)', () => {
  it('makes 50 slow calls on two connections wait within bounds, and completes each', async () => {
    const url = await newDatabase();
    const store = await openStore(url, { maxConnections: 2, connectionTimeoutMs: 300, timeoutMs: 1_000 });
    await store.runs.appendEvent(runEvent('r', 'a'));
    const client = await openClient(url);
    await client.query('BEGIN');
    await client.query('LOCK TABLE tidemark.run_events, tidemark.runs IN ACCESS EXCLUSIVE MODE');
    const began = performance.now();
    const calls = Array.from({ length: 50 }, (_, at) =>
      at % 2 === 0
        ? store.runs.fetchEvents('r')
        : store.runs.appendEvent(runEvent('r', String(at)), { expectedSeq: 1 }),
    );
    const failures = await Promise.all(calls.map(failureOf));
    expect(performance.now() - began, 'not one after the other').toBeLessThan(15_000);
    const codes = new Set(failures.map(({ code }) => code));
    for (const code of codes) expect(['TIMEOUT', 'UNAVAILABLE', 'OUTCOME_UNKNOWN']).toContain(code);
    expect(codes).toContain('UNAVAILABLE');
    await client.query('COMMIT');
    await untilAppended(store, runEvent('r', 'z'));
    const maybe = failures.flatMap(({ outcome }, at) => (outcome === 'unknown' ? [String(at)] : []));
    const stored = await keysOf(store, 'r');
    expect(stored.filter((key) => !maybe.includes(key))).toEqual(['a', 'z']);
  });
});

describe.skipIf(WITHOUT_POSTGRES)('a server that accepts no writes', () => {
  it('fails writes with UNAVAILABLE, while reads continue (F12)', async () => {
    const url = await newDatabase();
    const name = new URL(url).pathname.slice(1);
    const store = await openStore(url);
    await store.runs.appendEvent(runEvent('r', 'a'));
    // As after a failover: connections break, and the server at the old address is read-only.
    await withClient(url, async (client) => {
      await client.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
      await client.query(TERMINATE);
    });
    expect(await failureOf(store.runs.appendEvent(runEvent('r', 'b')))).toMatchObject({ code: 'UNAVAILABLE' });
    expect(await keysOf(store, 'r')).toEqual(['a']);
  });
});

describe.skipIf(WITHOUT_POSTGRES)('a separate server', () => {
  let server: RunningServer;
  beforeAll(async () => {
    server = await startOwnServer('postgres');
  }, 60_000);
  afterAll(() => server?.stop());

  it('fails an append with OUTCOME_UNKNOWN when its wait for a synchronous standby is cancelled', {
    timeout: 60_000,
  }, async () => {
    const url = await newDatabase(server.url);
    const store = await openStore(url, { timeoutMs: 10_000 });
    const client = await openClient(url);
    await store.runs.appendEvent(runEvent('r', 'a'));
    const settle = async (names: string) => {
      await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
      await client.query('SELECT pg_reload_conf()');
      await new Promise((resolve) => setTimeout(resolve, 300));
    };
    await settle('missing');
    onTestFinished(() => settle(''));
    for (const options of [{}, { expectedSeq: 2 }]) {
      const event = runEvent('r');
      const failing = failureOf(store.runs.appendEvent(event, options));
      let cancelled = 0;
      while (cancelled === 0) {
        const { rows } = await client.query(
          "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
        );
        cancelled = rows.length;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      expect(await failing).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    }
    await settle('');
    expect((await keysOf(store, 'r')).length).toBe(3);
  });

  it('that ends idle connections does not end the process, and the store recovers', async () => {
    const url = await newDatabase(server.url);
    const store = await openStore(url);
    await Promise.all(Array.from({ length: 5 }, (_, at) => store.runs.appendEvent(runEvent('r', String(at)), {})));
    await withClient(url, (client) => client.query(TERMINATE));
    await untilAppended(store, runEvent('r', 'after'));
    expect((await keysOf(store, 'r')).length).toBe(6);
  });

  it('with too few connections fails with UNAVAILABLE and works when there is room again (F19)', async () => {
    const url = await newDatabase(server.url);
    const store = await openStore(url);
    const name = new URL(url).pathname.slice(1);
    const admin = await openClient(server.url);
    await admin.query(`CREATE ROLE crowded LOGIN CONNECTION LIMIT 1`);
    await admin.query(`GRANT ALL ON DATABASE ${name} TO crowded`);
    const crowded = new URL(url);
    crowded.username = 'crowded';
    const holder = await openClient(crowded.href);
    const failing = openStore(crowded.href, { migrate: false });
    expect(await failureOf(failing)).toMatchObject({ code: 'UNAVAILABLE' });
    await holder.end();
    expect(await store.runs.headSeq('r')).toBe(0);
  });
});

describe.skipIf(WITHOUT_POSTGRES)('a server killed and restarted under load (F2)', () => {
  it('loses no acknowledged write, and the client recovers automatically', { timeout: 120_000 }, async () => {
    const { code, output } = await runQuietly(process.execPath, [
      'scripts/run.js',
      'faults/postgres-kill',
      '--rounds',
      '3',
    ]);
    expect(code, output).toBe(0);
    expect(output).toMatch(
      /postgres-kill: 3 rounds, [1-9]\d* acked, \d+ unknown, \d+ rejected, 0 lost, 0 duplicated, 0 problems/,
    );
  });
});

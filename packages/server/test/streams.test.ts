/**
 * Live streams: resumed without gaps or repeats, not slowed by a stalled reader, and ended so that readers can resume.
 */
import { connect as connectSocket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { RunEventRecord, Store } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { createServer } from '../src/index.ts';
import { readUntil, runEvent, send, startServer } from './running.ts';

const LIVE = { accept: 'text/event-stream' };

/** Returns the first `count` sequences of a tail. */
async function tailOf(client: Store, runId: string, count: number, seen: RunEventRecord[] = []): Promise<number[]> {
  const stop = new AbortController();
  for await (const event of client.runs.tail(runId, { signal: stop.signal })) {
    seen.push(event);
    if (seen.length === count) stop.abort();
  }
  return seen.map(({ runSeq }) => runSeq);
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

/** Returns the bytes in use. Memory freed by one collection is released only in a later turn. */
async function heldBytes(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let turn = 0; turn < 3; turn++) {
    collect();
    await setImmediate();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe('a stream of events', () => {
  it('resumes after Last-Event-ID, which wins over the requested cursor', async () => {
    const { url, store } = await startServer();
    await store.runs.appendEvents(upTo(5).map((n) => runEvent('r', `k${n}`)));
    const answer = await fetch(`${url}/v1/runs/r/events?afterSeq=1`, { headers: { ...LIVE, 'last-event-id': '3' } });
    const text = await readUntil(answer.body!, 'caught-up');
    expect([...text.matchAll(/^id: (\d+)\nevent: run\.event/gm)].map(([, id]) => id)).toEqual(['4', '5']);
    await answer.body!.cancel();
  });

  it('is shared by many readers, each of which gets every event once', async () => {
    const { client, store } = await startServer();
    await store.runs.appendEvent(runEvent('r'));
    const readers = upTo(40).map(() => tailOf(client, 'r', 30));
    for (let n = 1; n < 30; n++) await store.runs.appendEvent(runEvent('r'));
    for (const seen of await Promise.all(readers)) expect(seen).toEqual(upTo(30));
  });

  it('resumes when the server restarts, without gaps or repeats', async () => {
    const first = await startServer();
    const port = Number(new URL(first.url).port);
    const seen: RunEventRecord[] = [];
    const tail = tailOf(first.client, 'r', 60, seen);
    for (let n = 0; n < 20; n++) await first.store.runs.appendEvent(runEvent('r'));
    await expect.poll(() => seen.length).toBe(20);
    await first.server.close();
    for (let n = 0; n < 20; n++) await first.store.runs.appendEvent(runEvent('r'));
    const again = createServer({ store: first.store, port });
    await again.listen();
    try {
      for (let n = 0; n < 20; n++) await first.store.runs.appendEvent(runEvent('r'));
      expect(await tail).toEqual(upTo(60));
    } finally {
      await again.close();
    }
  });

  it('waits for something new in a long poll', async () => {
    const { url, store } = await startServer();
    const empty = await fetch(`${url}/v1/runs/r/events?wait=50ms`);
    expect(await empty.json()).toEqual({ items: [] });
    const poll = fetch(`${url}/v1/runs/r/events?wait=20s`);
    await store.runs.appendEvent(runEvent('r'));
    expect(((await (await poll).json()) as { items: unknown[] }).items).toHaveLength(1);
  });
});

describe('a stalled reader', () => {
  it('neither slows the others nor makes the server hold unread data', async () => {
    const { url, store, client } = await startServer();
    const payload = { text: 'x'.repeat(250_000) };
    const { port, hostname } = new URL(url);
    const stalled = connectSocket(Number(port), hostname);
    stalled.write('GET /v1/runs/r/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n');
    stalled.pause();
    const reader = tailOf(client, 'r', 120);
    await expect.poll(async () => (await fetch(`${url}/metrics`)).text()).toContain('tidemark_open_streams 2');
    const before = await heldBytes();
    for (let n = 0; n < 120; n++) await store.runs.appendEvent(runEvent('r', `k${n}`, payload));
    expect(await reader, 'the other has everything').toEqual(upTo(120));
    expect((await heldBytes()) - before, '30 MB passed by').toBeLessThan(15_000_000);
    stalled.destroy();
  });
});

describe('several topics over one connection', () => {
  it('show which item belongs to which topic, and resume together after the last id', async () => {
    const { url, store } = await startServer();
    const topics = 'runs/a%2Fb,kv/jobs.,sessions/s,runs';
    const open = (headers = {}) => fetch(`${url}/v1/stream?topics=${encodeURIComponent(topics)}`, { headers });
    await store.runs.appendEvent(runEvent('a/b', 'k1'));
    const first = await open();
    await readUntil(first.body!, '"topic":"sessions/s"');
    await store.kv.put('jobs.1', { state: 'pending' });
    expect(await readUntil(first.body!, 'kv.change')).toContain('"topic":"kv/jobs."');
    await store.runs.appendEvent(runEvent('another'));
    const text = await readUntil(first.body!, '"runId":"another"');
    expect(text).toContain('event: run.changed');
    const lastId = [...text.matchAll(/^id: (.+)$/gm)].at(-1)![1]!;
    await first.body!.cancel();
    await store.runs.appendEvent(runEvent('a/b', 'k2'));
    await store.kv.put('jobs.2', { state: 'pending' });
    const second = await open({ 'last-event-id': lastId });
    const more = await readUntil(second.body!, 'jobs.2');
    const rest = more.includes('"runSeq":2') ? more : more + (await readUntil(second.body!, '"runSeq":2'));
    expect(rest, 'received events are not sent twice').not.toContain('"runSeq":1,');
    expect(rest).not.toContain('jobs.1');
    await second.body!.cancel();
  });

  it('report when items in between are no longer known', async () => {
    const { url } = await startServer();
    const answer = await fetch(`${url}/v1/kv?prefix=a`, { headers: { ...LIVE, 'last-event-id': 'elsewhere.7' } });
    expect(await readUntil(answer.body!, 'reset')).toContain('event: reset');
    await answer.body!.cancel();
  });
});

describe('closing', () => {
  it('completes accepted requests, ends streams, and accepts no more', async () => {
    const { url, server, store } = await startServer();
    const stream = await fetch(`${url}/v1/runs/r/events`, { headers: LIVE });
    await readUntil(stream.body!, 'caught-up');
    const writes = upTo(50).map((n) => send(`${url}/v1/events`, 'POST', runEvent('r', `k${n}`)));
    await Promise.race(writes);
    const closing = server.close();
    const answers = await Promise.allSettled(writes);
    await closing;
    const stored = answers.filter((it) => it.status === 'fulfilled' && it.value.status === 201).length;
    expect(stored).toBeGreaterThan(0);
    expect(await store.runs.headSeq('r'), 'what was answered is stored').toBeGreaterThanOrEqual(stored);
    expect(await readUntil(stream.body!, 'event: end')).toContain('event: end');
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
  });
});

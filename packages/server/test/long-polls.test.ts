/** A long poll returns when there is something new or when its time is up, and never before. */
import { describe, expect, it } from 'vitest';
import { readUntil, runEvent, startServer } from './running.ts';

const WAIT_MS = 1_500;

const READS = [
  ['events of a run', '/v1/runs/quiet/events?'],
  ['events of a run that has some', '/v1/runs/run/events?afterSeq=1&'],
  ['updates of a session', '/v1/sessions/session/updates?'],
  ['updates of a task', '/v1/sessions/session/updates?taskId=task&'],
] as const;

async function timed(url: string): Promise<{ ms: number; items: unknown[] }> {
  const started = performance.now();
  const { items } = (await (await fetch(url)).json()) as { items: unknown[] };
  return { ms: performance.now() - started, items };
}

const update = (updateId: string) => ({
  sessionId: 'session',
  taskId: 'task',
  updateId,
  updateType: 'PROGRESS' as const,
  content: {},
  createdAt: new Date().toISOString(),
});

describe('long polls', () => {
  it.each(READS)('wait as long as requested on an idle store: %s', async (_, path) => {
    const { url, store } = await startServer();
    await store.runs.appendEvent(runEvent('run'));
    // The second poll finds a topic that is already followed.
    for (const poll of [1, 2]) {
      const { ms, items } = await timed(`${url}${path}wait=${WAIT_MS}ms`);
      expect(items).toEqual([]);
      expect(ms, `poll ${poll}`).toBeGreaterThanOrEqual(WAIT_MS - 5);
    }
  });

  it('wait as long as requested on the feed', async () => {
    const { url, store } = await startServer();
    await store.runs.appendEvent(runEvent('run'));
    const page = (await (await fetch(`${url}/v1/events`)).json()) as { items: { cursor: string }[] };
    const after = encodeURIComponent(page.items.at(-1)!.cursor);
    const { ms, items } = await timed(`${url}/v1/events?cursor=${after}&wait=${WAIT_MS}ms`);
    expect(items).toEqual([]);
    expect(ms).toBeGreaterThanOrEqual(WAIT_MS - 5);
  });

  it('wait while other polls of the same run begin and end', async () => {
    const { url, store } = await startServer();
    await store.runs.appendEvent(runEvent('other'));
    const stream = await fetch(`${url}/v1/runs/quiet/events`, { headers: { accept: 'text/event-stream' } });
    await readUntil(stream.body!, 'caught-up');
    const polls = Array.from({ length: 5 }, () => timed(`${url}/v1/runs/quiet/events?wait=${WAIT_MS}ms`));
    await stream.body!.cancel();
    for (const { ms, items } of await Promise.all(polls)) {
      expect(items).toEqual([]);
      expect(ms).toBeGreaterThanOrEqual(WAIT_MS - 5);
    }
  });

  it('return items that are stored while they wait, every time', async () => {
    const { url, store } = await startServer();
    for (let seq = 1; seq <= 20; seq++) {
      const events = timed(`${url}/v1/runs/run/events?afterSeq=${seq - 1}&wait=60s`);
      const updates = timed(`${url}/v1/sessions/session/updates?wait=60s${seq === 1 ? '' : `&sinceId=u${seq - 1}`}`);
      const feed = timed(`${url}/v1/events?eventType=None&wait=1ms`);
      await store.runs.appendEvent(runEvent('run'));
      await store.agents.saveUpdate(update(`u${seq}`));
      expect((await events).items).toHaveLength(1);
      expect((await updates).items).toHaveLength(1);
      expect((await feed).items).toHaveLength(0);
    }
  });

  it('end when the server stops', async () => {
    const { url, server } = await startServer();
    const waiting = timed(`${url}/v1/runs/quiet/events?wait=60s`);
    // A later, shorter poll of the same run has returned, so the first one must be waiting.
    await timed(`${url}/v1/runs/quiet/events?wait=500ms`);
    await server.close();
    expect((await waiting).items).toEqual([]);
  });
});

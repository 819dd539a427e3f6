/** Appends of the client that share a request, against a real server. */
import { httpStore } from '@tidemark/client';
import { isTidemarkError, replay, type Store, type TidemarkError } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runEvent, startServer } from './running.ts';

interface Sent {
  /** The number of events in the request; 1 if an event has its own request. */
  events: number;
  bytes: number;
  type: string;
}

type Answering = (init: RequestInit, send: () => Promise<Response>) => Promise<Response>;

/** Starts a server, and a client whose appends are recorded. `answering` can change what a request is answered. */
async function startRecorded(answering: Answering = (_, send) => send()) {
  const { store, url } = await startServer();
  const sent: Sent[] = [];
  const client = await httpStore({
    url,
    timeoutMs: 20_000,
    fetch: (input, init = {}) => {
      const send = () => fetch(input, init);
      if (init.method !== 'POST') return send();
      const text = String(init.body);
      const type = (init.headers as Record<string, string>)['content-type']!;
      sent.push({ events: type.includes('ndjson') ? text.trim().split('\n').length : 1, bytes: text.length, type });
      return answering(init, send);
    },
  });
  onTestFinished(() => client.close());
  return { store, client, url, sent };
}

function appendAll(client: Store, count: number, runOf = (_: number) => 'r') {
  return Promise.all(Array.from({ length: count }, (_, n) => client.runs.appendEvent(runEvent(runOf(n), `key-${n}`))));
}

const isShared = (init: RequestInit) => String(init.body).includes('\n');

function errorsOf(results: readonly PromiseSettledResult<unknown>[]): TidemarkError[] {
  return results.flatMap((it) => (it.status === 'rejected' ? it.reason : []));
}

describe('appends that wait at the same time', () => {
  it('share one request and keep their order', async () => {
    const { client, sent } = await startRecorded();
    const results = await appendAll(client, 50, (n) => `run-${n % 2}`);
    expect(sent.map(({ events }) => events)).toEqual([50]);
    expect(results.map(({ runSeq }) => runSeq)).toEqual(results.map((_, n) => Math.floor(n / 2) + 1));
    const stored = await client.runs.fetchEvents('run-0');
    expect(stored.map((it) => it.idempotencyKey)).toEqual(stored.map((_, n) => `key-${2 * n}`));
    expect(stored.map((it) => it.eventId).toSorted()).toEqual(
      results.flatMap((it, n) => (n % 2 === 0 ? it.eventId : [])).toSorted(),
    );
  });

  it('share a request across the views of a tenant, and not with other tenants', async () => {
    const { client, sent } = await startRecorded();
    const append = (tenantId: string, n: number) =>
      client.forTenant(tenantId).runs.appendEvent({ ...runEvent('r', `key-${n}`), tenantId });
    await Promise.all([append('a', 0), append('a', 1), append('b', 0), append('a', 2)]);
    expect(sent.map(({ events }) => events).toSorted()).toEqual([1, 3]);
    expect(await client.forTenant('b').runs.headSeq('r')).toBe(1);
  });

  it('have an outcome each', async () => {
    const { client, store, sent } = await startRecorded();
    await store.runs.appendEvent(runEvent('r', 'old'));
    await store.runs.appendEvent(runEvent('gone', 'k'));
    await store.runs.deleteRun('gone');
    const results = await Promise.allSettled([
      client.runs.appendEvent(runEvent('r', 'old')),
      client.runs.appendEvent({ ...runEvent('r', 'bad'), engineAttemptId: 0 }),
      client.runs.appendEvent(runEvent('gone', 'late')),
      client.runs.appendEvent(runEvent('r', 'twice')),
      client.runs.appendEvent(runEvent('r', 'twice')),
    ]);
    expect(sent.map(({ events }) => events)).toEqual([5]);
    expect(results).toMatchObject([
      { value: { runSeq: 1, idempotent: true, persisted: false } },
      { reason: { code: 'INVALID_ARGUMENT', field: 'engineAttemptId', outcome: 'rejected' } },
      { reason: { code: 'RUN_DELETED' } },
      { value: { runSeq: 2, idempotent: false, persisted: true } },
      { value: { runSeq: 2, idempotent: true, persisted: false } },
    ]);
    expect(Object.keys((results[3] as PromiseFulfilledResult<object>).value)).not.toContain('status');
    for (const error of errorsOf(results)) expect(isTidemarkError(error)).toBe(true);
  });

  it('have their own requests if they have options or are large', async () => {
    const { client, sent } = await startRecorded();
    await client.runs.appendEvent(runEvent('r', 'first'));
    sent.length = 0;
    const results = await Promise.allSettled([
      client.runs.appendEvent(runEvent('r', 'a')),
      client.runs.appendEvent(runEvent('r', 'b')),
      client.runs.appendEvent(runEvent('other', 'c'), { expectedSeq: 7 }),
      client.runs.appendEvent({ ...runEvent('large', 'd'), payload: { text: 'x'.repeat(200_000) } }),
    ]);
    expect(sent.map(({ events }) => events).toSorted()).toEqual([1, 1, 2]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(errorsOf(results)).toMatchObject([{ code: 'SEQ_CONFLICT', current: 0 }]);
  });

  it('never exceed the limits of a request', async () => {
    const { client, sent } = await startRecorded();
    const payload = { text: 'x'.repeat(4_000) };
    await Promise.all(
      Array.from({ length: 1_200 }, (_, n) => client.runs.appendEvent({ ...runEvent(`r${n % 9}`, `k${n}`), payload })),
    );
    expect(sent.reduce((sum, { events }) => sum + events, 0)).toBe(1_200);
    for (const { events, bytes } of sent) {
      expect(events).toBeLessThanOrEqual(500);
      expect(bytes).toBeLessThanOrEqual(1024 * 1024 + 500);
    }
  });
});

describe('a lone append', () => {
  it('is sent at once, in its own request', async () => {
    const { client, sent } = await startRecorded();
    for (const key of ['a', 'b', 'c']) await client.runs.appendEvent(runEvent('r', key));
    expect(sent.map(({ type, events }) => [type, events])).toEqual(Array(3).fill(['application/json', 1]));
  });

  it('does not wait for a slow request', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { client } = await startRecorded(async (init, send) => {
      if (isShared(init)) await held;
      return send();
    });
    const slow = appendAll(client, 2);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await client.runs.appendEvent(runEvent('other', 'k'));
    release();
    expect(await slow).toHaveLength(2);
  });
});

describe('a shared request whose answer is lost', () => {
  async function settled(answering: Answering) {
    const { client, store } = await startRecorded(answering);
    const results = await Promise.allSettled(
      Array.from({ length: 4 }, (_, n) => client.runs.appendEvent(runEvent(`run-${n}`, `key-${n}`))),
    );
    return { client, store, results };
  }

  it('leaves each outcome unknown, and each error carries its own write', async () => {
    let isLost = true;
    const { client, store, results } = await settled(async (_, send) => {
      const answer = await send();
      if (!isLost) return answer;
      isLost = false;
      throw new TypeError('fetch failed');
    });
    const errors = errorsOf(results);
    expect(errors.map(({ code, outcome }) => [code, outcome])).toEqual(Array(4).fill(['OUTCOME_UNKNOWN', 'unknown']));
    const again = await Promise.all(errors.map((error) => replay(client, error.write!)));
    expect(again).toMatchObject(Array(4).fill({ runSeq: 1, idempotent: true }));
    for (let n = 0; n < 4; n++) {
      const [event, ...others] = await store.runs.fetchEvents(`run-${n}`);
      expect([event?.idempotencyKey, others]).toEqual([`key-${n}`, []]);
    }
  });

  it('keeps the outcomes that arrived before', async () => {
    const { results } = await settled(async (init, send) => {
      const answer = await send();
      if (!isShared(init)) return answer;
      const lines = (await answer.text()).split('\n');
      const cut = `${lines[0]}\n${lines[1]}\n${lines[2]!.slice(0, 10)}`;
      return new Response(cut, { status: 200, headers: { 'content-type': 'application/x-ndjson' } });
    });
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected']);
    expect(errorsOf(results)).toMatchObject(
      [2, 3].map((n) => ({ code: 'OUTCOME_UNKNOWN', write: { args: [{ runId: `run-${n}` }] } })),
    );
  });

  it('leaves the other outcomes unknown if the connection breaks midway', async () => {
    const { store, results } = await settled(async (init, send) => {
      const answer = await send();
      if (!isShared(init)) return answer;
      const [first] = (await answer.text()).split('\n');
      let isSent = false;
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (isSent) controller.error(new TypeError('terminated'));
          else controller.enqueue(new TextEncoder().encode(`${first}\n`));
          isSent = true;
        },
      });
      return new Response(body, { status: 200, headers: { 'content-type': 'application/x-ndjson' } });
    });
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected']);
    expect(errorsOf(results)).toMatchObject(
      [1, 2, 3].map((n) => ({ code: 'OUTCOME_UNKNOWN', write: { args: [{ runId: `run-${n}` }] } })),
    );
    expect(await store.runs.headSeq('run-3')).toBe(1);
  });

  it('gives every caller the error of a rejected request', async () => {
    const refusal = { code: 'OVERLOADED', status: 503, outcome: 'rejected', retryable: true };
    const problem = { ...refusal, type: 'about:blank', title: 'Overloaded', detail: 'Too many calls are waiting' };
    const { store, results } = await settled(async () => Response.json(problem, { status: 503 }));
    expect(errorsOf(results)).toMatchObject(Array(4).fill({ code: 'OVERLOADED', outcome: 'rejected' }));
    expect(await store.runs.headSeq('run-0')).toBe(0);
  });
});

describe('the bounds of each caller', () => {
  it('end only its own call', async () => {
    const { client } = await startRecorded(async (init, send) => {
      if (isShared(init)) await new Promise((resolve) => setTimeout(resolve, 1_500));
      return send();
    });
    const controller = new AbortController();
    const calls = Promise.allSettled([
      client.runs.appendEvent(runEvent('r', 'short'), { timeoutMs: 200 }),
      client.runs.appendEvent(runEvent('r', 'aborted'), { signal: controller.signal }),
      client.runs.appendEvent(runEvent('r', 'patient')),
    ]);
    setTimeout(() => controller.abort(), 300);
    const results = await calls;
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
    expect(errorsOf(results)).toMatchObject([
      { code: 'OUTCOME_UNKNOWN', write: { method: 'appendEvent', args: [{ idempotencyKey: 'short' }] } },
      { code: 'OUTCOME_UNKNOWN', write: { method: 'appendEvent', args: [{ idempotencyKey: 'aborted' }] } },
    ]);
  });

  it('leave nothing written if they end it before it is sent', async () => {
    const { client, store } = await startRecorded(async (_, send) => {
      await new Promise((resolve) => setTimeout(resolve, 60));
      return send();
    });
    const controller = new AbortController();
    const first = client.runs.appendEvent(runEvent('a', 'under way'));
    await new Promise((resolve) => setTimeout(resolve, 10));
    const waiting = client.runs.appendEvent(runEvent('b', 'aborted'), { signal: controller.signal });
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'ABORTED', outcome: 'rejected' });
    await first;
    expect(await store.runs.headSeq('b')).toBe(0);
  });

  it('are respected when the store is closed: accepted appends are still sent', async () => {
    const { client, store } = await startRecorded();
    const calls = appendAll(client, 20);
    await client.close();
    expect(await calls).toHaveLength(20);
    expect(await store.runs.headSeq('r')).toBe(20);
    await expect(client.runs.appendEvent(runEvent('r', 'late'))).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  });
});

it('a request of lines that fails midway is answered for the lines before', async () => {
  const { store, url } = await startServer();
  const lines = [1, 2].map((n) => `${JSON.stringify(runEvent('r', `key-${n}`))}\n`).join('');
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(new TextEncoder().encode(lines));
      await new Promise((resolve) => setTimeout(resolve, 200));
      controller.enqueue(new TextEncoder().encode(`${'x'.repeat(3 * 1024 * 1024)}\n`));
      controller.close();
    },
  });
  const init = { method: 'POST', body, duplex: 'half', headers: { 'content-type': 'application/x-ndjson' } };
  const answer = await fetch(`${url}/v1/events`, init as RequestInit);
  const answered = (await answer.text())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(answered).toMatchObject([{ status: 201, runSeq: 1 }, { status: 201, runSeq: 2 }, { problem: {} }]);
  expect(await store.runs.headSeq('r')).toBe(2);
});

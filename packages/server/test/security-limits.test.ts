/** Limits of keys and tenants: what each may use, that none can use up another's, and what a refusal contains. */
import { describe, expect, it } from 'vitest';
import { mintBootstrapKey } from '../src/index.ts';
import { newIssuer } from './issuer.ts';
import { runEvent, send } from './running.ts';
import { bearing, startSecured } from './security-setup.ts';

const LIVE = { accept: 'text/event-stream' };

async function statusOf(url: string, headers: Record<string, string>): Promise<number> {
  const answer = await fetch(url, { headers });
  await answer.body?.cancel();
  return answer.status;
}

/** Holds a long poll open until the signal aborts. A poll that loses its slot to a short one is refused and retried. */
async function keepPolling(url: string, headers: Record<string, string>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const answer = await fetch(url, { headers, signal }).catch(() => undefined);
    await answer?.body?.cancel();
  }
}

/** Returns the first refusal among responses to the same request. */
async function firstRefusal(ask: () => Promise<Response>, most = 100): Promise<Response> {
  for (let n = 0; n < most; n++) {
    const answer = await ask();
    if (answer.status === 429) return answer;
    await answer.body?.cancel();
  }
  throw new Error(`${most} requests were answered`);
}

describe('limits of tokens', () => {
  it('are not shared by tenants with equal token subjects', async () => {
    const { options, sign } = await newIssuer();
    const { url } = await startSecured({ limits: { waitsAtATime: 3, requestsAtATime: 3 } }, { jwt: options });
    const [one, other] = [bearing(await sign({ tenant: 'one' })), bearing(await sign({ tenant: 'other' }))];
    const polls = new AbortController();
    const waiting = Array.from({ length: 3 }, () => keepPolling(`${url}/v1/events?wait=30s`, one, polls.signal));
    await expect.poll(() => statusOf(`${url}/v1/events?wait=1ms`, one), { interval: 20, timeout: 10_000 }).toBe(429);
    expect(await statusOf(`${url}/v1/events?wait=1ms`, other)).toBe(200);
    expect(await statusOf(`${url}/v1/runs`, one), 'waits are counted apart from requests').toBe(200);
    polls.abort();
    await Promise.all(waiting);
  });
});

describe('limits of a tenant', () => {
  it('apply to all its keys together and to no other tenant', async () => {
    const limits = { tenant: { requestsPerSecond: 10 } };
    const { url, keyFor } = await startSecured({ limits });
    const keys = await Promise.all([1, 2, 3].map(() => keyFor({ tenantId: 'one', scopes: ['read'] })));
    let n = 0;
    const answer = await firstRefusal(() => fetch(`${url}/v1/ping`, { headers: keys[n++ % 3]! }));
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await answer.json()).toMatchObject({
      code: 'OVERLOADED',
      field: 'tenant.requestsPerSecond',
      rule: 'at most 10 requests a second',
    });
    const other = await keyFor({ tenantId: 'other', scopes: ['read'] });
    expect(await statusOf(`${url}/v1/ping`, other)).toBe(200);
    expect(await (await fetch(`${url}/metrics`, { headers: await keyFor() })).text()).toMatch(
      /tidemark_limited_total\{limit="tenant.requestsPerSecond"\} \d+/,
    );
  });

  it.each([
    ['topicsAtATime', { topicsAtATime: 10 }, '/v1/stream?topics=', 'at most 10 topics of live streams at a time'],
    ['streamsAtATime', { streamsAtATime: 2 }, '/v1/stream?topics=', 'at most 2 live streams at a time'],
    ['tenant.waitsAtATime', { tenant: { waitsAtATime: 2 } }, '/v1/stream?topics=', 'at most 2 long polls'],
  ])('refuse streams beyond %s', async (field, limits, path, rule) => {
    const { url, keyFor } = await startSecured({ limits });
    const headers = { ...(await keyFor({ tenantId: 'one', scopes: ['read'] })), ...LIVE };
    const topics = Array.from({ length: 4 }, (_, topic) => `runs/r${topic}`).join(',');
    const open: Response[] = [];
    const ask = async () => {
      const answer = await fetch(url + path + topics, { headers });
      if (answer.status === 200) open.push(answer);
      return answer.status === 200 ? new Response() : answer;
    };
    const refused = await firstRefusal(ask);
    const problem = (await refused.json()) as { field: string; rule: string };
    expect(problem.field).toBe(field);
    expect(problem.rule).toContain(rule);
    expect(open).toHaveLength(2);
    const other = { ...(await keyFor({ tenantId: 'other', scopes: ['read'] })), ...LIVE };
    expect(await statusOf(url + path + topics, other)).toBe(200);
    await Promise.all(open.map((it) => it.body!.cancel()));
    await expect.poll(() => statusOf(url + path + topics, headers), { interval: 50 }).toBe(200);
  });

  it('count rows and bytes read by lists', async () => {
    const { url, store, keyFor } = await startSecured({ limits: { rowsPerSecond: 100 } });
    const own = store.forTenant('one');
    await Promise.all(Array.from({ length: 90 }, (_, n) => own.kv.put(`k${n}`, { a: 'x'.repeat(100) })));
    const headers = await keyFor({ tenantId: 'one', scopes: ['read'] });
    const refused = await firstRefusal(() => fetch(`${url}/v1/kv`, { headers }));
    expect(await refused.json()).toMatchObject({ field: 'rowsPerSecond' });
    expect(await statusOf(`${url}/v1/kv/k1`, headers), 'single records are no lists').toBe(200);
    expect(await statusOf(`${url}/v1/kv`, await keyFor({ tenantId: 'other', scopes: ['read'] }))).toBe(200);

    const small = await startSecured({ limits: { tenant: { readBytesPerSecond: 10_000 } } });
    await Promise.all(
      Array.from({ length: 50 }, (_, n) => small.store.forTenant('one').kv.put(`k${n}`, { a: 'x'.repeat(500) })),
    );
    const reader = await small.keyFor({ tenantId: 'one', scopes: ['read'] });
    const beyond = await firstRefusal(() => fetch(`${small.url}/v1/kv`, { headers: reader }));
    expect(await beyond.json()).toMatchObject({ field: 'tenant.readBytesPerSecond' });
  });

  it('count bytes of bodies', async () => {
    const { url, keyFor } = await startSecured({ limits: { bytesPerSecond: 10_000 } });
    const headers = await keyFor({ tenantId: 'one', scopes: ['append'] });
    const event = { ...runEvent('r'), tenantId: 'one', payload: { text: 'x'.repeat(5_000) } };
    const ask = () => send(`${url}/v1/events`, 'POST', { ...event, idempotencyKey: crypto.randomUUID() }, headers);
    expect(await (await firstRefusal(ask)).json()).toMatchObject({ field: 'bytesPerSecond' });
  });
});

describe('wrong keys from an address', () => {
  it('lock out no valid key or token there, whether used before or not', async () => {
    const { options, sign } = await newIssuer();
    const { url, keyFor } = await startSecured({}, { jwt: options });
    const [unseen, token] = [await keyFor(), bearing(await sign())];
    const guess = () => fetch(`${url}/v1/runs`, { headers: bearing(mintBootstrapKey()) });
    await firstRefusal(guess);
    await firstRefusal(() => fetch(`${url}/v1/runs`, { headers: bearing('a.b.c') }));
    expect(await statusOf(`${url}/v1/runs`, unseen)).toBe(200);
    expect(await statusOf(`${url}/v1/runs`, token)).toBe(200);
    expect((await guess()).status).toBe(429);
  });
});

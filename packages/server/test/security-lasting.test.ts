/**
 * Requests that outlive their credential: a revoked, expired or changed key ends its streams, waits, downloads and
 * uploads.
 */
import { request as httpRequest } from 'node:http';
import { httpStore } from '@tidemark/client';
import { memoryStore } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ApiKeys, SYSTEM_TENANT } from '../src/index.ts';
import { newIssuer } from './issuer.ts';
import { readUntil, runEvent, send } from './running.ts';
import { bearing, type Secured, startSecured } from './security-setup.ts';

const BY = { by: 'a test' };
const LIVE = { accept: 'text/event-stream' };
/** How long to wait for a stream to end. Far longer than the guaranteed second, because the machine may be busy. */
const ENDS_MS = 8_000;

const ofAcme = (runId: string, key: string) => ({ ...runEvent(runId, key), tenantId: 'acme' });

async function tenantKey({ keys }: Secured, scopes: ('read' | 'append' | 'admin')[] = ['read'], expiresAt?: Date) {
  const wanted = { name: 'n', tenantId: 'acme', scopes, ...(expiresAt ? { expiresAt } : {}) };
  const { key, info } = await keys.create(wanted, BY);
  return { headers: bearing(key), id: info.id, key };
}

/** Returns the rest of a stream once the server has ended it. */
async function restOf(answer: Response): Promise<string> {
  const timer = AbortSignal.timeout(ENDS_MS);
  return Promise.race([
    answer.text(),
    new Promise<string>((_, reject) => timer.addEventListener('abort', () => reject(new Error('It goes on')))),
  ]);
}

async function openStream(url: string, path: string, headers: Record<string, string>): Promise<Response> {
  const answer = await fetch(url + path, { headers: { ...headers, ...LIVE } });
  expect(answer.status).toBe(200);
  return answer;
}

describe('a revoked key', () => {
  it('ends all its streams with a problem, and no stream of another key', async () => {
    const secured = await startSecured();
    const { url, store, keys } = secured;
    const [revoked, other] = [await tenantKey(secured), await tenantKey(secured)];
    const paths = ['/v1/runs/r/events', '/v1/events', '/v1/kv', '/v1/sessions/s/updates', '/v1/stream?topics=runs,kv/'];
    const streams = await Promise.all(paths.map((path) => openStream(url, path, revoked.headers)));
    const kept = await openStream(url, '/v1/runs/r/events', other.headers);
    // As another process would: this server gets no notification.
    await new ApiKeys(store).revoke(revoked.id, BY);
    for (const text of await Promise.all(streams.map(restOf)))
      expect(text).toMatch(/event: problem\ndata: \{.*"status":401.*"code":"UNAUTHENTICATED".*\}\n\n$/);
    await keys.create({ name: 'n', tenantId: 'acme', scopes: ['read'] }, BY);
    await store.forTenant('acme').runs.appendEvent(ofAcme('r', 'k'));
    await readUntil(kept.body!, 'run.event');
    await kept.body!.cancel();
  });

  it("ends them at once if it is revoked in the server's process", async () => {
    const secured = await startSecured();
    const { headers, id } = await tenantKey(secured);
    const answer = await openStream(secured.url, '/v1/runs/r/events', headers);
    await readUntil(answer.body!, 'caught-up');
    await secured.keys.revoke(id, BY);
    expect(await readUntil(answer.body!, '\n\n')).toContain('This key was revoked');
  });

  it('ends long polls with 401', async () => {
    const secured = await startSecured();
    const { headers, id } = await tenantKey(secured);
    const began = performance.now();
    const poll = async (path: string): Promise<Response> => {
      const answer = await fetch(secured.url + path, { headers });
      // A poll may end early with nothing new; callers poll again.
      return answer.status === 200 ? poll(path) : answer;
    };
    const polls = ['/v1/events', '/v1/runs/r/events', '/v1/sessions/s/updates'].map((path) => poll(`${path}?wait=60s`));
    await expect.poll(async () => (await fetch(`${secured.url}/v1/ping`, { headers })).status).toBe(200);
    await new ApiKeys(secured.store).revoke(id, BY);
    for (const answer of await Promise.all(polls)) {
      expect(answer.status).toBe(401);
      expect(await answer.json()).toMatchObject({ code: 'UNAUTHENTICATED' });
    }
    expect(performance.now() - began).toBeLessThan(30_000);
  });

  it('ends a bulk append: later lines are not stored', async () => {
    const secured = await startSecured();
    const { headers, id } = await tenantKey(secured, ['append']);
    const own = secured.store.forTenant('acme');
    const line = (n: number) => `${JSON.stringify(ofAcme('bulk', `k${n}`))}\n`;
    const request = httpRequest(`${secured.url}/v1/events`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/x-ndjson' },
    });
    const answered = new Promise<string>((resolve, reject) => {
      request.on('error', reject);
      request.on('response', (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => resolve(`${response.statusCode} ${text}`));
      });
    });
    request.write(line(1));
    await expect.poll(() => own.runs.headSeq('bulk')).toBe(1);
    await new ApiKeys(secured.store).revoke(id, BY);
    expect(await answered).toContain('UNAUTHENTICATED');
    request.write(line(2));
    request.end();
    await expect.poll(async () => (await fetch(`${secured.url}/v1/ping`, { headers })).status).toBe(401);
    expect(await own.runs.headSeq('bulk')).toBe(1);
  });

  it('ends an upload, which stores nothing', async () => {
    const secured = await startSecured();
    const { headers, id } = await tenantKey(secured, ['append']);
    const { promise, resolve } = Promise.withResolvers<number>();
    const request = httpRequest(`${secured.url}/v1/artifacts`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/octet-stream' },
    });
    request.on('error', () => {});
    request.on('response', (response) => {
      resolve(response.statusCode!);
      response.resume();
    });
    request.write('beginning');
    await expect.poll(async () => (await fetch(`${secured.url}/v1/ping`, { headers })).status).toBe(403);
    await new ApiKeys(secured.store).revoke(id, BY);
    expect(await promise).toBe(401);
    request.end('end');
    expect((await secured.store.forTenant('acme').artifacts.list()).items).toEqual([]);
  });

  it('cuts a download', async () => {
    const secured = await startSecured();
    const { headers, id } = await tenantKey(secured);
    const { artifacts } = secured.store.forTenant('acme');
    const { id: artifact } = await artifacts.putBytes(new Uint8Array(30_000_000));
    const cut = new Promise<boolean>((resolve, reject) => {
      const request = httpRequest(`${secured.url}/v1/artifacts/${artifact}`, { headers }, (response) => {
        response.on('error', () => {});
        response.on('close', () => resolve(!response.complete));
        response.once('data', () => {
          response.pause();
          void refused().then(() => response.resume());
        });
      });
      request.on('error', reject).end();
    });
    const refused = async () => {
      await secured.keys.revoke(id, BY);
      await expect.poll(async () => (await fetch(`${secured.url}/v1/ping`, { headers })).status).toBe(401);
    };
    expect(await cut).toBe(true);
  });

  it('is a typed error of the client, which does not reconnect', async () => {
    const secured = await startSecured();
    const { id, key } = await tenantKey(secured);
    const client = await httpStore({ url: secured.url, token: key });
    onTestFinished(() => client.close());
    const tail = client.runs.tail('r')[Symbol.asyncIterator]();
    await secured.store.forTenant('acme').runs.appendEvent(ofAcme('r', 'k'));
    expect((await tail.next()).value).toMatchObject({ runSeq: 1 });
    await new ApiKeys(secured.store).revoke(id, BY);
    await expect(tail.next()).rejects.toMatchObject({ code: 'UNAUTHENTICATED', retryable: false });
  });
});

describe('a key that expires', () => {
  it('ends its streams at that moment', async () => {
    const secured = await startSecured();
    const expiresAt = new Date(Date.now() + 1_500);
    const { headers } = await tenantKey(secured, ['read'], expiresAt);
    const answer = await openStream(secured.url, '/v1/runs/r/events', headers);
    expect(await restOf(answer)).toContain('has expired');
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAt.getTime());
  });
});

describe('a token that expires', () => {
  it('ends its streams and waits', async () => {
    const { options, sign } = await newIssuer();
    const { url } = await startSecured({}, { jwt: { ...options, clockToleranceSeconds: 0 } });
    const headers = bearing(await sign({}, { expires: Math.floor(Date.now() / 1_000) + 2 }));
    const [stream, poll] = await Promise.all([
      openStream(url, '/v1/runs/r/events', headers),
      fetch(`${url}/v1/events?wait=60s`, { headers }),
    ]);
    expect(await restOf(stream)).toContain('"code":"UNAUTHENTICATED"');
    expect(poll.status).toBe(401);
  });
});

describe('a key that is changed', () => {
  it.each([
    ['has lost its scope', { scopes: 'append' }, 'has lost the scope'],
    ['is for another tenant', { tenantId: 'other' }, 'for another tenant now'],
    ['is for one session only', { sessionId: 's' }, 'for another session now'],
  ])('ends requests it may no longer make when it %s', async (_, fields, reason) => {
    const secured = await startSecured();
    const { headers, id } = await tenantKey(secured);
    const answer = await openStream(secured.url, '/v1/runs/r/events', headers);
    await secured.store.forTenant(SYSTEM_TENANT).kv.setFields(`api-keys/${id}`, fields);
    const text = await restOf(answer);
    expect(text).toContain('"code":"FORBIDDEN"');
    expect(text).toContain(reason);
  });

  it('keeps requests it may still make', async () => {
    const secured = await startSecured();
    const { headers, id } = await tenantKey(secured, ['read', 'append']);
    const answer = await openStream(secured.url, '/v1/runs/r/events', headers);
    await secured.store.forTenant(SYSTEM_TENANT).kv.setField(`api-keys/${id}`, 'scopes', 'read');
    const event = ofAcme('r', 'k');
    await expect.poll(async () => (await send(`${secured.url}/v1/events`, 'POST', event, headers)).status).toBe(403);
    await secured.store.forTenant('acme').runs.appendEvent(event);
    await readUntil(answer.body!, 'run.event');
    await answer.body!.cancel();
  });
});

/** Returns an object with one of its methods replaced. */
function replacing<T extends object, Name extends keyof T>(
  target: T,
  name: Name,
  replace: (method: T[Name]) => T[Name],
): T {
  return new Proxy(target, {
    get: (_, wanted) => {
      const member: unknown = Reflect.get(target, wanted);
      const bound = typeof member === 'function' ? member.bind(target) : member;
      return wanted === name ? replace(bound) : bound;
    },
  });
}

describe('the check', () => {
  it('reads each key once, regardless of the number of streams, and nothing without streams', async () => {
    const inner = memoryStore();
    let reads = 0;
    const kv = replacing(inner.forTenant(SYSTEM_TENANT).kv, 'getMany', (getMany) => (keys: string[], ...rest) => {
      reads += keys.length;
      return getMany(keys, ...rest);
    });
    const counting = replacing(inner, 'forTenant', (forTenant) => (tenantId) => {
      const view = forTenant(tenantId);
      return tenantId === SYSTEM_TENANT
        ? new Proxy(view, { get: (it, name) => (name === 'kv' ? kv : Reflect.get(it, name)) })
        : view;
    });
    const keys = new ApiKeys(counting);
    const secured = await startSecured({}, { keys });
    const { key } = await keys.create({ name: 'n', tenantId: 'acme', scopes: ['read'] }, BY);
    const open = () => openStream(secured.url, '/v1/runs/r/events', bearing(key));
    const streams = await Promise.all(Array.from({ length: 100 }, open));
    await expect.poll(() => reads).toBeGreaterThanOrEqual(2);
    const before = reads;
    await expect.poll(() => reads).toBeGreaterThan(before);
    expect(reads - before).toBeLessThan(20);
    await Promise.all(streams.map((it) => it.body!.cancel()));
  });
});

/**
 * API keys: what is stored, when they stop working, what guessing reveals, and what happens when they cannot be
 * verified.
 */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { memoryStore, withQuotas } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { areEqual, digestOf, hasDigest, mintKey, parseKey } from '../src/auth/key-text.ts';
import { ApiKeys, bearer, bootstrapKey, createServer, mintBootstrapKey, SYSTEM_TENANT } from '../src/index.ts';
import { newFolder } from './running.ts';
import { bearing, startSecured } from './security-setup.ts';

const BY = { by: 'a test' };
/** Long enough that an early exit would be measurable. */
const COMPARED_BYTES = 64 * 1_024;
const COMPARISONS = 5_000;

async function statusOf(url: string, headers: Record<string, string>, path = '/v1/runs'): Promise<number> {
  const answer = await fetch(url + path, { headers });
  await answer.body?.cancel();
  return answer.status;
}

describe('a key', () => {
  it('is accepted with its tenant, scopes and session, and listed without its secret', async () => {
    const { url, keys } = await startSecured();
    const wanted = { name: 'worker', tenantId: 'acme', sessionId: 's', scopes: ['read' as const] };
    const { key, info } = await keys.create(wanted, BY);
    expect(key).toMatch(/^tmk_[0-9a-f]{16}\.[\w-]{43}$/);
    expect(await statusOf(url, bearing(key), '/v1/sessions/s/tasks')).toBe(200);
    expect(await statusOf(url, bearing(key), '/v1/sessions/t/tasks')).toBe(403);
    expect(await keys.list()).toEqual([{ ...wanted, id: info.id, createdAt: info.createdAt }]);
    expect(JSON.stringify(await keys.list())).not.toContain(key.split('.')[1]);
  });

  it('is asked for in a string that names the header and the variable, and redacts nothing of them', async () => {
    const { url } = await startSecured();
    const { detail } = (await (await fetch(`${url}/v1/runs`)).json()) as { detail: string };
    expect(detail).toMatch(/header Authorization, with the scheme Bearer; .* TIDEMARK_TOKEN$/);
    expect(detail).not.toContain('[redacted]');
  });

  it('must be valid', async () => {
    const { keys } = await startSecured();
    const good = { name: 'n', tenantId: 'a', scopes: ['read' as const] };
    for (const [field, wanted] of [
      ['name', { ...good, name: '' }],
      ['scopes', { ...good, scopes: [] }],
      ['scopes', { ...good, scopes: ['root' as 'read'] }],
      ['tenantId', { ...good, tenantId: SYSTEM_TENANT }],
      ['tenantId', { ...good, tenantId: '' }],
      ['sessionId', { ...good, tenantId: null, sessionId: 's' }],
      ['expiresAt', { ...good, expiresAt: new Date(0) }],
    ] as const)
      await expect(keys.create(wanted, BY), field).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field });
    expect(await keys.list()).toEqual([]);
  });

  it('leaves no plain secret in the database', async () => {
    const { url, path, keys } = await startSecured();
    const { key } = await keys.create({ name: 'n', tenantId: null, scopes: ['admin'] }, BY);
    expect(await statusOf(url, bearing(key))).toBe(200);
    const { secret } = parseKey(key)!;
    const files = readdirSync(dirname(path)).map((name) => readFileSync(join(dirname(path), name)));
    expect(
      files.some((it) => it.includes(digestOf(secret))),
      'the digest is there',
    ).toBe(true);
    for (const form of [secret, Buffer.from(secret, 'base64url'), Buffer.from(secret, 'base64url').toString('hex')])
      expect(files.some((it) => it.includes(form))).toBe(false);
  });

  it('is rejected everywhere within a second of its revocation, and another after its expiry', async () => {
    const { url, store, keys } = await startSecured();
    const { key, info } = await keys.create({ name: 'n', tenantId: null, scopes: ['read'] }, BY);
    expect(await statusOf(url, bearing(key))).toBe(200);
    // As another process would: this process gets no notification.
    expect(await new ApiKeys(store).revoke(info.id, BY)).toBe(true);
    const revoked = performance.now();
    let lastAdmitted = revoked;
    const asked = async () => {
      const sent = performance.now();
      const status = await statusOf(url, bearing(key));
      if (status === 200) lastAdmitted = sent;
      return status;
    };
    await expect.poll(asked, { interval: 20 }).toBe(401);
    expect(lastAdmitted - revoked).toBeLessThan(1_000);
    expect(await keys.revoke(info.id, BY), 'once more').toBe(true);
    expect(await keys.revoke('tmk_unknown', BY)).toBe(false);
    expect((await keys.list())[0]!.revokedAt).toBeDefined();

    const expiresAt = new Date(Date.now() + 400);
    const short = await keys.create({ name: 'n', tenantId: null, scopes: ['read'], expiresAt }, BY);
    expect(await statusOf(url, bearing(short.key))).toBe(200);
    await expect.poll(() => statusOf(url, bearing(short.key)), { interval: 20 }).toBe(401);
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAt.getTime());
  });
});

describe('wrong keys', () => {
  it('are rejected, after some of them with 429, while valid keys still work', async () => {
    const { url, keyFor } = await startSecured();
    const good = await keyFor();
    expect(await statusOf(url, good)).toBe(200);
    const statuses = new Map<number, number>();
    for (let batch = 0; batch < 20; batch++) {
      const guesses = Array.from({ length: 50 }, () => statusOf(url, bearing(mintBootstrapKey())));
      for (const status of await Promise.all(guesses)) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect([...statuses.keys()].sort()).toEqual([401, 429]);
    expect(statuses.get(429)).toBeGreaterThan(800);
    expect(await statusOf(url, good), 'a key that was seen before').toBe(200);
    const answer = await fetch(`${url}/v1/runs`, { headers: bearing(mintBootstrapKey()) });
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(await answer.json()).toMatchObject({ code: 'OVERLOADED', retryable: true });
  });

  it('count for the address that the proxy reports, not for what callers write in front of it', async () => {
    const { url } = await startSecured({}, { isBehindProxy: true });
    const guess = (forwarded: string) =>
      statusOf(url, { ...bearing(mintBootstrapKey()), 'x-forwarded-for': forwarded });
    for (let n = 0; n < 70; n++) await guess(`10.0.0.${n}, 192.0.2.1`);
    expect(await guess('10.9.9.9, 192.0.2.1')).toBe(429);
    expect(await guess('192.0.2.2')).toBe(401);
  });

  it('of any length cause no error', () => {
    const { secret } = mintKey();
    const digest = digestOf(secret);
    for (const length of [0, 1, 31, 33, 64]) expect(hasDigest(secret, new Uint8Array(length))).toBe(false);
    for (const text of ['', 'x', 'x'.repeat(1_000_000)]) expect(hasDigest(text, digest)).toBe(false);
    expect(hasDigest(secret, digest)).toBe(true);
  });

  it('take the same time to compare wherever they differ, unlike a comparison with an early exit', () => {
    expect(timesSlower(areEqual)).toBeLessThan(2);
    const stopsEarly = (one: Uint8Array, other: Uint8Array) => one.every((byte, at) => byte === other[at]);
    expect(timesSlower(stopsEarly), 'the measure can tell').toBeGreaterThan(10);
  });
});

/**
 * Returns how much longer it takes to find a difference in the last byte than in the first: medians of alternating
 * runs.
 */
function timesSlower(compare: (one: Uint8Array, other: Uint8Array) => boolean): number {
  const right = randomBytes(COMPARED_BYTES);
  const differingAt = (position: number) => {
    const wrong = Buffer.from(right);
    wrong[position]! ^= 1;
    return wrong;
  };
  const wrong = [differingAt(0), differingAt(COMPARED_BYTES - 1)];
  const times: [number[], number[]] = [[], []];
  for (let n = 0; n < 2 * COMPARISONS; n++) {
    const which = (n % 2) as 0 | 1;
    const start = process.hrtime.bigint();
    const isEqual = compare(right, wrong[which]!);
    times[which].push(Number(process.hrtime.bigint() - start));
    expect(isEqual).toBe(false);
  }
  const [first, last] = times.map((it) => it.sort((a, b) => a - b)[COMPARISONS >> 1]!);
  return last! / first!;
}

describe('limits of a caller', () => {
  it('limit its own rate and concurrency, and not the rate of other callers', async () => {
    const limits = { requestsPerSecond: 10, waitsAtATime: 4, streamsAtATime: 1 };
    const { url, keyFor } = await startSecured({ limits });
    const [first, second, third] = [await keyFor(), await keyFor(), await keyFor()];
    const statuses = await Promise.all(Array.from({ length: 40 }, () => statusOf(url, first, '/v1/ping')));
    expect(statuses).toContain(200);
    expect(statuses).toContain(429);
    expect(await statusOf(url, second, '/v1/ping')).toBe(200);
    const waiting = Array.from({ length: 4 }, () => statusOf(url, second, '/v1/events?wait=1s'));
    await expect.poll(() => statusOf(url, second, '/v1/events?wait=1ms'), { interval: 20 }).toBe(429);
    expect(await Promise.all(waiting)).toEqual([200, 200, 200, 200]);

    const live = { ...third, accept: 'text/event-stream' };
    const stream = await fetch(`${url}/v1/runs/r/events`, { headers: live });
    expect(stream.status).toBe(200);
    expect(await statusOf(url, live, '/v1/runs/r/events')).toBe(429);
    expect(await statusOf(url, third, '/v1/ping'), 'streams and requests are counted apart').toBe(200);
    await stream.body!.cancel();
    await expect.poll(() => statusOf(url, live, '/v1/runs/r/events'), { interval: 300 }).toBe(200);
  });
});

describe('a store that does not respond', () => {
  it('admits nobody: it returns 503 and logs the reason', async () => {
    const ofKeys = memoryStore();
    const keys = new ApiKeys(ofKeys);
    const { key } = await keys.create({ name: 'n', tenantId: null, scopes: ['admin'] }, BY);
    const { url, logged } = await startSecured({}, { keys });
    expect(await statusOf(url, bearing(key))).toBe(200);
    await ofKeys.close();
    await expect.poll(() => statusOf(url, bearing(key)), { interval: 20 }).toBe(503);
    const answer = await fetch(`${url}/v1/runs`, { headers: bearing(key) });
    expect(await answer.json()).toMatchObject({ code: 'UNAVAILABLE', retryable: true });
    expect(logged).toContainEqual(expect.objectContaining({ event: 'auth_unavailable' }));
    expect(await statusOf(url, {}, '/healthz'), 'the process lives all the same').toBe(200);
  });
});

describe('the first key', () => {
  it('comes from the environment or a file, and is never stored', async () => {
    const key = mintBootstrapKey();
    const file = join(newFolder(), 'key');
    writeFileSync(file, `${key}\n`);
    expect(bootstrapKey({})).toBeUndefined();
    expect(bootstrapKey({ TIDEMARK_ADMIN_KEY: key })).toBe(key);
    expect(bootstrapKey({ TIDEMARK_ADMIN_KEY_FILE: file })).toBe(key);
    expect(() => bootstrapKey({ TIDEMARK_ADMIN_KEY: 'admin' })).toThrow(
      expect.objectContaining({ field: 'TIDEMARK_ADMIN_KEY' }),
    );
    const { url, keys } = await startSecured({}, { bootstrapKey: key });
    expect(await statusOf(url, bearing(key), '/v1/doctor')).toBe(200);
    expect(await statusOf(url, bearing(`${key.slice(0, -2)}AA`), '/v1/doctor')).toBe(401);
    expect(await keys.list()).toEqual([]);
  });

  it('is required unless there are keys or tokens', () => {
    expect(() => bearer({})).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });
});

describe('an incomplete record', () => {
  it('admits nobody: the missing field may be the tenant', async () => {
    const { url, store } = await startSecured();
    const { id, secret } = mintKey();
    await store.forTenant(SYSTEM_TENANT).kv.put(`api-keys/${id}`, { name: 'half', digest: digestOf(secret) });
    expect(await statusOf(url, bearing(`${id}.${secret}`))).toBe(503);
  });
});

describe('the audit log', () => {
  it('has every admin action before it runs, and its outcome afterwards', async () => {
    const { url, store, keys, keyFor } = await startSecured();
    const headers = await keyFor({ name: 'ops' });
    const { id } = (await keys.list())[0]!;
    await store.runs.handle('r').append('RunStarted');
    expect((await fetch(`${url}/v1/runs/r`, { method: 'DELETE', headers })).status).toBe(200);
    expect((await fetch(`${url}/v1/admin/pauses/none`, { headers })).status).toBe(404);
    expect(await statusOf(url, headers, '/v1/doctor')).toBe(200);
    const log = store.forTenant(SYSTEM_TENANT).runs;
    const { items } = await log.listRuns({ order: 'oldest' });
    const runs = await Promise.all(items.map(({ runId }) => log.fetchEvents(runId)));
    const logged = runs.map(([begun, ended]) => [begun!.payload, ended!.eventType, ended!.payload]);
    expect(logged).toEqual([
      [expect.objectContaining({ action: 'create key', by: 'a test' }), 'RunCompleted', {}],
      [{ action: 'DELETE /v1/runs/{runId}', by: `key:${id}`, about: { runId: 'r' } }, 'RunCompleted', { status: 200 }],
      [
        { action: 'GET /v1/admin/pauses/{pauseId}', by: `key:${id}`, about: { pauseId: 'none' } },
        'RunFailed',
        { errorCode: 'NOT_FOUND' },
      ],
      [{ action: 'GET /v1/doctor', by: `key:${id}`, about: {} }, 'RunCompleted', { status: 200 }],
    ]);
    const { items: byOps } = await log.listRuns({ labels: { by: `key:${id}` } });
    expect(byOps).toHaveLength(3);
  });

  it('blocks actions that it cannot record', async () => {
    const inner = memoryStore();
    // The key below uses up the one run that the system tenant may have.
    const store = withQuotas(inner, { limits: { [SYSTEM_TENANT]: { runs: 1 } } });
    const keys = new ApiKeys(inner);
    const { key } = await keys.create({ name: 'n', tenantId: null, scopes: ['admin'] }, BY);
    await store.runs.handle('r').append('RunStarted');
    const server = createServer({ store, auth: bearer({ keys }), inspector: false });
    const url = await server.listen();
    onTestFinished(() => server.close());
    const answer = await fetch(`${url}/v1/runs/r`, { method: 'DELETE', headers: bearing(key) });
    expect(answer.status).toBe(503);
    expect(await store.runs.headSeq('r'), 'the run is still there').toBe(1);
  });
});

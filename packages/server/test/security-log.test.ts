/** The security log and the audit log: what they contain, what they omit, and that neither can be flooded. */
import { describe, expect, it } from 'vitest';
import { mintBootstrapKey, SYSTEM_TENANT } from '../src/index.ts';
import { newIssuer } from './issuer.ts';
import { bearing, type Secured, startSecured } from './security-setup.ts';

const BY = { by: 'a test' };

interface Line {
  event: string;
  kind: string;
  address: string;
  by?: string;
  reason?: string;
  leftOut?: number;
}

const linesOf = ({ logged }: Secured, kind: string) => (logged as Line[]).filter((it) => it.kind === kind);

async function statusOf(url: string, headers: Record<string, string>, method = 'GET'): Promise<number> {
  const answer = await fetch(url, { method, headers });
  await answer.body?.cancel();
  return answer.status;
}

async function countOf({ url, keyFor }: Secured, kind: string): Promise<number> {
  const headers = await keyFor({ scopes: ['metrics:read'] });
  const page = await (await fetch(`${url}/metrics`, { headers })).text();
  return Number(new RegExp(`tidemark_security_events_total\\{kind="${kind}"\\} (\\d+)`).exec(page)?.[1] ?? 0);
}

describe('the security log', () => {
  it('contains a few entries for wrong keys, a count of the others, and no secret', async () => {
    const secured = await startSecured();
    const keys = Array.from({ length: 200 }, mintBootstrapKey);
    for (const key of keys) await statusOf(`${secured.url}/v1/runs`, bearing(key));
    const lines = linesOf(secured, 'wrong_key');
    expect(lines.length).toBeGreaterThan(5);
    expect(lines.length).toBeLessThan(50);
    expect(lines[0]).toMatchObject({ event: 'security', address: '127.0.0.1', by: `key:${keys[0]!.split('.')[0]}` });
    for (const key of keys) expect(JSON.stringify(secured.logged)).not.toContain(key.split('.')[1]);
    expect(await countOf(secured, 'wrong_key'), 'the counter has all of them').toBe(200);
  });

  it("' reports on close how many lines it omitted", async () => {
    const secured = await startSecured();
    for (let n = 0; n < 50; n++) await statusOf(`${secured.url}/v1/runs`, bearing(mintBootstrapKey()));
    const counted = linesOf(secured, 'wrong_key').reduce((sum, { leftOut = 0 }) => sum + 1 + leftOut, 0);
    await secured.server.close();
    const lines = linesOf(secured, 'wrong_key');
    const left = lines.filter(({ event }) => event === 'security_left_out');
    expect(left.reduce((sum, { leftOut = 0 }) => sum + leftOut, counted)).toBe(50);
  });

  it('contains rejected tokens, scopes and tenants, limits and ended credentials', async () => {
    const { options, sign } = await newIssuer();
    const secured = await startSecured({ limits: { requestsPerSecond: 5 } }, { jwt: options });
    const { url, keys } = secured;
    const { key, info } = await keys.create({ name: 'n', tenantId: 'acme', scopes: ['kv:read'] }, BY);
    await statusOf(`${url}/v1/runs`, bearing('a.b.c'));
    await statusOf(`${url}/v1/runs`, bearing(await sign({}, { expires: 1 })));
    await statusOf(`${url}/v1/runs`, bearing(key));
    await statusOf(`${url}/v1/kv?tenant=other`, bearing(key));
    const live = await fetch(`${url}/v1/kv`, { headers: { ...bearing(key), accept: 'text/event-stream' } });
    await expect.poll(() => statusOf(`${url}/v1/kv`, bearing(key)), { interval: 1 }).toBe(429);
    await keys.revoke(info.id, BY);
    await live.text();
    const by = `key:${info.id}`;
    expect(linesOf(secured, 'refused_token')).toHaveLength(2);
    expect(linesOf(secured, 'refused_scope')).toEqual([
      expect.objectContaining({ by, tenant: 'acme', route: 'GET /v1/runs', reason: 'runs:read' }),
    ]);
    expect(linesOf(secured, 'refused_tenant')).toEqual([expect.objectContaining({ by, reason: 'its own tenant' })]);
    expect(linesOf(secured, 'limit')[0]).toMatchObject({ by, reason: 'requestsPerSecond' });
    expect(linesOf(secured, 'credential_ended')).toEqual([
      expect.objectContaining({ by, reason: 'This key was revoked', requests: 1 }),
    ]);
  });

  it('is limited for all addresses together', async () => {
    const secured = await startSecured({}, { isBehindProxy: true });
    for (let n = 0; n < 300; n++)
      await statusOf(`${secured.url}/v1/runs`, { ...bearing(mintBootstrapKey()), 'x-forwarded-for': `192.0.2.${n}` });
    expect(linesOf(secured, 'wrong_key').length).toBeLessThan(250);
    expect(await countOf(secured, 'wrong_key')).toBe(300);
  });
});

/** Returns the audited requests of a caller: action, outcome and code. */
async function auditedBy({ store }: Secured, by: string): Promise<unknown[][]> {
  const { runs } = store.forTenant(SYSTEM_TENANT);
  const { items } = await runs.listRuns({ order: 'oldest', labels: { by }, limit: 1_000 });
  const events = await Promise.all(items.map(({ runId }) => runs.fetchEvents(runId)));
  return events.map(([begun, ended]) => [
    (begun!.payload as { action: string }).action,
    ended!.eventType,
    ended!.payload,
  ]);
}

describe('the audit log', () => {
  it('contains every admin call, including rejected ones', async () => {
    const secured = await startSecured();
    const { url, keys } = secured;
    const reader = await keys.create({ name: 'reader', tenantId: 'acme', scopes: ['read'] }, BY);
    const admin = await keys.create({ name: 'admin', tenantId: 'acme', scopes: ['admin'] }, BY);
    expect(await statusOf(`${url}/v1/runs/r`, bearing(reader.key), 'DELETE')).toBe(403);
    expect(await statusOf(`${url}/v1/admin/tenants`, bearing(reader.key))).toBe(403);
    expect(await statusOf(`${url}/v1/runs/r?tenant=other`, bearing(admin.key), 'DELETE')).toBe(403);
    expect(await statusOf(`${url}/v1/runs/r?nonsense=1`, bearing(admin.key), 'DELETE')).toBe(400);
    expect(await statusOf(`${url}/v1/admin/tenants`, bearing(admin.key))).toBe(200);
    expect(await auditedBy(secured, `key:${reader.info.id}`)).toEqual([
      ['DELETE /v1/runs/{runId}', 'RunFailed', { errorCode: 'FORBIDDEN', refused: true }],
      ['GET /v1/admin/tenants', 'RunFailed', { errorCode: 'FORBIDDEN', refused: true }],
    ]);
    expect(await auditedBy(secured, `key:${admin.info.id}`)).toEqual([
      ['DELETE /v1/runs/{runId}', 'RunFailed', { errorCode: 'TENANT_MISMATCH', refused: true }],
      ['DELETE /v1/runs/{runId}', 'RunFailed', { errorCode: 'INVALID_ARGUMENT', refused: true }],
      ['GET /v1/admin/tenants', 'RunCompleted', { status: 200 }],
    ]);
    expect(linesOf(secured, 'admin_refused')).toHaveLength(4);
    expect(linesOf(secured, 'admin_action')).toHaveLength(1);
  });

  it('cannot be filled by refusals of one key', async () => {
    const secured = await startSecured();
    const { key, info } = await secured.keys.create({ name: 'reader', tenantId: 'acme', scopes: ['read'] }, BY);
    for (let n = 0; n < 60; n++) await statusOf(`${secured.url}/v1/runs/r`, bearing(key), 'DELETE');
    const audited = await auditedBy(secured, `key:${info.id}`);
    expect(audited.length).toBeGreaterThanOrEqual(20);
    expect(audited.length).toBeLessThan(40);
  });
});

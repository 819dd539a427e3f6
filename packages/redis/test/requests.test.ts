/** Request ids on Redis beyond the kit: where they are kept, for how long, and that none are kept needlessly. */
import { createClient } from '@redis/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newPrefix, openStore, sharedServer, WITHOUT_REDIS } from './servers.ts';

const KEPT_MS = 300_000;

describe.skipIf(WITHOUT_REDIS)('request ids', () => {
  async function opened() {
    const prefix = newPrefix();
    const { kv, admin } = await openStore(sharedServer(), { prefix, buckets: 1 });
    const client = createClient({ url: sharedServer() });
    await client.connect();
    onTestFinished(() => client.destroy());
    const key = `${prefix}:{b00}:kv-requests:default`;
    const kept = async () => (await client.zRange(key, 0, -1)).map((member) => member.replace('\0', ' '));
    return { kv, admin, client, key, kept };
  }

  it('stay in the record until newer ones push them out or it is removed', async () => {
    const { kv, kept } = await opened();
    for (let n = 0; n < 16; n++) await kv.setField('k', 'n', n, { requestId: `r${n}` });
    expect(await kept()).toEqual([]);
    await kv.setField('k', 'n', 16, { requestId: 'r16' });
    expect(await kept()).toEqual(['k r0']);
    await kv.delete('k', { requestId: 'gone' });
    expect(await kept()).toHaveLength(18);
  });

  it('are kept before an expiry only if it is within five minutes', async () => {
    const { kv, kept } = await opened();
    await kv.put('long', { a: 1 }, { ttl: '1h', requestId: 'put' });
    await kv.put('forever', { a: 1 }, { requestId: 'put' });
    expect(await kept()).toEqual([]);
    await kv.put('short', { a: 1 }, { ttl: '1m', requestId: 'put' });
    await kv.touch('long', '1m');
    expect((await kept()).toSorted()).toEqual(['long put', 'short put']);
  });

  it("' expire automatically, five minutes after the last one was added", async () => {
    const { kv, client, key } = await opened();
    await kv.put('k', { a: 1 }, { requestId: 'put' });
    await kv.delete('k');
    const left = await client.pTTL(key);
    expect(left).toBeGreaterThan(KEPT_MS - 60_000);
    expect(left).toBeLessThanOrEqual(KEPT_MS);
    // Each new id removes some of the expired ones.
    await client.zAdd(
      key,
      Array.from({ length: 40 }, (_, n) => ({ score: 1, value: `old\0r${n}` })),
    );
    await kv.put('k', { a: 1 }, { requestId: 'again' });
    await kv.delete('k');
    expect(await client.zCount(key, 0, 1)).toBe(8);
  });

  it('are removed with their tenant', async () => {
    const { kv, admin, client, key } = await opened();
    await kv.put('k', { a: 1 }, { requestId: 'put' });
    await kv.delete('k');
    await admin.eraseTenant('default');
    expect(await client.exists(key)).toBe(0);
  });
});

/**
 * The whole conformance kit on the hybrid store of the specification: PostgreSQL, with pauses, memory and KV on Redis.
 */
import { randomUUID } from 'node:crypto';
import { ALL_CASES, registerConformance, type StoreUnderTest, sharesStore } from '@tidemark/conformance';
import type { Store } from '@tidemark/core';
import { postgresStore } from '@tidemark/postgres';
import { redisStore } from '@tidemark/redis';
import { afterAll, describe, expect, it } from 'vitest';
import { offeredUrl } from '../../../scripts/servers/index.ts';
import { open } from '../src/index.ts';

const [postgres, redis] = [offeredUrl('postgres'), offeredUrl('redis')];

async function openHybrid(name: string): Promise<Store> {
  const [sql, keyed] = [
    await postgresStore({ url: postgres!, schema: name, timeoutMs: 20_000 }),
    await redisStore({ url: redis!, prefix: name, timeoutMs: 20_000 }),
  ];
  return open({ default: sql, pauses: keyed, memory: keyed, kv: keyed }, { timeoutMs: 20_000 });
}

async function openUnderTest(): Promise<StoreUnderTest> {
  const name = `hybrid_${randomUUID().replaceAll('-', '')}`;
  const under: StoreUnderTest = {
    store: await openHybrid(name),
    peer: () => openHybrid(name),
    reopen: async () => {
      await under.store.close();
      return openHybrid(name);
    },
  };
  return under;
}

describe.skipIf(!postgres || !redis)('PostgreSQL and Redis together', () => {
  it('open by their URLs, and report as one store', async () => {
    const store = await open({ default: postgres!, pauses: redis!, memory: redis!, kv: redis! });
    expect(store.info.backend).toBe('postgres+redis');
    expect(await store.ping()).toBe(true);
    const checks = (await store.doctor()).findings.map(({ check }) => check);
    expect(checks.some((check) => check.startsWith('postgres: '))).toBe(true);
    expect(checks.some((check) => check.startsWith('redis: '))).toBe(true);
    await store.close();
    await expect(store.kv.get('x')).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  });

  const [shared, alone] = [ALL_CASES.filter(sharesStore), ALL_CASES.filter((it) => !sharesStore(it))];
  registerConformance({ describe, it: it.concurrent, afterAll }, 'The store, in many calls at once,', openUnderTest, {
    cases: shared,
    modelRuns: 20,
  });
  registerConformance({ describe, it, afterAll }, 'The store', openUnderTest, { cases: alone });
});

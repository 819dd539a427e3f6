/** Scripts at their edges, called as the store calls them. */
import { createClient } from '@redis/client';
import { expect, it, onTestFinished } from 'vitest';
import { Layout } from '../src/layout.ts';
import { FORGET_JOURNAL, LOST } from '../src/scripts.ts';
import { newPrefix, openStore, sharedServer, WITHOUT_REDIS } from './servers.ts';

async function connected() {
  const client = createClient({ url: sharedServer() });
  await client.connect();
  onTestFinished(() => client.destroy());
  return client;
}

it.skipIf(WITHOUT_REDIS).each([
  ['lost', 2, 1],
  ['expired', 1, 0],
  ['expired', 0, 0],
])('a missing record is %s when its expiry is %d ms away', async (_, ms, expected) => {
  const client = await connected();
  const prefix = newPrefix();
  // Redis 7.0 does not freeze TIME while a script runs, so this one answers every TIME with its first result.
  const text = `
    local server = redis
    local time = server.call('TIME')
    local redis = { call = function(name, ...)
      if name == 'TIME' then return time end
      return server.call(name, ...)
    end }
    redis.call('ZADD', KEYS[2], 0, ARGV[1])
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    redis.call('ZADD', KEYS[3], string.format('%.0f', now + tonumber(ARGV[3])), ARGV[2])
    ${LOST.text}`;
  const keys = ['record', 'names', 'expiring'].map((name) => `${prefix}:${name}`);
  expect(await client.eval(text, { keys, arguments: ['k', 'member', String(ms)] })).toBe(expected);
  await client.del(keys);
});

it.skipIf(WITHOUT_REDIS)('a tenant is listed until its last journal is forgotten', async () => {
  const client = await connected();
  const prefix = newPrefix();
  const store = await openStore(sharedServer(), { prefix, buckets: 1 });
  for (const runId of ['r1', 'r2']) await store.runs.handle(runId).append('RunStarted');
  const layout = new Layout(prefix, 1);
  const [names, tenants] = [layout.journals(0, 'runs', 'default'), layout.journalTenants(0, 'runs')];
  const forget = (name: string) => {
    const { head, log } = layout.journal({ space: 'runs', tenantId: 'default', name });
    return client.eval(FORGET_JOURNAL.text, { keys: [head, log, names, tenants], arguments: ['default', name] });
  };
  const listed = () => client.zRange(tenants, 0, -1);
  expect(await listed()).toEqual(['default']);
  expect([await forget('r1'), await listed()]).toEqual([1, ['default']]);
  expect([await forget('r2'), await listed()]).toEqual([1, []]);
});

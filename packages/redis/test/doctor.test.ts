/** The doctor names every setting that weakens durability, on servers that really have it (GEN-6, GEN-9). */
import { createClient } from '@redis/client';
import type { DoctorFinding, Store } from '@tidemark/core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { fillTenant } from '../../../faults/tenant-contents.ts';
import { startOwnServer } from '../../../scripts/servers/index.ts';
import type { RunningServer } from '../../../scripts/servers/start.ts';
import { redisStore } from '../src/store.ts';
import { openStore, WITHOUT_REDIS } from './servers.ts';

type Client = ReturnType<typeof createClient>;

async function connectTo({ url }: RunningServer): Promise<Client> {
  const client = createClient({ url });
  client.on('error', () => {});
  await client.connect();
  return client as Client;
}

async function findingOf(store: Store, check: string): Promise<DoctorFinding | undefined> {
  return (await store.doctor()).findings.find((finding) => finding.check === check);
}

describe.skipIf(WITHOUT_REDIS)('doctor', () => {
  let server: RunningServer;
  let client: Client;

  beforeAll(async () => {
    server = await startOwnServer('redis');
    client = await connectTo(server);
  }, 60_000);
  afterAll(async () => {
    client?.destroy();
    await server?.stop();
  });

  /** Changes a setting of the server until the test ends. */
  async function set(name: string, value: string): Promise<void> {
    const before = (await client.configGet(name))[name]!;
    await client.configSet(name, value);
    onTestFinished(async () => void (await client.configSet(name, before)));
  }

  /** The URL of a login with the rights that docs/redis.md shows. */
  async function confinedLogin(): Promise<string> {
    const rights =
      '+@all -@admin -@dangerous +info +config|get +cluster|info +cluster|slots +cluster|shards +acl|whoami +acl|dryrun';
    await client.sendCommand([
      'ACL',
      'SETUSER',
      'app',
      'on',
      '>secret',
      '~tidemark:*',
      '&tidemark:*',
      ...rights.split(' '),
    ]);
    return server.url.replace('redis://', 'redis://app:secret@');
  }

  it('finds nothing to fix on a well-configured server, where an acknowledged write survives a power failure', async () => {
    const store = await openStore(await confinedLogin(), { prefix: 'tidemark', durability: 'require' });
    const { ok, durability, findings } = await store.doctor();
    expect(findings.filter(({ status }) => status !== 'ok')).toEqual([]);
    expect([ok, durability, store.info.durability]).toEqual([true, 'host-crash', 'host-crash']);
    expect(findings.length).toBeGreaterThan(12);
  });

  it('warns about a login that may flush the server; one that may not can still use the whole store', async () => {
    const open = await openStore(server.url);
    expect(await findingOf(open, 'login')).toMatchObject({
      status: 'warn',
      message: expect.stringContaining('FLUSHALL'),
    });
    const url = await confinedLogin();
    await fillTenant(await openStore(url, { prefix: 'tidemark' }), 'acme');
    const confined = createClient({ url });
    confined.on('error', () => {});
    await confined.connect();
    onTestFinished(() => confined.destroy());
    for (const command of [['FLUSHALL'], ['FLUSHDB'], ['SWAPDB', '0', '1'], ['CONFIG', 'SET', 'appendonly', 'no']])
      await expect(confined.sendCommand(command), command.join(' ')).rejects.toThrow('NOPERM');
  });

  it.each([
    {
      name: 'appendonly',
      value: 'no',
      durability: 'none',
      message: 'appendonly is no: whatever was written since the last snapshot is lost when the server ends',
    },
    {
      name: 'appendfsync',
      value: 'everysec',
      durability: 'process-crash',
      message: 'appendfsync is everysec: a power cut loses the last second of acknowledged writes',
    },
    {
      name: 'appendfsync',
      value: 'no',
      durability: 'process-crash',
      message: 'appendfsync is no: a power cut loses everything the system had not written out of acknowledged writes',
    },
    {
      name: 'no-appendfsync-on-rewrite',
      value: 'yes',
      durability: 'process-crash',
      message: 'no-appendfsync-on-rewrite is yes: while the file is rewritten a power cut loses acknowledged writes',
    },
  ])('fails $name $value, and `require` refuses it', async ({ name, value, durability, message }) => {
    const store = await openStore(server.url);
    await set(name, value);
    const right = { appendonly: 'yes', appendfsync: 'always' }[name] ?? 'no';
    expect(await findingOf(store, name)).toEqual({
      check: name,
      status: 'fail',
      message,
      fix: `CONFIG SET ${name} ${right}; CONFIG REWRITE`,
    });
    expect(store.info.durability).toBe(durability);
    await expect(redisStore({ url: server.url, durability: 'require' })).rejects.toMatchObject({
      code: 'DURABILITY_TOO_WEAK',
      current: durability,
    });
  });

  it('fails eviction, which discards acknowledged writes, and warns about it while memory has no limit', async () => {
    const store = await openStore(server.url);
    await set('maxmemory-policy', 'allkeys-lru');
    expect(await findingOf(store, 'maxmemory-policy')).toMatchObject({ status: 'warn' });
    expect(store.info.durability).toBe('host-crash');
    await set('maxmemory', '1gb');
    expect(await findingOf(store, 'maxmemory-policy')).toEqual({
      check: 'maxmemory-policy',
      status: 'fail',
      message: 'maxmemory-policy is allkeys-lru: when memory runs out, acknowledged writes are thrown away',
      fix: 'CONFIG SET maxmemory-policy noeviction; CONFIG REWRITE',
    });
    expect(store.info.durability).toBe('none');
  });

  it('reports unknown, not ok, where CONFIG is rejected, and `require` rejects that too', async () => {
    await client.sendCommand(['ACL', 'SETUSER', 'modest', 'on', '>secret', '~*', '&*', '+@all', '-config']);
    const url = server.url.replace('redis://', 'redis://modest:secret@');
    const store = await openStore(url);
    for (const check of ['appendfsync', 'no-appendfsync-on-rewrite', 'maxmemory-policy', 'min-replicas-to-write']) {
      expect(await findingOf(store, check)).toMatchObject({
        status: 'unknown',
        message: 'The server does not allow CONFIG GET, so this setting cannot be read',
      });
    }
    expect(store.info.durability).toBe('unknown');
    await expect(redisStore({ url, durability: 'require' })).rejects.toMatchObject({
      code: 'DURABILITY_TOO_WEAK',
      current: 'unknown',
    });
  });

  it('warns about clocks that disagree', async () => {
    const store = await openStore(server.url);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 60_000 });
    onTestFinished(() => void vi.useRealTimers());
    expect(await findingOf(store, 'clock')).toMatchObject({
      status: 'warn',
      message: expect.stringMatching(/^The clock of the server is (59|60)\d{3} ms ahead of that of this process/),
    });
  });

  it('reports that a server does not know WAITAOF when replicas are waited for', async () => {
    const store = await openStore(server.url, { waitReplicas: 1 });
    const known = (await client.sendCommand<unknown[]>(['COMMAND', 'INFO', 'WAITAOF']))[0] !== null;
    expect(await findingOf(store, 'WAITAOF')).toMatchObject({ status: known ? 'ok' : 'warn' });
    expect(await findingOf(store, 'replicas')).toEqual({
      check: 'replicas',
      status: 'fail',
      message: '0 replicas follow, and waitReplicas is 1: every write is OUTCOME_UNKNOWN',
      fix: 'Start replicas, or lower waitReplicas',
    });
  });

  describe('with a replica', () => {
    let replica: RunningServer;
    let replicaClient: Client;

    beforeAll(async () => {
      replica = await startOwnServer('redis');
      replicaClient = await connectTo(replica);
      await replicaClient.sendCommand(['REPLICAOF', '127.0.0.1', new URL(server.url).port]);
      await vi.waitFor(async () => expect(await client.info('replication')).toContain('state=online'), 20_000);
    }, 60_000);
    afterAll(async () => {
      replicaClient?.destroy();
      await replica?.stop();
    });

    it('warns about writes that wait for no replica, and reports survival of a node loss only when all are waited for', async () => {
      const hasty = await openStore(server.url);
      expect(await findingOf(hasty, 'replicas')).toEqual({
        check: 'replicas',
        status: 'warn',
        message: '1 replicas follow, writes wait for 0: a failover to another one loses acknowledged writes',
        fix: 'Open the store with waitReplicas: 1',
      });
      expect(await findingOf(hasty, 'min-replicas-to-write')).toMatchObject({ status: 'warn' });
      expect(hasty.info.durability).toBe('host-crash');
      const waiting = await openStore(server.url, { waitReplicas: 1 });
      expect(await findingOf(waiting, 'replicas')).toMatchObject({ status: 'ok' });
      expect(waiting.info.durability).toBe('node-loss');
      await set('min-replicas-to-write', '1');
      expect(await findingOf(waiting, 'min-replicas-to-write')).toMatchObject({ status: 'ok' });
    });

    it('acknowledges a write once the replica has it, and fails with OUTCOME_UNKNOWN when it has not', async () => {
      const store = await openStore(server.url, {
        waitReplicas: 1,
        waitReplicasMs: 200,
        prefix: 'waiting',
        buckets: 1,
      });
      await Promise.all(Array.from({ length: 50 }, (_, at) => store.kv.put(`k${at}`, { v: at })));
      expect(await replicaClient.zCard('waiting:{b00}:kv-names:default')).toBe(50);
      await replicaClient.sendCommand(['REPLICAOF', 'NO', 'ONE']);
      await expect(store.kv.put('k', { v: 1 })).rejects.toMatchObject({
        code: 'OUTCOME_UNKNOWN',
        retryable: true,
        message: expect.stringMatching(/0 of 1 replicas had it within 200 ms/),
      });
      expect((await store.kv.get('k'))?.fields.v).toEqual(new Uint8Array(Buffer.from('1')));
    });

    it('fails a replica, which accepts no writes', async () => {
      const store = await openStore(replica.url);
      await replicaClient.sendCommand(['REPLICAOF', '127.0.0.1', new URL(server.url).port]);
      expect(await findingOf(store, 'role')).toEqual({
        check: 'role',
        status: 'fail',
        message: 'This server is a replica and takes no writes',
        fix: 'Connect to the master, with a host name that follows failovers',
      });
    });
  });
});

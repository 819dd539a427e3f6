/** A cluster whose slots move and whose masters fail over, and that the check of it can fail (F14). */
import { memoryStore } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { Counters } from '../../../faults/counters.ts';
import { runQuietly } from '../../../scripts/processes.ts';
import { startRedisCluster } from '../../../scripts/servers/redis-cluster.ts';
import { redisStore } from '../src/index.ts';
import { WITHOUT_REDIS } from './servers.ts';

describe.skipIf(WITHOUT_REDIS)('Redis Cluster', () => {
  it('loses nothing and applies nothing twice while slots migrate and masters fail over', {
    timeout: 120_000,
  }, async () => {
    const { code, output } = await runQuietly(process.execPath, [
      'scripts/run.js',
      'faults/redis-cluster',
      '--rounds',
      '4',
    ]);
    expect(code, output).toBe(0);
    expect(output).toMatch(
      /redis-cluster: 2 migrations, 2 failovers, [1-9]\d* acked, [1-9]\d* swapped, \d+ unknown, \d+ rejected, 0 lost, 0 duplicated, 0 problems/,
    );
  });

  it('is discovered through any node, spreads over all masters, and reports an error when opened as one server', {
    timeout: 60_000,
  }, async () => {
    const cluster = await startRedisCluster();
    try {
      const store = await redisStore(`${cluster.nodes[2]!.url}?cluster=1`);
      for (let record = 0; record < 64; record++) await store.kv.put(`record.${record}`, { v: record });
      for (const { url } of cluster.nodes) {
        const size = await cluster.cli(Number(new URL(url).port), 'DBSIZE');
        expect(Number(size.replace(/\D/g, ''))).toBeGreaterThan(0);
      }
      expect((await store.doctor()).findings.find(({ check }) => check === 'cluster state')).toMatchObject({
        status: 'ok',
        message: expect.stringMatching(/: ok, 3 masters with slots$/),
      });
      await store.close();
      await expect(redisStore(cluster.nodes[0]!.url)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        field: 'url',
        rule: expect.stringContaining('?cluster=1'),
      });
    } finally {
      await cluster.stop();
    }
  });

  it('waits for the replicas of the master that was written to', { timeout: 60_000 }, async () => {
    const cluster = await startRedisCluster({ replicas: 1 });
    try {
      const store = await redisStore({ url: cluster.url, waitReplicas: 1, timeoutMs: 20_000 });
      await Promise.all(Array.from({ length: 64 }, (_, at) => store.kv.put(`record.${at}`, { v: at })));
      expect(store.info.durability).toBe('node-loss');
      const sizes = await Promise.all(
        cluster.nodes.map(async ({ url }) => Number((await cluster.cli(Number(new URL(url).port), 'DBSIZE')).trim())),
      );
      // Every master has a replica with as many keys.
      const counts = sizes.sort((a, b) => a - b);
      for (let at = 0; at < counts.length; at += 2) expect(counts[at]).toBe(counts[at + 1]);
      expect(counts[0]).toBeGreaterThan(0);
      await store.close();
      const impatient = await redisStore({ url: cluster.url, waitReplicas: 2, waitReplicasMs: 50, timeoutMs: 20_000 });
      await expect(impatient.kv.put('record.0', { v: 1 })).rejects.toMatchObject({
        code: 'OUTCOME_UNKNOWN',
        message: expect.stringContaining('1 of 2 replicas had it'),
      });
      await impatient.close();
    } finally {
      await cluster.stop();
    }
  });
});

describe('the check of counters', () => {
  const noDelay = async () => {};

  it('finds a swap that was acknowledged and lost, and one that was applied twice', async () => {
    const store = memoryStore();
    const counters = new Counters(store);
    await counters.raise('lost', true, noDelay);
    await counters.raise('twice', true, noDelay);
    await counters.check();
    expect(counters.problems).toEqual([]);
    await store.kv.setField('lost', 'value', 0);
    await store.kv.setField('twice', 'value', 2);
    await counters.check();
    expect(counters.problems).toEqual([
      'lost is 0: 1 acknowledged swaps were lost',
      'twice is 2, though only 1 swaps were acknowledged and 0 are unknown',
    ]);
    await store.close();
  });
});

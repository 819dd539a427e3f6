/**
 * The doctor's findings for servers and streams with each weakness, and the streams that are refused at once (GEN-6,
 * GEN-9).
 */
import type { DoctorFinding, Store } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startKind } from '../../../scripts/servers/index.ts';
import { startNatsCluster } from '../../../scripts/servers/nats-cluster.ts';
import { natsOf } from '../../../scripts/servers/nats-versions.ts';
import { natsStore } from '../src/index.ts';
import { type StreamConfig, safeConfig, streamName } from '../src/streams/streams.ts';
import { askServer, newPrefix, onOwnCluster, onSyncedServer, type Setting, WITHOUT_NATS } from './servers.ts';
import { newStreams, openStore } from './stores.ts';

async function findingOf(store: Store, check: string): Promise<DoctorFinding> {
  const { findings } = await store.doctor();
  return findings.find((finding) => finding.check === check)!;
}

const SMALL_ACCOUNT = `
  accounts: { SMALL: { jetstream: { max_file: 4MB, max_mem: 1MB }, users: [{ user: small, password: small }] } }
  no_auth_user: small`;

async function started(start: () => Promise<Setting>): Promise<Setting> {
  const setting = await start();
  onTestFinished(() => setting.stop());
  return setting;
}

/** A change to a safe stream, and the expected message. */
const UNSAFE: [change: Partial<StreamConfig>, said: RegExp][] = [
  [{ storage: 'memory' }, /storage is memory/],
  [{ discard: 'old' }, /discard is old/],
  [{ max_age: 3_600_000_000_000 }, /max_age is 3600000000000/],
  [{ max_msgs_per_subject: 1 }, /max_msgs_per_subject is 1/],
  [{ retention: 'interest' }, /retention is interest/],
  [{ allow_direct: true }, /allow_direct is true/],
  [{ allow_rollup_hdrs: true, deny_purge: false }, /allow_rollup_hdrs is true/],
  [{ deny_delete: false }, /deny_delete is false/],
  [{ no_ack: true }, /no_ack is true/],
];

describe.skipIf(WITHOUT_NATS)('an existing stream', () => {
  it.each(UNSAFE)('with %j is rejected', async (change, said) => {
    const { url, prefix } = newStreams();
    const made = await askServer<{ error?: unknown }>(url, `STREAM.CREATE.${streamName(prefix, 'runs')}`, {
      ...safeConfig(prefix, 'runs', 1),
      ...change,
    });
    expect(made.error).toBeUndefined();
    await expect(natsStore({ url, prefix })).rejects.toMatchObject({
      code: 'DURABILITY_TOO_WEAK',
      message: expect.stringMatching(said),
    });
  });

  it('with other replicas than configured is rejected', async () => {
    const { url, prefix } = newStreams();
    await openStore({ url, prefix });
    await expect(natsStore({ url, prefix, replicas: 3 })).rejects.toMatchObject({ code: 'DURABILITY_TOO_WEAK' });
  });

  it('that is made unsafe later fails the doctor', async () => {
    const { url, prefix } = newStreams();
    const store = await openStore({ url, prefix });
    expect(await findingOf(store, 'stream runs')).toMatchObject({ status: 'ok' });
    await askServer(url, `STREAM.UPDATE.${streamName(prefix, 'runs')}`, {
      ...safeConfig(prefix, 'runs', 1),
      discard: 'old',
      max_msgs: 1_000,
    });
    const finding = await findingOf(store, 'stream runs');
    expect(finding).toMatchObject({
      status: 'fail',
      message: expect.stringMatching(/discard is old.*max_msgs is 1000/),
    });
    expect(finding.fix).toContain(streamName(prefix, 'runs'));
  });
});

describe.skipIf(WITHOUT_NATS)('the doctor', () => {
  it('fails a server that cannot sync before it acknowledges, and warns about a single replica', async () => {
    const store = await openStore(newStreams());
    expect(store.info.version).toMatch(/^2\.9\./);
    expect(store.info.durability).toBe('process-crash');
    expect(await findingOf(store, 'sync')).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('two minutes'),
    });
    expect(await findingOf(store, 'replicas')).toMatchObject({ status: 'warn' });
    expect(await findingOf(store, 'server version')).toMatchObject({ status: 'warn' });
    await expect(natsStore({ ...newStreams(), durability: 'require' })).rejects.toMatchObject({
      code: 'DURABILITY_TOO_WEAK',
      current: 'process-crash',
    });
  });

  it('detects by its monitoring that a server syncs, and reports unknown without it', { timeout: 60_000 }, async () => {
    const { options } = await started(onSyncedServer);
    const store = await openStore({ ...options, durability: 'require' });
    expect(store.info.durability).toBe('host-crash');
    expect(await findingOf(store, 'sync')).toMatchObject({ status: 'ok' });
    const blind = await openStore({ url: options.url });
    expect(blind.info.durability).toBe('unknown');
    expect(await findingOf(blind, 'sync')).toMatchObject({ status: 'unknown' });
    const wrong = await openStore({ url: options.url, monitoring: ['http://127.0.0.1:9'] });
    expect(await findingOf(wrong, 'sync')).toMatchObject({ status: 'unknown', message: expect.stringContaining(':9') });
    await expect(natsStore({ url: options.url, durability: 'require' })).rejects.toMatchObject({ current: 'unknown' });
  });

  it('fails a server that could sync at once but does it later', { timeout: 60_000 }, async () => {
    const server = await startKind(await natsOf('2.10'));
    onTestFinished(() => server.stop());
    const store = await openStore({ url: server.url, monitoring: [`http://127.0.0.1:${server.started!.ports[1]}`] });
    expect(store.info.durability).toBe('process-crash');
    expect(await findingOf(store, 'sync')).toMatchObject({
      status: 'fail',
      fix: expect.stringContaining('sync_interval: always'),
    });
  });

  it('reports that three synced replicas survive the loss of one, and names one that is disconnected', {
    timeout: 120_000,
  }, async () => {
    const { options } = await started(() => onOwnCluster('2.10'));
    const store = await openStore({ ...options, durability: 'require' });
    expect(store.info.durability).toBe('node-loss');
    expect(await findingOf(store, 'replicas')).toMatchObject({ status: 'ok' });
    const partly = await openStore({ ...options, monitoring: options.monitoring!.slice(0, 2) });
    expect(partly.info.durability).toBe('unknown');
  });

  it('names a disconnected replica', { timeout: 120_000 }, async () => {
    const cluster = await startNatsCluster('installed');
    onTestFinished(() => cluster.stop());
    const prefix = newPrefix();
    const store = await openStore({ url: cluster.url, prefix, timeoutMs: 20_000 });
    await expect.poll(() => findingOf(store, 'replica lag'), { timeout: 20_000 }).toMatchObject({ status: 'ok' });
    await cluster.nodes[2]!.kill!();
    await expect
      .poll(() => findingOf(store, 'replica lag').catch(() => null), { timeout: 60_000, interval: 500 })
      .toMatchObject({ status: 'warn', message: expect.stringContaining('n3') });
  });

  it('warns about an account that is nearly full', { timeout: 60_000 }, async () => {
    const server = await startKind(await natsOf('installed', () => SMALL_ACCOUNT));
    onTestFinished(() => server.stop());
    const store = await openStore({ url: server.url });
    for (let at = 0; at < 8; at++) await store.kv.put(`k.${at}`, { v: new Uint8Array(480_000) }).catch(() => {});
    expect(await findingOf(store, 'account')).toMatchObject({
      status: 'warn',
      fix: expect.stringContaining('max_storage'),
    });
    await expect(store.kv.put('more', { v: new Uint8Array(500_000) })).rejects.toMatchObject({ code: 'STORAGE_FULL' });
  });
});

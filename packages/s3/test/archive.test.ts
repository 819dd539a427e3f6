/** The archiver with a bucket: archived runs are stored safely, read through, restored and verified (RUN-15, RUN-17). */
import { memoryStore, type RunEventRecord, type Store } from '@tidemark/core';
import { createArchiver, withArchive } from '@tidemark/runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { S3Proxy } from '../../../faults/s3-proxy.ts';
import { offeredUrl } from '../../../scripts/servers/index.ts';
import { startNode } from '../../sqlite/test/programs.ts';
import { type S3Options, type S3Target, s3Target } from '../src/index.ts';
import { newBucket, WITHOUT_S3 } from './server.ts';

const TENANTS = ['acme', '../..', 'a/b', 'A', 'ü☂', 'x'.repeat(512)];

const read = (events: AsyncIterable<RunEventRecord>) => Array.fromAsync(events);

async function addRun(store: Store, runId: string, tenantId: string, events = 3): Promise<RunEventRecord[]> {
  const run = store.runs.handle(runId, { tenantId });
  await run.append('RunStarted', { runId, tenantId });
  for (let at = 0; at < events; at++) await run.append('Progress', { at });
  await run.append('RunCompleted');
  return read(store.runs.readEvents(runId, { tenantId }));
}

describe.skipIf(WITHOUT_S3)('The archiver with a bucket', () => {
  let proxy: S3Proxy;
  let options: S3Options;
  const opened: S3Target[] = [];
  const open = (more: Partial<S3Options> = {}) => {
    const target = s3Target({ ...options, ...more });
    opened.push(target);
    return target;
  };
  /** Returns a target in a part of the bucket that no other test uses. */
  const openNew = () => open({ url: `${options.url}/${crypto.randomUUID()}` });

  beforeAll(async () => {
    proxy = await S3Proxy.before(offeredUrl('s3')!);
    options = await newBucket({ endpoint: proxy.url });
  });
  afterAll(async () => {
    for (const target of opened) target.close();
    await proxy?.close();
  });

  it('moves runs of any tenant to the bucket, reads them there and restores them identical', async () => {
    const store = memoryStore();
    const target = openNew();
    const archiver = createArchiver({ store, target });
    const before = new Map<string, RunEventRecord[]>();
    for (const tenantId of TENANTS) before.set(tenantId, await addRun(store, 'run', tenantId));
    expect(await archiver.archiveRuns({})).toMatchObject({ runs: TENANTS.length, spared: [] });
    expect(await archiver.verify()).toMatchObject({ ok: true, runs: TENANTS.length, problems: [], strays: [] });
    const through = withArchive(store, archiver);
    for (const tenantId of TENANTS) {
      await expect(store.runs.fetchEvents('run', { tenantId })).rejects.toMatchObject({ code: 'RUN_ARCHIVED' });
      expect(await read(through.runs.readEvents('run', { tenantId }))).toEqual(before.get(tenantId));
      await archiver.restoreRun('run', { tenantId });
      expect(await read(store.runs.readEvents('run', { tenantId }))).toEqual(before.get(tenantId));
    }
    const another = createArchiver({ store: memoryStore(), target });
    await another.restoreRun('run', { tenantId: 'A' });
    expect(await archiver.deleteTenant('acme')).toBe(2);
    expect(await archiver.deleteTenant('acme')).toBe(0);
    expect(await archiver.verify()).toMatchObject({ ok: true, runs: TENANTS.length - 1 });
  });

  it('two archivers at once move every run exactly once', async () => {
    const store = memoryStore();
    const target = openNew();
    const runs = 40;
    for (let run = 0; run < runs; run++) await addRun(store, `run-${run}`, 'acme');
    const archivers = [createArchiver({ store, target }), createArchiver({ store, target })];
    await Promise.all(archivers.map((archiver) => archiver.archiveRuns({})));
    expect(await archivers[0]!.verify()).toMatchObject({ ok: true, problems: [], strays: [] });
    for (let run = 0; run < runs; run++) {
      const restored = await archivers[1]!.restoreRun(`run-${run}`, { tenantId: 'acme' });
      expect(restored).toMatchObject({ lastEventSeq: 5, restored: true });
    }
    expect(await Array.fromAsync(target.list('under-way/'))).toEqual([]);
  });

  it('loses nothing while S3 loses replies, is busy and cuts reads off (GEN-8)', async () => {
    const store = memoryStore();
    const archiver = createArchiver({ store, target: openNew() });
    const before = await addRun(store, 'run', 'acme', 20);
    for (const method of ['PUT', 'GET', 'DELETE', 'HEAD'])
      for (const fault of ['lose reply', 'lose request', { status: 503, code: 'SlowDown' }] as const)
        proxy.inject({ fault, method, times: 2 });
    proxy.inject({ fault: 'truncate', method: 'GET', times: 2 });
    expect(await archiver.archiveRuns({})).toMatchObject({ runs: 1, spared: [] });
    await archiver.restoreRun('run', { tenantId: 'acme' });
    expect(await read(store.runs.readEvents('run', { tenantId: 'acme' }))).toEqual(before);
    proxy.heal();
    expect(await archiver.verify()).toMatchObject({ ok: true, strays: [] });
  });

  it('keeps all runs in the store while S3 rejects, and moves them later', async () => {
    const store = memoryStore();
    const archiver = createArchiver({ store, target: openNew() });
    await addRun(store, 'run', 'acme');
    for (const url of ['archive/', 'under-way/']) {
      proxy.inject({ fault: { status: 403, code: 'AccessDenied' }, method: 'PUT', url, times: 1_000 });
      await expect(archiver.archiveRuns({})).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
      expect(await store.runs.headSeq('run', { tenantId: 'acme' })).toBe(5);
      proxy.heal();
    }
    expect(await archiver.archiveRuns({})).toMatchObject({ runs: 1 });
  });

  it('no run is lost when archivers are killed while another one works (RUN-15)', { timeout: 180_000 }, async () => {
    const args = ['--crashes', '2', '--s3', '--archivers', '2'];
    const { code, stdout, stderr } = await startNode({ script: 'faults/keeping.ts' }, ...args).ended;
    expect(code, `faults/keeping failed:\n${stderr}${stdout}`).toBe(0);
    expect(stdout).toMatch(/2 crashes, .* 0 problems/);
  });
});

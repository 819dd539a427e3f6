/** The archiver on every engine: archived runs are stored safely, and restored runs are identical (RUN-15, RUN-17). */
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { encryption, memoryStore, type RunEventRecord, type Store } from '@tidemark/core';
import { decodeId, encodeId } from '@tidemark/core/engine';
import { type ArchivePoint, type ArchiveTarget, createArchiver, directoryTarget, withArchive } from '@tidemark/runtime';
import { describe, expect, it, onTestFinished } from 'vitest';
import { neededServers } from '../../../scripts/servers/index.ts';
import { type Database, ENGINES } from './engines.ts';

const HOSTILE = ['../..', 'a/b', 'A', 'a', '.', 'ü☂', 'con', 'x'.repeat(512), '%2e'];

async function newDirectory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'tidemark-archive-'));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

async function addRun(store: Store, runId: string, events: number, tenantId = 'acme'): Promise<void> {
  const run = store.runs.handle(runId, { tenantId, labels: { team: 'ops' } });
  await run.append('RunStarted', { text: `${runId} begins` });
  const { projectId, environmentId, planId, planVersion } = (await store.runs.fetchEvents(runId, { tenantId }))[0]!;
  const scope = { runId, tenantId, projectId, environmentId, planId, planVersion, emittedAt: '2026-02-16T09:30:00Z' };
  const attempts = { engineAttemptId: 1, logicalAttemptId: 1 };
  for (let at = 0; at < events; at += 500) {
    const batch = Array.from({ length: Math.min(500, events - at) }, (_, n) => ({
      ...scope,
      ...attempts,
      eventId: crypto.randomUUID(),
      eventType: 'Progress',
      payload: { n: at + n, note: `step ${at + n} of ${runId}` },
    }));
    await store.runs.appendEvents(batch);
  }
  await run.append('RunCompleted');
}

const read = (events: AsyncIterable<RunEventRecord>) => Array.fromAsync(events);

function offered(engine: string): boolean {
  return engine === 'sqlite' || neededServers().some((server) => server === engine);
}

async function openStore(database: Database): Promise<Store> {
  const store = await database.open();
  onTestFinished(async () => {
    await store.close();
    await database.remove();
  });
  return store;
}

describe.each(Object.keys(ENGINES).filter(offered))('The archiver on %s', (engine) => {
  it('moves runs to files and back, identical to the last link and millisecond', { timeout: 60_000 }, async () => {
    const store = await openStore(await ENGINES[engine]!());
    const archiver = createArchiver({ store, target: directoryTarget(await newDirectory()) });
    const runs = { short: 3, long: 2_100, other: 1 };
    for (const [runId, events] of Object.entries(runs)) await addRun(store, runId, events);
    await addRun(store, 'short', 2, 'tenant/..');
    await store.runs.handle('live', { tenantId: 'acme' }).append('RunStarted');
    const keys = (await store.runs.listRuns({ status: 'COMPLETED' })).items;
    const before = new Map<string, RunEventRecord[]>();
    for (const { tenantId, runId } of keys)
      before.set(`${tenantId} ${runId}`, await read(store.runs.readEvents(runId, { tenantId })));
    const listed = (await store.runs.listRuns()).items;

    expect(await archiver.archiveRuns({}, { dryRun: true })).toMatchObject({ dryRun: true, runs: 4, events: 2_114 });
    const steps: number[] = [];
    const report = await archiver.archiveRuns({}, { onProgress: ({ runs: done }) => steps.push(done) });
    expect(report).toMatchObject({ runs: 4, events: 2_114, spared: [] });
    expect(steps.at(-1)).toBe(4);
    expect((await store.runs.listRuns()).items.map(({ runId }) => runId)).toEqual(['live']);
    expect(await archiver.verify()).toMatchObject({ ok: true, runs: 4, events: 2_114, problems: [], strays: [] });

    const through = withArchive(store, archiver);
    for (const { tenantId, runId } of keys) {
      const events = before.get(`${tenantId} ${runId}`)!;
      await expect(store.runs.fetchEvents(runId, { tenantId })).rejects.toMatchObject({ code: 'RUN_ARCHIVED' });
      expect(await read(archiver.readRun(runId, { tenantId }))).toEqual(events);
      expect(await read(through.runs.readEvents(runId, { tenantId, afterSeq: 1 }))).toEqual(events.slice(1));
      expect(await through.forTenant(tenantId).runs.fetchEvents(runId, { afterSeq: 1, limit: 2 })).toEqual(
        events.slice(1, 3),
      );
      const restored = await archiver.restoreRun(runId, { tenantId });
      expect(restored).toEqual({ tenantId, runId, lastEventSeq: events.length, restored: true });
      expect(await read(store.runs.readEvents(runId, { tenantId }))).toEqual(events);
      expect((await store.runs.verify(runId, { tenantId })).ok).toBe(true);
    }
    expect((await store.runs.listRuns()).items).toEqual(listed);
  });

  it('finishes its work although another archiver discards a listed pack', async () => {
    const store = await openStore(await ENGINES[engine]!());
    await addRun(store, 'run', 3);
    const directory = directoryTarget(await newDirectory());
    const stop = (at: ArchivePoint) => {
      if (at === 'under way') throw new Error('killed');
    };
    const killed = createArchiver({ store, target: directory, probe: stop });
    await expect(killed.archiveRuns({})).rejects.toThrow('killed');
    // The run receives another event, so the next archiver discards the pack. It is killed before it removes the list.
    await store.runs.handle('run', { tenantId: 'acme' }).append('Progress');
    const discarding = createArchiver({
      store,
      target: directory,
      probe: (at) => {
        if (at === 'listed') throw new Error('killed');
      },
    });
    await expect(discarding.archiveRuns({})).rejects.toThrow('killed');
    expect(await Array.fromAsync(directory.list('under-way/'))).toHaveLength(1);
    const report = await createArchiver({ store, target: directory }).archiveRuns({ tenantId: 'acme' });
    expect(report).toMatchObject({ runs: 1, spared: [] });
    expect(await Array.fromAsync(directory.list('under-way/'))).toEqual([]);
  });

  it('keeps a run in the store if it receives events while being packed', async () => {
    const store = await openStore(await ENGINES[engine]!());
    await addRun(store, 'busy', 3);
    const directory = directoryTarget(await newDirectory());
    let reads = 0;
    const meddling: ArchiveTarget = {
      put: (name, content) => directory.put(name, content),
      get: async (name) => {
        // When the pack is first read back, it has been written but no run has left the store yet.
        if (reads++ === 0) await store.runs.handle('busy', { tenantId: 'acme' }).append('Progress');
        return directory.get(name);
      },
      list: (prefix) => directory.list(prefix),
      delete: (name) => directory.delete(name),
    };
    const archiver = createArchiver({ store, target: meddling });
    const report = await archiver.archiveRuns({ tenantId: 'acme' });
    expect(report).toMatchObject({ runs: 0, spared: [{ runId: 'busy' }] });
    expect(await store.runs.headSeq('busy', { tenantId: 'acme' })).toBe(6);
    expect(await archiver.verify()).toMatchObject({ ok: true, packs: 0, strays: [] });
    await expect(archiver.archiveRun('busy', { tenantId: 'acme', expectedSeq: 5 })).rejects.toMatchObject({
      code: 'SEQ_CONFLICT',
    });
    expect(await archiver.archiveRun('busy', { tenantId: 'acme', expectedSeq: 6 })).toMatchObject({
      runs: 1,
      events: 6,
    });
  });
});

describe('A run that is redacted while being packed', () => {
  const ORDER = { tenantId: 'acme', by: 'officer', reason: 'request 4711' };

  /** A target that redacts an event of a run when a pack is first read back, or when it is listed as under way. */
  async function redacting(store: Store, runId: string, when: 'read' | 'listed') {
    const directory = directoryTarget(await newDirectory());
    const redact = once(() => store.runs.redactEvent(runId, 2, ORDER));
    const target: ArchiveTarget = {
      put: async (name, content) => {
        await directory.put(name, content);
        if (when === 'listed' && name.startsWith('under-way/')) await redact();
      },
      get: async (name) => {
        if (when === 'read') await redact();
        return directory.get(name);
      },
      list: (prefix) => directory.list(prefix),
      delete: (name) => directory.delete(name),
    };
    return { directory, archiver: createArchiver({ store, target }) };
  }

  it.for(['read', 'listed'] as const)(
    'is packed again when it was %s, and is restored without the payload',
    async (when) => {
      const store = memoryStore();
      for (const runId of ['redacted', 'other']) await addRun(store, runId, 3);
      const { archiver } = await redacting(store, 'redacted', when);
      expect(await archiver.archiveRuns({ tenantId: 'acme' })).toMatchObject({ runs: 2, spared: [] });
      for (const runId of ['redacted', 'other']) {
        const archived = await read(archiver.readRun(runId, { tenantId: 'acme' }));
        expect(archived[1]!.payload === undefined).toBe(runId === 'redacted');
        await archiver.restoreRun(runId, { tenantId: 'acme' });
        expect(await read(store.runs.readEvents(runId, { tenantId: 'acme' }))).toEqual(archived);
      }
      expect(await archiver.verify()).toMatchObject({ ok: true, strays: [] });
    },
  );

  it('leaves no trace of the payload in the archive if no other run has left the store', async () => {
    const store = memoryStore();
    await addRun(store, 'redacted', 3);
    const [, event] = await store.runs.fetchEvents('redacted', { tenantId: 'acme' });
    const { archiver, directory } = await redacting(store, 'redacted', 'listed');
    await archiver.archiveRun('redacted', { tenantId: 'acme' });
    const packs = (await Array.fromAsync(directory.list('archive/'))).filter((name) => !name.endsWith('.json'));
    expect(packs).toHaveLength(1);
    for await (const part of archiver.exportRun('redacted', { tenantId: 'acme' }))
      expect(JSON.stringify(part)).not.toContain(JSON.stringify(event!.payload).slice(1, -1));
  });

  it('is not archived by an archiver that finishes a pack from before its restore', async () => {
    const store = memoryStore();
    await addRun(store, 'r', 3);
    const directory = await newDirectory();
    const stop = (point: ArchivePoint) => {
      if (point === 'left') throw new Error('killed');
    };
    const killed = createArchiver({ store, target: directoryTarget(directory), probe: stop });
    await expect(killed.archiveRun('r', { tenantId: 'acme' })).rejects.toThrow('killed');
    const archiver = createArchiver({ store, target: directoryTarget(directory) });
    const parts = await Array.fromAsync(archiver.exportRun('r', { tenantId: 'acme' }));
    await store.runs.restoreRun(parts);
    await store.runs.redactEvent('r', 2, ORDER);
    const report = await archiver.archiveRuns([]);
    expect(report).toMatchObject({ runs: 0, spared: [{ runId: 'r' }] });
    expect((await store.runs.fetchEvents('r', { tenantId: 'acme' }))[1]!.payload).toBeUndefined();
  });
});

function once(task: () => Promise<unknown>): () => Promise<void> {
  let done: Promise<unknown> | undefined;
  return async () => {
    done ??= task();
    await done;
  };
}

async function archived(options: Parameters<typeof memoryStore>[0] = {}) {
  const store = memoryStore(options);
  const directory = await newDirectory();
  const archiver = createArchiver({ store, target: directoryTarget(directory) });
  await addRun(store, 'r', 50);
  await archiver.archiveRun('r', { tenantId: 'acme' });
  const files = (await readdir(directory, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const pack = files.find((file) => !file.endsWith('.json'))!;
  return { store, archiver, directory, files, pack };
}

describe('The archiver', () => {
  it('keeps runs in the store if the written file does not read back', async () => {
    const store = memoryStore();
    const directory = directoryTarget(await newDirectory());
    const lossy: ArchiveTarget = {
      put: (name, content) => directory.put(name, name.startsWith('archive/') ? halfOf(content) : content),
      get: (name) => directory.get(name),
      list: (prefix) => directory.list(prefix),
      delete: (name) => directory.delete(name),
    };
    await addRun(store, 'r', 50);
    const archiver = createArchiver({ store, target: lossy });
    await expect(archiver.archiveRun('r', { tenantId: 'acme' })).rejects.toMatchObject({ code: 'CORRUPT_EVENT' });
    expect(await store.runs.headSeq('r', { tenantId: 'acme' })).toBe(52);
    expect(await Array.fromAsync(directory.list(''))).toEqual([]);
  });

  it('finds any flipped byte, and restores nothing from a damaged file', async () => {
    const { archiver, pack } = await archived();
    const content = await readFile(pack);
    for (let at = 0; at < content.length; at += Math.ceil(content.length / 40)) {
      const damaged = Buffer.from(content);
      damaged[at]! ^= 1;
      await writeFile(pack, damaged);
      const { ok, problems } = await archiver.verify();
      expect([ok, problems.length], `byte ${at}`).toEqual([false, 1]);
    }
    await writeFile(pack, content.subarray(0, content.length / 2));
    await expect(archiver.restoreRun('r', { tenantId: 'acme' })).rejects.toMatchObject({ code: 'CORRUPT_EVENT' });
    await writeFile(pack, content);
    expect(await archiver.restoreRun('r', { tenantId: 'acme' })).toMatchObject({ restored: true });
    expect(await archiver.verify()).toMatchObject({ ok: true });
  });

  it('finds a missing file, and reports files without a manifest', async () => {
    const { archiver, pack, directory } = await archived();
    await writeFile(join(directory, 'archive', 'acme', 'left.jsonl.zst'), 'x');
    expect((await archiver.verify()).strays).toEqual(['archive/acme/left.jsonl.zst']);
    await rm(pack);
    expect(await archiver.verify()).toMatchObject({ ok: false, problems: [expect.stringContaining('missing')] });
  });

  it('archives payloads as encoded by the codec, and reads them with it', async () => {
    const codec = encryption({ keys: { k: randomBytes(32) }, current: 'k' });
    const { archiver, directory, pack } = await archived({ codec });
    const archive = createReadStream(pack).pipe(pack.endsWith('.gz') ? createGunzip() : createZstdDecompress());
    expect(Buffer.concat(await Array.fromAsync(archive)).toString()).not.toContain('step 0 of r');
    const events = await read(archiver.readRun('r', { tenantId: 'acme' }));
    expect(events[1]!.payload).toEqual({ n: 0, note: 'step 0 of r' });
    const stranger = createArchiver({ store: memoryStore(), target: directoryTarget(directory) });
    await expect(read(stranger.readRun('r', { tenantId: 'acme' }))).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });

  it('keeps tenants with any names apart, and deletes only the files of one', async () => {
    const store = memoryStore();
    const directory = await newDirectory();
    const archiver = createArchiver({ store, target: directoryTarget(directory) });
    for (const tenantId of HOSTILE) await addRun(store, 'r', 1, tenantId);
    expect(await archiver.archiveRuns({})).toMatchObject({ runs: HOSTILE.length });
    const folders = await readdir(join(directory, 'archive'));
    expect(new Set(folders.map((name) => name.toLowerCase())).size).toBe(folders.length);
    expect(await archiver.deleteTenant('a')).toBe(2);
    for (const tenantId of HOSTILE.filter((name) => name !== 'a'))
      expect(await archiver.restoreRun('r', { tenantId })).toMatchObject({ tenantId, restored: true });
    await expect(archiver.restoreRun('r', { tenantId: 'a' })).rejects.toMatchObject({ code: 'CORRUPT_EVENT' });
  });

  it('restores into a store that never had the run, from the newest copy', async () => {
    const { store, archiver, directory } = await archived();
    await archiver.restoreRun('r', { tenantId: 'acme' });
    await store.runs.handle('r', { tenantId: 'acme' }).append('Progress', { late: true });
    await archiver.archiveRun('r', { tenantId: 'acme' });
    const events = await read(archiver.readRun('r', { tenantId: 'acme' }));
    const other = memoryStore();
    const rescue = createArchiver({ store: other, target: directoryTarget(directory) });
    expect(await rescue.restoreRun('r')).toMatchObject({ lastEventSeq: 53, restored: true });
    expect(await read(other.runs.readEvents('r'))).toEqual(events);
    await other.runs.deleteRun('r');
    await expect(rescue.restoreRun('r', { tenantId: 'acme' })).rejects.toMatchObject({ code: 'RUN_DELETED' });
    await expect(rescue.restoreRun('unknown')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });

  it.each(HOSTILE)('encodes %j so that it can be decoded', (id) => {
    const encoded = encodeId(id);
    expect(decodeId(encoded)).toBe(id);
    expect(encoded).toMatch(/^[a-z0-9_%-]{1,200}(\+\/[a-z0-9_%-]{1,200})*$/);
  });

  it('rejects names that leave the directory', async () => {
    const target = directoryTarget(await newDirectory());
    for (const name of ['../x', '/x', 'a//b', 'a/./b', ''])
      await expect(target.get(name)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(await target.get('nothing')).toBeNull();
    expect(await target.delete('nothing/there')).toBe(false);
  });
});

async function* halfOf(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const whole = Buffer.concat(await Array.fromAsync(content));
  yield whole.subarray(0, whole.length / 2);
}

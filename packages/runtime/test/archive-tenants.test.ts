/** An archive returns each tenant only its own runs, even if a tombstone has a false location or files are replaced. */
import { copyFile, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryStore, type RunEventRecord, type Store } from '@tidemark/core';
import { type Archiver, type ArchiveTarget, createArchiver, directoryTarget, withArchive } from '@tidemark/runtime';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseLocation } from '../src/archive/names.ts';

// Names and notes of equal length, so that the runs of both tenants have the same byte range in their files.
const VICTIM = 'acme';
const ATTACKER = 'evil';
const SECRET = 'known to acme only';
const HARMLESS = 'known to everybody';
/** Rounds of the race between a reader and an actor that replaces files. */
const ROUNDS = 200;
/** More than one page of reads. */
const EVENTS = 2_500;

const MOMENT = Date.parse('2026-02-16T09:30:00.123Z');

async function newDirectory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'tidemark-archive-tenants-'));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

async function addRun(store: Store, tenantId: string, runId: string, note: string): Promise<void> {
  const run = store.runs.handle(runId, { tenantId });
  const emittedAt = new Date(MOMENT).toISOString();
  await run.append('RunStarted', { note }, { emittedAt });
  await run.append('RunCompleted', {}, { emittedAt });
}

interface Scene {
  store: Store;
  directory: string;
  archiver: Archiver;
  /** Location of the victim's run `order`. */
  location: string;
}

async function scene(target: (directory: string) => ArchiveTarget = directoryTarget): Promise<Scene> {
  // Events of the same millisecond take the same number of bytes in every pack.
  const store = memoryStore({ clock: () => MOMENT });
  const directory = await newDirectory();
  const archiver = createArchiver({ store, target: target(directory) });
  await addRun(store, VICTIM, 'order', SECRET);
  await archiver.archiveRun('order', { tenantId: VICTIM });
  return { store, directory, archiver, location: (await store.runs.archiveLocation('order', { tenantId: VICTIM }))! };
}

/** The attacker archives its own run with a location of its choice. */
async function pointAt(store: Store, location: string, runId: string): Promise<void> {
  await addRun(store, ATTACKER, runId, HARMLESS);
  await store.forTenant(ATTACKER).runs.archiveRun(runId, { location, expectedSeq: 2 });
}

/** Every call that reads a run from the archive, on behalf of the attacker. */
function reads({ store, archiver }: Scene, runId: string): Record<string, () => Promise<unknown>> {
  const through = withArchive(store, archiver);
  const { runs } = through.forTenant(ATTACKER);
  const named = { tenantId: ATTACKER };
  return {
    'fetchEvents of the view': () => runs.fetchEvents(runId),
    'readEvents of the view': () => Array.fromAsync(runs.readEvents(runId)),
    'exportRun of the view': () => Array.fromAsync(runs.exportRun(runId)),
    'fetchEvents of the operator': () => through.runs.fetchEvents(runId, named),
    'readRun of the archiver': () => Array.fromAsync(archiver.readRun(runId, named)),
    'exportRun of the archiver': () => Array.fromAsync(archiver.exportRun(runId, named)),
  };
}

describe('A location of another tenant', () => {
  it.for(['returns nothing of its run to a run named %s', 'other'])(
    'shows nothing of its run to a run named %s',
    async (runId) => {
      const it = await scene();
      await pointAt(it.store, it.location, runId);
      for (const [name, read] of Object.entries(reads(it, runId)))
        await expect(read(), name).rejects.toMatchObject({ code: 'RUN_ARCHIVED', runId });
    },
  );

  it('returns nothing to an operator who names no tenant', async () => {
    const it = await scene();
    await pointAt(it.store, it.location, 'other');
    await expect(Array.fromAsync(it.archiver.readRun('other'))).rejects.toMatchObject({ code: 'RUN_ARCHIVED' });
    await expect(it.archiver.restoreRun('other')).rejects.toMatchObject({ code: 'RUN_ARCHIVED' });
    const own = await Array.fromAsync(it.archiver.readRun('order'));
    expect(own[0]!.payload).toEqual({ note: SECRET });
  });

  it('does not restore a run that its tenant erased', async () => {
    const it = await scene();
    await it.store.admin.eraseTenant(VICTIM);
    for (const runId of ['order', 'other']) {
      await pointAt(it.store, it.location, runId);
      await expect(it.archiver.restoreRun(runId, { tenantId: ATTACKER })).rejects.toMatchObject({
        code: 'RUN_ARCHIVED',
      });
      await expect(it.archiver.restoreRun(runId)).rejects.toMatchObject({ code: 'RUN_ARCHIVED' });
    }
    expect((await it.store.runs.listRuns({ tenantId: VICTIM })).items).toEqual([]);
  });

  it('is rejected if it points to another run of the same tenant, or to several runs at once', async () => {
    const it = await scene();
    const { store, archiver } = it;
    for (const runId of ['first', 'second']) await addRun(store, ATTACKER, runId, runId);
    await archiver.archiveRuns({ tenantId: ATTACKER });
    const locations = await Promise.all(
      ['first', 'second'].map((id) => store.runs.archiveLocation(id, { tenantId: ATTACKER })),
    );
    const [first, second] = locations.map((location) => parseLocation(location!)!);
    await pointAt(store, locations[0]!, 'third');
    await expect(Array.fromAsync(archiver.readRun('third'))).rejects.toMatchObject({ code: 'RUN_ARCHIVED' });
    const [start, end] = [Math.min(first!.start, second!.start), Math.max(first!.end, second!.end)];
    const both = [first!, second!].find((location) => location.start === start)!;
    const runId = both === first ? 'first' : 'second';
    const widened = memoryStore();
    await addRun(widened, ATTACKER, runId, runId);
    await widened.runs.archiveRun(runId, {
      tenantId: ATTACKER,
      location: `${both.pack}#${start}-${end}`,
      expectedSeq: 2,
    });
    const reader = createArchiver({ store: widened, target: directoryTarget(it.directory) });
    await expect(Array.fromAsync(reader.readRun(runId, { tenantId: ATTACKER }))).rejects.toMatchObject({
      code: 'RUN_ARCHIVED',
    });
  });

  it.for(['elsewhere', 'archive/%zz/2026/01/01/x.jsonl.zst#0-1', '../x#0-1', 'archive/evil/../acme/x#0-9'])(
    'is rejected without reading the archive when it is %s',
    async (location) => {
      const looked: string[] = [];
      const it = await scene((directory) => spied(directoryTarget(directory), looked));
      looked.length = 0;
      await pointAt(it.store, location, 'other');
      for (const [name, read] of Object.entries(reads(it, 'other')))
        await expect(read(), name).rejects.toMatchObject({ code: 'RUN_ARCHIVED' });
      expect(looked).toEqual([]);
    },
  );
});

function spied(target: ArchiveTarget, looked: string[]): ArchiveTarget {
  return {
    put: (name, content) => target.put(name, content),
    get: (name) => {
      looked.push(name);
      return target.get(name);
    },
    list: (prefix) => target.list(prefix),
    delete: (name) => target.delete(name),
  };
}

describe('Concurrent actors', () => {
  it('replacing a file while it is read never exposes the run of another tenant', async () => {
    const it = await scene();
    const { store, archiver, directory } = it;
    await addRun(store, ATTACKER, 'order', HARMLESS);
    await archiver.archiveRun('order', { tenantId: ATTACKER });
    const own = parseLocation((await store.runs.archiveLocation('order', { tenantId: ATTACKER }))!)!;
    const foreign = parseLocation(it.location)!;
    expect([own.start, own.end], 'of the same bytes').toEqual([foreign.start, foreign.end]);
    const file = join(directory, own.pack);
    const versions = { own: join(directory, 'own'), foreign: join(directory, 'foreign') };
    await copyFile(file, versions.own);
    await copyFile(join(directory, foreign.pack), versions.foreign);
    let isDone = false;
    const replacing = (async () => {
      while (!isDone)
        for (const version of Object.values(versions)) {
          await copyFile(version, `${file}.next`);
          await rename(`${file}.next`, file);
        }
    })();
    const outcomes = { own: 0, refused: 0 };
    for (let round = 0; round < ROUNDS; round++) {
      const events: RunEventRecord[] = [];
      try {
        for await (const event of archiver.readRun('order', { tenantId: ATTACKER })) events.push(event);
        outcomes.own++;
      } catch (error) {
        expect((error as { code?: string }).code).toMatch(/^(RUN_ARCHIVED|CORRUPT_EVENT)$/);
        outcomes.refused++;
      }
      expect(JSON.stringify(events)).not.toContain(SECRET);
    }
    isDone = true;
    await replacing;
    expect(outcomes.own + outcomes.refused).toBe(ROUNDS);
    expect(Math.min(outcomes.own, outcomes.refused), 'both versions were met').toBeGreaterThan(0);
  });

  it("a run restored between the store's response and the read of its archive is returned", async () => {
    const it = await scene();
    const restoring = new Proxy(it.archiver, {
      get: (archiver, name) => {
        if (name !== 'readRun') return Reflect.get(archiver, name, archiver);
        return async function* (runId: string, options: { tenantId?: string }) {
          await archiver.restoreRun(runId, options);
          yield* archiver.readRun(runId, options);
        };
      },
    });
    const { runs } = withArchive(it.store, restoring).forTenant(VICTIM);
    expect((await runs.fetchEvents('order')).map(({ runSeq }) => runSeq)).toEqual([1, 2]);
  });

  it('a run archived while it is being read continues from the archive without repeats', async () => {
    const store = memoryStore();
    const archiver = createArchiver({ store, target: directoryTarget(await newDirectory()) });
    const run = store.runs.handle('long', { tenantId: VICTIM });
    for (let at = 0; at < EVENTS; at++) await run.append('Progress');
    const seen: number[] = [];
    for await (const { runSeq } of withArchive(store, archiver).runs.readEvents('long', { tenantId: VICTIM })) {
      if (seen.push(runSeq) === 1) await archiver.archiveRun('long', { tenantId: VICTIM });
    }
    expect(seen).toEqual(Array.from({ length: EVENTS }, (_, at) => at + 1));
  });
});

/** Exports on every engine: each row once, even when an export is stopped or killed and then continued. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { memoryStore, type Store } from '@tidemark/core';
import { type ArchiveTarget, directoryTarget, type ExportOptions, exportTables } from '@tidemark/runtime';
import { describe, expect, it, onTestFinished } from 'vitest';
import { neededServers } from '../../../scripts/servers/index.ts';
import { ENGINES } from './engines.ts';

const AVAILABLE = new Set<string>(['sqlite', ...neededServers()]);

async function newDirectory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'tidemark-export-'));
  onTestFinished(() => rm(path, { recursive: true }));
  return path;
}

type Row = Record<string, unknown>;

/** Reads all rows of a table, in the order of the files. */
async function rowsIn(directory: string, table: string): Promise<Row[]> {
  const files = await readdir(join(directory, table)).catch(() => []);
  const texts = await Promise.all(files.sort().map((file) => readFile(join(directory, table, file), 'utf8')));
  return texts.flatMap((text) =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Row),
  );
}

async function fill(store: Store, runs: number, tenantId = 'acme', events = 4): Promise<void> {
  for (let run = 0; run < runs; run++) {
    const handle = store.runs.handle(`run-${run}`, { tenantId, labels: { team: 'ops' } });
    await handle.append('RunStarted', { run });
    for (let at = 2; at < events; at++) await handle.append('Progress', { at, text: 'ü☂\n"' });
    await handle.append('RunCompleted');
  }
}

const keysOf = (rows: readonly Row[]) => rows.map((row) => `${row.tenant_id} ${row.run_id} ${row.run_seq}`);

describe.each(Object.keys(ENGINES).filter((name) => AVAILABLE.has(name)))('An export on %s', (engine) => {
  it('has every event and run once, as they are stored, and continues with what is new', async () => {
    const database = await ENGINES[engine]!();
    const store = await database.open();
    onTestFinished(async () => {
      await store.close();
      await database.remove();
    });
    const directory = await newDirectory();
    const options: ExportOptions = { store, target: directoryTarget(directory), tenantId: 'acme', rowsPerFile: 7 };
    await fill(store, 5);
    await fill(store, 2, 'other');
    expect(await exportTables(options)).toMatchObject({ events: 20, runs: 5 });
    expect(await exportTables({ ...options, tables: ['events'] })).toEqual({ events: 0, runs: 0, files: 0 });
    await store.runs.handle('run-0', { tenantId: 'acme' }).append('Note', { late: true });
    expect(await exportTables(options)).toMatchObject({ events: 1 });
    const events = await rowsIn(directory, 'events');
    expect(new Set(keysOf(events)).size).toBe(21);
    expect(events).toHaveLength(21);
    const [stored] = await store.runs.fetchEvents('run-3', { tenantId: 'acme' });
    const [exported] = events.filter((row) => row.run_id === 'run-3');
    expect(exported).toEqual({
      tenant_id: 'acme',
      run_id: 'run-3',
      run_seq: 1,
      event_id: stored!.eventId,
      event_type: 'RunStarted',
      emitted_at: new Date(stored!.emittedAt).toISOString(),
      persisted_at: stored!.persistedAt,
      project_id: 'default',
      environment_id: 'default',
      plan_id: 'default',
      plan_version: stored!.planVersion,
      engine_attempt_id: 1,
      logical_attempt_id: 1,
      idempotency_key: stored!.idempotencyKey,
      step_id: null,
      payload: { run: 3 },
      others: { labels: { team: 'ops' } },
    });
    const runs = await rowsIn(directory, 'runs');
    expect(runs.filter(({ run_id }) => run_id === 'run-0').at(-1)).toMatchObject({
      last_event_seq: 5,
      status: 'COMPLETED',
    });
    expect(new Set(runs.map(({ run_id }) => run_id)).size).toBe(5);
  });
});

describe('An export', () => {
  it('selects by time', async () => {
    let now = Date.parse('2026-01-01T00:00:00Z');
    const store = memoryStore({ clock: () => now });
    const days = ['2026-01-01', '2026-01-02', '2026-01-03'];
    for (const day of days) {
      now = Date.parse(`${day}T12:00:00Z`);
      await store.runs.handle(`run of ${day}`).append('RunStarted');
    }
    const directory = await newDirectory();
    const selection = { since: '2026-01-02T00:00:00Z', until: '2026-01-03T12:00:00Z' };
    const report = await exportTables({ store, target: directoryTarget(directory), ...selection });
    expect(report).toEqual({ events: 1, runs: 1, files: 2 });
    expect((await rowsIn(directory, 'events')).map(({ run_id }) => run_id)).toEqual(['run of 2026-01-02']);
  });

  it('has every row once after it was killed at any write and continued', async () => {
    const store = memoryStore();
    await fill(store, 300);
    for (let deadly = 1; deadly < 12; deadly++) {
      const directory = await newDirectory();
      const target = directoryTarget(directory);
      let writes = 0;
      // Dies after the file is complete, before anything else happens.
      const dying: ArchiveTarget = {
        put: async (name, content) => {
          await target.put(name, content);
          if (++writes === deadly) throw new Error('killed');
        },
        get: (name) => target.get(name),
        list: (prefix) => target.list(prefix),
        delete: (name) => target.delete(name),
      };
      const options = { store, rowsPerFile: 300 };
      await exportTables({ ...options, target: dying }).catch(({ message }) => expect(message).toBe('killed'));
      await exportTables({ ...options, target });
      const events = await rowsIn(directory, 'events');
      expect([events.length, new Set(keysOf(events)).size], `killed at write ${deadly}`).toEqual([1_200, 1_200]);
      // A pass over the runs that was complete is followed by another, over those that changed within a minute.
      expect(new Set((await rowsIn(directory, 'runs')).map((row) => row.run_id)).size).toBe(300);
    }
  });

  it('stops at a signal and continues where it was', async () => {
    const store = memoryStore();
    await fill(store, 300);
    const directory = await newDirectory();
    const stop = new AbortController();
    const options = { store, target: directoryTarget(directory), tables: ['events'] as const, rowsPerFile: 300 };
    const first = await exportTables({ ...options, signal: stop.signal, onProgress: () => stop.abort() });
    expect(first.events).toBeLessThan(1_200);
    const second = await exportTables(options);
    expect(first.events + second.events).toBe(1_200);
    expect(new Set(keysOf(await rowsIn(directory, 'events'))).size).toBe(1_200);
  });

  it('detects a concurrent export to the same target, and rejects one with another selection', async () => {
    const store = memoryStore();
    await fill(store, 300);
    const directory = await newDirectory();
    const target = directoryTarget(directory);
    const options = { store, target, rowsPerFile: 300 };
    let hasMeddled = false;
    const meddling: ArchiveTarget = {
      ...{
        get: (name) => target.get(name),
        list: (prefix) => target.list(prefix),
        delete: (name) => target.delete(name),
      },
      put: async (name, content) => {
        await target.put(name, content);
        if (!hasMeddled && name.startsWith('events/')) {
          hasMeddled = true;
          await exportTables(options);
        }
      },
    };
    await expect(exportTables({ ...options, target: meddling })).rejects.toMatchObject({ code: 'CONFLICT' });
    await exportTables(options);
    expect(await rowsIn(directory, 'events')).toHaveLength(1_200);
    for (const [field, change] of Object.entries({ tenantId: 'acme', since: '2026-01-01T00:00:00Z' }))
      await expect(exportTables({ ...options, [field]: change })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        field,
      });
    await expect(exportTables({ ...options, since: 'yesterday' })).rejects.toMatchObject({ field: 'since' });
    await expect(exportTables({ ...options, rowsPerFile: 0 })).rejects.toMatchObject({ field: 'rowsPerFile' });
  });
});

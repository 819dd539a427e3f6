/** Online backup: a copy made during writes is a complete store as of one moment (F21). */
import { existsSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { checkHistory, type Note } from '../../../faults/history.ts';
import { newPath, openStore, runEvent } from './fixtures.ts';
import { startNode } from './programs.ts';

const WRITERS = 8;
const BATCH = 5;

/** Stores large artifacts in one session after another, and erases each session again. */
const WRITER = `
  import { sqliteStore } from '@tidemark/sqlite';
  const store = await sqliteStore({ path: process.argv.at(-1), timeoutMs: 30_000 });
  const contents = Array.from({ length: 12 }, (_, n) => Buffer.alloc(400_000, n + 1));
  for (let count = 0; ; count++) {
    const scope = { sessionId: String(count) };
    for (const bytes of contents) await store.artifacts.putBytes(bytes, { scope });
    console.log('writing');
    await store.admin.eraseSession(scope.sessionId);
  }`;

describe('backup', () => {
  it('taken while eight writers write holds everything acknowledged before it began, and no partial batch', {
    timeout: 60_000,
  }, async () => {
    const store = await openStore(newPath());
    const notes: Note[] = [];
    let done = false;
    const writeOn = async (writer: number) => {
      for (let count = 0; !done; count++) {
        const run = `run-${writer % 3}`;
        const batch = `${writer}.${count}`;
        const events = Array.from({ length: BATCH }, (_, index) =>
          runEvent(run, `${batch}.${index}`, { filler: 'x'.repeat(500) }),
        );
        for (const { idempotencyKey: key, eventId } of events)
          notes.push({ kind: 'sent', run, key: key!, eventId: eventId!, batch });
        const results = await store.runs.appendEvents(events);
        results.forEach(({ runSeq, eventId }, index) => {
          notes.push({ kind: 'acked', run, key: events[index]!.idempotencyKey!, eventId, runSeq });
        });
      }
    };
    const writing = Promise.all(Array.from({ length: WRITERS }, (_, writer) => writeOn(writer)));
    while (notes.length < 2_000) await new Promise((resolve) => setTimeout(resolve, 5));
    const ackedBefore = notes.filter(({ kind }) => kind === 'acked');
    const target = newPath();
    await store.backup(target);
    done = true;
    await writing;

    const copy = await openStore(target);
    const logs = new Map();
    for (const run of ['run-0', 'run-1', 'run-2']) {
      const log = (await copy.runs.fetchEvents(run, { limit: 10_000 })).map((event) => ({
        ...event,
        key: event.idempotencyKey,
      }));
      logs.set(run, log);
      expect(await copy.runs.verify(run)).toMatchObject({ ok: true, events: log.length });
    }
    // Writes acknowledged after the backup began may be missing from it: for the copy, their outcome is unknown.
    const asOfBackup = [...notes.filter(({ kind }) => kind === 'sent'), ...ackedBefore];
    expect(ackedBefore.length).toBeGreaterThan(500);
    expect(checkHistory(asOfBackup, logs).problems).toEqual([]);
    expect((await copy.runs.appendEvent(runEvent('run-0', 'new'))).persisted, 'the copy is a store of its own').toBe(
      true,
    );
    expect((await store.runs.verify('run-0')).ok).toBe(true);
  });

  it('holds heads, records and artifacts of any size', async () => {
    const store = await openStore(newPath());
    await store.runs.appendEvent(runEvent('r'));
    await store.kv.put('key', { field: 'value' });
    const large = Buffer.alloc(1024 ** 2, 7);
    const { id } = await store.artifacts.putBytes(large);
    const target = newPath();
    await store.backup(target);
    const copy = await openStore(target);
    expect((await copy.runs.verify('r')).head).toBe((await store.runs.verify('r')).head);
    expect(await copy.kv.get('key')).toEqual(await store.kv.get('key'));
    expect(Buffer.from((await copy.artifacts.get(id))!).equals(large)).toBe(true);
  });

  it('taken while another process stores and erases large artifacts has the bytes of every reference', {
    timeout: 120_000,
  }, async () => {
    const path = newPath();
    const store = await openStore(path);
    const { child, ended, said } = startNode({ source: WRITER }, path);
    await said('writing');
    for (let round = 0; round < 12; round++) {
      const target = newPath();
      await store.backup(target);
      const copy = await openStore(target);
      for (const { id, sizeBytes } of (await copy.artifacts.list()).items)
        expect((await copy.artifacts.get(id))?.length).toBe(sizeBytes);
    }
    child.kill('SIGKILL');
    await ended;
  });

  it('does not overwrite a file, and leaves none behind when it fails', async () => {
    const store = await openStore(newPath());
    const taken = newPath();
    writeFileSync(taken, 'precious');
    await expect(store.backup(taken)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field: 'to' });
    const nowhere = `${newPath()}/no/such/folder.db`;
    await expect(store.backup(nowhere)).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
    expect(existsSync(nowhere)).toBe(false);
  });
});

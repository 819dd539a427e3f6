/** Events removed from the file together with the head: verify cannot detect it, but a process that saw them does. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { StoreAlert } from '@tidemark/core';
import { sqliteStore } from '@tidemark/sqlite';
import { afterEach, expect, test } from 'vitest';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Cuts the tail off a run, without firing triggers. */
function cutTail(path: string, keep: number): void {
  const database = new DatabaseSync(path);
  const triggers = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all();
  for (const { name } of triggers) database.exec(`DROP TRIGGER ${name}`);
  database.exec(`DELETE FROM run_events WHERE run_seq > ${keep}`);
  database.exec(
    `UPDATE runs SET last_seq = ${keep}, link = (SELECT link FROM run_events WHERE run_seq = ${keep}), updated_at = (SELECT persisted_at FROM run_events WHERE run_seq = ${keep})`,
  );
  database.close();
}

test('a cut tail is reported by the process that wrote it, and by the snapshot that covered it', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'tidemark-back-'));
  closing.push(() => rm(directory, { recursive: true }));
  const path = join(directory, 'state.db');
  const alerts: StoreAlert[] = [];
  const open = async (into: StoreAlert[]) => {
    const store = await sqliteStore({ path, onAlert: (alert) => void into.push(alert) });
    closing.push(() => store.close());
    return store;
  };
  const store = await open(alerts);
  for (let at = 0; at < 5; at++) await store.runs.handle('r').append('Progress', { at });
  await store.runs.refreshSnapshot('r');
  cutTail(path, 3);
  expect(await store.runs.verify('r')).toMatchObject({ events: 3, snapshot: { ok: false, resynced: true } });
  const loss = { code: 'HEAD_WENT_BACK', runId: 'r', knownSeq: 5, currentSeq: 3 };
  await expect.poll(() => alerts).toMatchObject([loss]);
  await store.runs.refreshSnapshot('r');
  expect(alerts).toHaveLength(1);

  for (let at = 3; at < 5; at++) await store.runs.handle('r').append('Progress', { at });
  await store.runs.refreshSnapshot('r');
  cutTail(path, 3);
  const late: StoreAlert[] = [];
  const other = await open(late);
  expect((await other.runs.getSnapshot('r'))?.lastEventSeq).toBe(3);
  await expect.poll(() => late).toMatchObject([loss]);
});

/** A watcher distinguishes the changes of its own process from those of others by their revisions. */
import { Signals } from '@tidemark/core/engine';
import { expect, it, onTestFinished } from 'vitest';
import { RecordWatcher } from '../src/records/watch.ts';
import { sqlRecords } from '../src/records.ts';
import { eachTest, openTestStore, type TestFile, type TestStore } from './database.ts';

let file: TestFile;
let store: TestStore;
eachTest((opened, first) => {
  file = opened;
  store = first;
});

it('sees another process’s change after its own change was found by comparing before it was reported', async () => {
  const other = openTestStore(file);
  onTestFinished(() => other.close());
  const signals = new Signals();
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const target = { tenantId: 'default', prefix: '' };
  await store.kv.put('own', { a: 1 });
  const watcher = new RecordWatcher(
    store.database,
    sqlRecords(store.database, signals),
    target,
    signals,
    controller.signal,
  );
  const seen: string[] = [];
  const watching = (async () => {
    for await (const { key, type } of watcher.changes()) seen.push(`${type} ${key}`);
  })();
  await expect.poll(() => signals.awaited).toBe(true);
  const { revision } = (await store.kv.get('own'))!;
  // The write was committed before the watcher compared revisions, but this process reports it only now.
  const made = { tenantId: 'default', key: 'elsewhere', record: null, expiresAt: null };
  watcher.push({ ...made, tenantId: 'another', type: 'put', revision });
  await other.kv.put('theirs', { a: 1 });
  await expect.poll(() => seen, { timeout: 3_000 }).toEqual(['put theirs']);
  controller.abort();
  await watching.catch(() => {});
});

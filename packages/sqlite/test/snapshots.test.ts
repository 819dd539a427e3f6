/** Conditions under which SQL stores a snapshot, asked of the engine itself: late writers are rare otherwise. */
import { type RunEngine, type StoredSnapshot, withRuns } from '@tidemark/core/engine';
import { expect, it } from 'vitest';
import { newPath, openStore, runEvent } from './fixtures.ts';

const RUN = { tenantId: 'default', runId: 'r' };
const CALL = {};

/** Opens the engine of a store with a run of three events and a stored snapshot. */
async function setUp() {
  const store = await openStore(newPath());
  await store.runs.appendEvents(['1', '2', '3'].map((n) => runEvent('r', n)));
  await store.runs.refreshSnapshot('r');
  let engine!: RunEngine;
  withRuns(store, (its) => {
    engine = its;
    return {};
  });
  const stored = (await engine.loadSnapshot(RUN, CALL))!;
  const save = (change: Partial<StoredSnapshot>, over?: StoredSnapshot | null) =>
    engine.saveSnapshot(RUN, { ...stored, ...change, status: 'PENDING' }, CALL, over);
  return { store, engine, stored, save };
}

it('stores no snapshot of another number of rewrites than the run has', async () => {
  const { stored, save, engine } = await setUp();
  for (const over of [undefined, stored])
    expect(await save({ rewrites: stored.rewrites + 1, lastEventSeq: 9 }, over)).toBe(false);
  expect(await engine.loadSnapshot(RUN, CALL)).toEqual(stored);
  for (const over of [undefined, stored]) expect(await save({}, over)).toBe(true);
});

it('stores no snapshot of a removed run', async () => {
  const { store, stored, save, engine } = await setUp();
  await store.runs.deleteRun('r');
  for (const over of [undefined, stored, null]) expect(await save({}, over)).toBe(false);
  expect(await engine.loadSnapshot(RUN, CALL)).toBeNull();
});

it('stores no snapshot over a newer one', async () => {
  const { stored, save, engine } = await setUp();
  for (const over of [undefined, stored])
    expect(await save({ lastEventSeq: stored.lastEventSeq - 1 }, over)).toBe(false);
  expect(await engine.loadSnapshot(RUN, CALL)).toEqual(stored);
});

it('replaces exactly the snapshot that the caller names', async () => {
  const { stored, save, engine } = await setUp();
  const others: (StoredSnapshot | null)[] = [
    null,
    { ...stored, lastEventSeq: stored.lastEventSeq - 1 },
    { ...stored, body: stored.body.replace('{', '{ ') },
  ];
  for (const other of others) expect(await save({}, other)).toBe(false);
  expect(await engine.loadSnapshot(RUN, CALL)).toEqual(stored);
  await engine.dropSnapshot(RUN, stored.rewrites - 1, CALL);
  expect(await engine.loadSnapshot(RUN, CALL)).toEqual(stored);
  await engine.dropSnapshot(RUN, stored.rewrites, CALL);
  expect(await save({}, stored), 'the named one is gone').toBe(false);
  expect(await save({}, null)).toBe(true);
});

/** Snapshots of the keyed run engine: which ones a fold may remove, and how damage is handled. */
import { expect, it } from 'vitest';
import { TidemarkError } from '../contracts/errors.ts';
import type { Records } from '../engine/records.ts';
import { memoryJournal } from '../memory/journal.ts';
import { memoryRecords } from '../memory/records.ts';
import { StoreContext } from '../tools/context.ts';
import { withCalls } from '../tools/with-calls.ts';
import { KeyedRuns } from './runs.ts';

const RUN = { tenantId: 't', runId: 'r' };
const CALL = {};
const SNAPSHOT = { lastEventSeq: 7, rewrites: 3, body: '{}' };

/** Returns an engine with a stored snapshot, and a switch that makes reads of it fail. */
async function setUp() {
  const context = new StoreContext();
  const inner = memoryRecords(context);
  const failure: { code: 'CORRUPT_VALUE' | 'UNAVAILABLE' | null } = { code: null };
  const records: Records = withCalls(inner, {
    get: async (names) => {
      if (failure.code !== null) throw new TidemarkError(failure.code, 'the read failed');
      return inner.get(names);
    },
    write: async (write) => {
      const outcome = await inner.write(write);
      // Deleting the record also removes the damage.
      if (write.mode === 'delete') failure.code = null;
      return outcome;
    },
  } satisfies Partial<Records>);
  const engine = new KeyedRuns(memoryJournal(context), records);
  await engine.saveSnapshot(RUN, SNAPSHOT, CALL);
  return { engine, failure };
}

it('drops a snapshot only if it is not newer than the given rewrite', async () => {
  const { engine } = await setUp();
  await engine.dropSnapshot(RUN, SNAPSHOT.rewrites - 1, CALL);
  expect(await engine.loadSnapshot(RUN, CALL)).toEqual(SNAPSHOT);
  await engine.dropSnapshot(RUN, SNAPSHOT.rewrites, CALL);
  expect(await engine.loadSnapshot(RUN, CALL)).toBeNull();
  await engine.dropSnapshot(RUN, SNAPSHOT.rewrites, CALL);
});

it('never replaces a snapshot with an older one', async () => {
  const { engine } = await setUp();
  const { lastEventSeq, rewrites } = SNAPSHOT;
  for (const older of [
    { lastEventSeq: lastEventSeq - 1, rewrites },
    { lastEventSeq: lastEventSeq + 1, rewrites: rewrites - 1 },
  ])
    expect(await engine.saveSnapshot(RUN, { ...older, body: '{"old":1}' }, CALL)).toBe(false);
  expect(await engine.loadSnapshot(RUN, CALL)).toEqual(SNAPSHOT);
  for (const newer of [
    { lastEventSeq, rewrites },
    { lastEventSeq: lastEventSeq + 1, rewrites },
    { lastEventSeq: 1, rewrites: rewrites + 1 },
  ])
    expect(await engine.saveSnapshot(RUN, { ...newer, body: '{"new":1}' }, CALL)).toBe(true);
});

it('replaces exactly the snapshot that the caller passes', async () => {
  const { engine } = await setUp();
  const next = { ...SNAPSHOT, lastEventSeq: 8 };
  for (const other of [
    null,
    { ...SNAPSHOT, lastEventSeq: 6 },
    { ...SNAPSHOT, rewrites: 2 },
    { ...SNAPSHOT, body: '{"other":1}' },
  ])
    expect(await engine.saveSnapshot(RUN, next, CALL, other)).toBe(false);
  expect(await engine.saveSnapshot(RUN, next, CALL, SNAPSHOT)).toBe(true);
});

it('removes and replaces a damaged snapshot', async () => {
  const { engine, failure } = await setUp();
  failure.code = 'CORRUPT_VALUE';
  expect(await engine.loadSnapshot(RUN, CALL)).toMatchObject({ lastEventSeq: 0, body: '' });
  expect(await engine.saveSnapshot(RUN, { ...SNAPSHOT, rewrites: 0 }, CALL)).toBe(true);
  failure.code = 'CORRUPT_VALUE';
  await engine.dropSnapshot(RUN, 0, CALL);
  expect(await engine.loadSnapshot(RUN, CALL)).toBeNull();
});

it('reports a failed read of a snapshot, and removes nothing', async () => {
  const { engine, failure } = await setUp();
  failure.code = 'UNAVAILABLE';
  await expect(engine.loadSnapshot(RUN, CALL)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect(engine.dropSnapshot(RUN, 9, CALL)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect(engine.saveSnapshot(RUN, { ...SNAPSHOT, rewrites: 9 }, CALL)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  });
  failure.code = null;
  expect(await engine.loadSnapshot(RUN, CALL)).toEqual(SNAPSHOT);
});

it('redacts no event that the run does not have', async () => {
  const { engine } = await setUp();
  const redaction = { at: 1, by: 'officer', reason: 'request', payloadHash: 'f'.repeat(64) };
  expect(await engine.redact(RUN, 1, redaction, CALL)).toBe(false);
});

/** Retention that archives: removed runs are in the archive and can be restored from it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '@tidemark/core';
import { sqliteStore } from '@tidemark/sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createArchiver, createRetention, directoryTarget, type RetentionPolicies } from '../src/index.ts';

const DAY = 86_400_000;

let directory: string;
let store: Store;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidemark-retention-'));
  store = await sqliteStore(join(directory, 'state.db'));
});

afterEach(async () => {
  await store.close();
  await rm(directory, { recursive: true });
});

it('old runs are archived and can be restored; live runs stay', async () => {
  for (const runId of ['a', 'b', 'c']) {
    const run = store.runs.handle(runId);
    await run.append('RunStarted');
    await run.append('Progress', { runId });
    if (runId !== 'c') await run.append('RunCompleted');
  }
  const before = await store.runs.fetchEvents('a');
  const archiver = createArchiver({ store, target: directoryTarget(join(directory, 'archive')) });
  const policies: RetentionPolicies = { runs: [{ name: 'old', olderThan: '90d', action: 'archive' }] };
  const retention = createRetention({ store, policies, archiver, share: 1, clock: () => Date.now() + 100 * DAY });
  expect((await retention.run()).policies.old).toMatchObject({ found: 2, archived: 2, spared: 0, failed: 0 });
  expect((await store.runs.listRuns()).items.map(({ runId }) => runId)).toEqual(['c']);
  await expect(store.runs.handle('a').append('Late')).rejects.toMatchObject({ code: 'RUN_ARCHIVED' });
  expect(await archiver.verify()).toMatchObject({ ok: true, runs: 2 });
  await archiver.restoreRun('a');
  expect(await store.runs.fetchEvents('a')).toEqual(before);
});

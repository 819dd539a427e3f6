/**
 * One event of the file is changed without its triggers: its run is quarantined, and everything else continues
 * (RUN-20).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StoreAlert } from '@tidemark/core';
import { expect, it, onTestFinished } from 'vitest';
import { checkDamage, fillRuns } from '../../../faults/damage-check.ts';
import { sqliteStore } from '../src/index.ts';
import { alter } from './alter.ts';

it.each([
  ['payload', `'{"n":"changed"}'`],
  ['payload', `'no JSON'`],
  ['link', 'zeroblob(32)'],
  ['emitted_at', `'never'`],
])('a changed %s, %s, affects only its run', async (column, value) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-damage-'));
  const path = join(folder, 'store.db');
  const alerts: StoreAlert[] = [];
  const store = await sqliteStore({ path, onAlert: (alert) => alerts.push(alert) });
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });
  await fillRuns(store);
  const where = "WHERE run_id = 'sick' AND run_seq = 3";
  alter(path, `CREATE TABLE before_damage AS SELECT * FROM run_events ${where}`);
  const problems = await checkDamage(store, {
    alerts,
    damage: () => void alter(path, `UPDATE run_events SET ${column} = ${value} ${where}`),
    repair: () => void alter(path, `UPDATE run_events SET ${column} = (SELECT ${column} FROM before_damage) ${where}`),
  });
  expect(problems).toEqual([]);
  expect(alerts).toMatchObject([{ code: 'RUN_QUARANTINED', runId: 'sick', fromSeq: 3 }]);
});

it('a head that cannot be decoded is skipped in lists and named', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-damage-'));
  const path = join(folder, 'store.db');
  const store = await sqliteStore(path);
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });
  await fillRuns(store);
  alter(path, "UPDATE runs SET labels = '{' WHERE run_id = 'sick'");
  expect((await store.runs.listRuns()).items.map(({ runId }) => runId)).toEqual(['well']);
  expect((await store.runs.listQuarantined()).items).toMatchObject([{ runId: 'sick', fromSeq: 6 }]);
  const { ok, findings } = await store.doctor();
  expect(ok).toBe(false);
  expect(findings.find(({ check }) => check === 'quarantine')?.message).toContain('"sick" of "default"');
});

it('a damaged checksum of a field is found, though the record is whole', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-damage-'));
  const path = join(folder, 'store.db');
  const store = await sqliteStore(path);
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });
  await store.kv.put('a', { x: '1', y: '2' });
  await store.kv.put('b', { x: '3' });
  alter(path, "UPDATE kv_fields SET sum = sum + 4 WHERE key = 'a' AND field = 'x'");
  await expect(store.kv.getField('a', 'x')).rejects.toMatchObject({ code: 'CORRUPT_VALUE' });
  const { findings } = await store.doctor({ deep: true });
  expect(findings.find(({ check }) => check === 'stored values')).toMatchObject({
    status: 'fail',
    message: '1 of 2 values are damaged: kv default / a',
  });
});

/** The content of the views. Also runs on an account of Snowflake; see `setting.ts`. */
import { expect, test } from 'vitest';
import { VISIBLE_COLUMNS } from '../src/schema/columns.ts';
import { purge } from '../src/statements.ts';
import { apiOf, startSetting, until } from './setting.ts';
import { expectEqual, newStore, startSink } from './sinks.ts';

test('shows events, runs and steps as the store has them', async () => {
  const [setting, store] = [await startSetting(), newStore()];
  const run = store.runs.handle('order-42', { tenantId: 'acme', labels: { team: 'ops' } });
  await run.append('RunStarted', {
    by: 'ada',
    text: 'ü☂ "q" \' \\ \n',
    nul: 'a\0b',
    lone: '\ud800',
    '': { $: [1.5, null] },
  });
  await run.append('StepStarted', {}, { stepId: 'charge' });
  await run.append('StepFailed', { errorCode: 'E1', errorMessage: 'no', retryable: true }, { stepId: 'charge' });
  await run.append('StepStarted', {}, { stepId: 'charge', logicalAttemptId: 2 });
  await run.append('StepCompleted', { cents: 1299 }, { stepId: 'charge', logicalAttemptId: 2 });
  await run.append('RunCompleted');
  await startSink(setting, store);
  await expectEqual(setting, store);
  expect(await setting.query(`SELECT STATUS, EVENTS FROM ${setting.schemaName}.RUNS`)).toEqual([
    { STATUS: 'COMPLETED', EVENTS: '6' },
  ]);
  expect(await setting.query(`SELECT STEP_ID, STATUS, ATTEMPTS, FAILURES FROM ${setting.schemaName}.STEPS`)).toEqual([
    { STEP_ID: 'charge', STATUS: 'SUCCESS', ATTEMPTS: '2', FAILURES: '1' },
  ]);
});

test('carries redactions, deletions and restores over', async () => {
  const [setting, store] = [await startSetting(), newStore()];
  await startSink(setting, store);
  for (const id of ['kept', 'redacted', 'deleted', 'restored', 'again']) {
    await store.runs.handle(id).append('RunStarted', { secret: id });
    await store.runs.handle(id).append('RunFailed', { errorCode: 'E', errorMessage: `secret ${id}` });
  }
  await expectEqual(setting, store);
  await store.runs.redactEvent('redacted', 2, { by: 'ada', reason: 'asked' });
  await store.runs.deleteRun('deleted');
  const parts = await Array.fromAsync(store.runs.exportRun('restored'));
  await store.runs.deleteRun('restored');
  await store.runs.restoreRun(parts, { overDeleted: true });
  await store.runs.deleteRun('again');
  await store.runs.appendEvent({ runId: 'again', eventType: 'RunStarted', payload: { second: true } }, { life: 'new' });
  await until(async () => {
    const rows = await setting.query(`SELECT 1 FROM ${setting.schemaName}.RUNS WHERE LIFE = 2`);
    return rows.length === 1;
  }, 'the second life');
  await expectEqual(setting, store);
  const log = await setting.query(
    `SELECT PAYLOAD::VARCHAR AS PAYLOAD, ERROR_MESSAGE FROM ${setting.schemaName}.EVENT_LOG`,
  );
  const texts = JSON.stringify(log);
  expect(texts).toContain('secret kept');
  for (const gone of ['secret redacted', 'secret deleted', 'secret again']) expect(texts).not.toContain(gone);
});

test('a second sink of another name takes over, with its deletions', async () => {
  const [setting, store] = [await startSetting(), newStore()];
  const first = await startSink(setting, store, { name: 'first' });
  for (const id of ['kept', 'deleted', 'reborn']) await store.runs.handle(id).append('RunStarted');
  await store.runs.deleteRun('reborn');
  await expectEqual(setting, store);
  await first.stop();
  await startSink(setting, store, { name: 'second' });
  await store.runs.deleteRun('deleted');
  await store.runs.appendEvent({ runId: 'reborn', eventType: 'RunStarted' }, { life: 'new' });
  await until(async () => {
    const rows = await setting.query(`SELECT RUN_ID FROM ${setting.schemaName}.RUNS ORDER BY RUN_ID`);
    return rows.map(({ RUN_ID }) => RUN_ID).join() === 'kept,reborn';
  }, 'the deletion and the new life');
  await expectEqual(setting, store);
});

test('late rows of processes that lost their shard are never visible, and are deleted', async () => {
  const [setting, store] = [await startSetting(), newStore()];
  const sink = await startSink(setting, store);
  for (const id of ['kept', 'deleted', 'redacted']) await store.runs.handle(id).append('RunStarted', { secret: id });
  await expectEqual(setting, store);
  const [api, log] = [apiOf(setting.account), `${setting.schemaName}.EVENT_LOG`];
  await api.run(`CREATE TABLE ${setting.schemaName}.LATE AS SELECT * FROM ${log}`);
  await store.runs.deleteRun('deleted');
  await store.runs.redactEvent('redacted', 1, { by: 'ada', reason: 'asked' });
  await expectEqual(setting, store);
  await until(
    async () => (await setting.query(`SELECT 1 FROM ${log} WHERE REDACTED IS NOT NULL`)).length === 1,
    'redacted',
  );
  await sink.stop();
  // As two merges that ran at the same time leave them.
  const columns = [...VISIBLE_COLUMNS, 'LOADED_AT'].join(', ');
  await api.run(
    `INSERT INTO ${log} (${columns}, VERSION) SELECT ${columns}, VERSION - 1 FROM ${setting.schemaName}.LATE`,
  );
  expect(await setting.query(`SELECT RUN_ID FROM ${log}`)).toHaveLength(5);
  await expectEqual(setting, store);
  for (const { text, binds } of purge(setting.schemaName)) await api.run(text, binds);
  const rest = await setting.query(`SELECT RUN_ID, PAYLOAD::VARCHAR AS PAYLOAD FROM ${log} ORDER BY RUN_ID`);
  expect(rest).toEqual([
    { RUN_ID: 'kept', PAYLOAD: '{"secret":"kept"}' },
    { RUN_ID: 'redacted', PAYLOAD: null },
  ]);
  await expectEqual(setting, store);
});

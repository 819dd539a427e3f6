/**
 * Kills the Snowflake sink with SIGKILL at random moments while events are appended, redacted and deleted. The fake of
 * Snowflake runs a quarter of the pages twice, loses replies, answers late and refuses requests. At the end the views
 * must equal a fold of the store. `--events 1000000 --kills 20 --seed N`; `--quick` for 20 000 events and 5 kills.
 */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type RunEventInput, type Store, textOf } from '@tidemark/core';
import { migrateSnowflake } from '@tidemark/snowflake';
import { open } from 'tidemark';
import { foldedRuns, viewed } from '../packages/snowflake/test/comparing.ts';
import { FakeSnowflake } from '../packages/snowflake/test/fake/server.ts';
import { Warehouse } from '../packages/snowflake/test/fake/warehouse.ts';
import { WriterProcess } from './children.ts';
import { newSeed, Random } from './random.ts';

const { values } = parseArgs({
  options: {
    events: { type: 'string' },
    kills: { type: 'string' },
    quick: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(newSeed()) },
  },
});
const events = Number(values.events ?? (values.quick ? 20_000 : 1_000_000));
const kills = Number(values.kills ?? (values.quick ? 5 : 20));

const EVENTS_PER_RUN = 50;
const PAGE = values.quick ? 500 : 10_000;
const RUNS_PER_CHECK = 400;
const MAX_WAIT_MS = 20 * 60_000;
const FAULTS = { twice: 0.25, later: 0.3, delayMs: 50, throttled: 0.1, unavailable: 0.05, replyLost: 0.1 };
const TENANT = 'default';
const MATERIALIZED = 'ANALYTICS.CHECKED';

const random = new Random(Number(values.seed));
const folder = mkdtempSync(join(tmpdir(), 'tidemark-snowflake-'));
const url = `sqlite:${join(folder, 'app.db')}`;
const keyFile = join(folder, 'key.p8');
const notesFile = join(folder, 'notes');
const keys = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const runIdOf = (run: number) => `run-${String(run).padStart(7, '0')}`;
const runCount = Math.ceil(events / EVENTS_PER_RUN);

/** Returns the events of a run, including some invalid transitions. */
function eventsOf(run: number): RunEventInput[] {
  const runId = runIdOf(run);
  const event = (eventType: string, n: number): RunEventInput => ({
    ...{ runId, eventType, idempotencyKey: `${n}`, logicalAttemptId: random.between(1, 4) },
    payload: eventType.endsWith('Failed') ? { errorCode: `E${n}`, errorMessage: 'it failed' } : { n },
    ...(eventType.startsWith('Step') ? { stepId: `step-${random.between(0, 6)}` } : {}),
  });
  const types = [
    'StepStarted',
    'StepStarted',
    'StepCompleted',
    'StepFailed',
    'StepSkipped',
    'Note',
    'RunPaused',
    'RunResumed',
  ];
  const middle = Array.from({ length: EVENTS_PER_RUN - 2 }, (_, n) => event(random.pick(types), n + 1));
  const end = random.pick(['RunCompleted', 'RunFailed', 'RunCancelled']);
  return [event('RunStarted', 0), ...middle, event(end, EVENTS_PER_RUN)];
}

/** Appends all events, and redacts and deletes some that are already stored. */
async function write(store: Store): Promise<void> {
  for (let run = 0; run < runCount; run += 10) {
    const batch = Array.from({ length: Math.min(10, runCount - run) }, (_, at) => eventsOf(run + at)).flat();
    await store.runs.appendEvents(batch);
    const earlier = runIdOf(random.between(0, run + 1));
    if (random.next() < 0.05) await store.runs.deleteRun(earlier);
    else if (random.next() < 0.1)
      await store.runs.redactEvent(earlier, random.between(1, EVENTS_PER_RUN + 1), { by: 'rig', reason: 'test' });
  }
}

function startSink(endpoint: string): WriterProcess {
  const args = ['--url', url, '--endpoint', endpoint, '--key', keyFile, '--page', String(PAGE)];
  return new WriterProcess('snowflake-sink-child', args, notesFile);
}

/** Compares the views with the store, some runs at a time. Returns one sentence for each difference. */
async function differences(store: Store, warehouse: Warehouse): Promise<string[]> {
  const query = async (sql: string) => {
    const { columns, rows } = await warehouse.run(sql);
    return rows.map((row) => Object.fromEntries(row.map((it, at) => [columns[at]!, it])));
  };
  await query(`CREATE SCHEMA ${MATERIALIZED}`);
  for (const view of ['EVENTS', 'RUNS', 'STEPS'])
    await query(`CREATE TABLE ${MATERIALIZED}.${view} AS SELECT * FROM ANALYTICS.TIDEMARK.${view}`);
  const found: string[] = [];
  for (let run = 0; run < runCount; run += RUNS_PER_CHECK) {
    const ids = Array.from({ length: RUNS_PER_CHECK }, (_, at) => runIdOf(run + at));
    const where = `RUN_ID BETWEEN '${ids[0]}' AND '${ids.at(-1)}'`;
    const wanted = await foldedRuns(
      store,
      ids.map((runId) => ({ tenantId: TENANT, runId })),
    );
    const shown = await viewed({ query, schemaName: MATERIALIZED }, where);
    for (const view of ['events', 'runs', 'steps'] as const)
      for (const key of new Set([...wanted[view].keys(), ...shown[view].keys()]))
        if (wanted[view].get(key) !== shown[view].get(key))
          found.push(`${view} ${key}: ${shown[view].get(key)} instead of ${wanted[view].get(key)}`);
  }
  return found;
}

writeFileSync(keyFile, keys.privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
const warehouse = await Warehouse.open({ file: join(folder, 'warehouse.db') });
const names = { account: 'acme-test', user: 'loader' };
const fake = await FakeSnowflake.start({ ...names, warehouse, publicKey: keys.publicKey });
await migrateSnowflake({ ...names, key: keys.privateKey, database: 'ANALYTICS', endpoint: fake.endpoint });
fake.faults = FAULTS;
const store = await open(url);
const began = Date.now();
let sink = startSink(fake.endpoint);
const writing = write(store);
for (let kill = 1; kill <= kills; kill++) {
  const statements = fake.seen.statements;
  const until = Date.now() + MAX_WAIT_MS;
  while (fake.seen.statements === statements && Date.now() < until) await sleep(20);
  await sleep(random.between(0, 1_500));
  sink.expectRunning();
  await sink.kill();
  sink = startSink(fake.endpoint);
}
await writing;
const { total, cursor } = await endOf(store);
const deadline = Date.now() + MAX_WAIT_MS;
while ((await cursorOf(store)) !== cursor && Date.now() < deadline) {
  sink.expectRunning();
  await sleep(500);
}
await sink.kill();
await fake.settled();
fake.faults = {};
const loadedMs = Date.now() - began;
const problems = await differences(store, warehouse);
for (const problem of problems.slice(0, 10)) console.log(problem);
const { statements, retries, twice, throttled, lost, later } = fake.seen;
console.log(
  `${problems.length === 0 ? 'ok' : 'FAILED'}  seed ${values.seed}: ${events} events, ${total} left, ${kills} kills; ${statements} statements, ${twice} sent twice, ${lost} replies lost, ${throttled} refused, ${later} answered later, ${retries} retries; ${problems.length} differences; ${Math.round(loadedMs / 1_000)} s`,
);
await store.close();
await fake.stop();
warehouse.close();
rmSync(folder, { recursive: true });
process.exitCode = problems.length === 0 ? 0 : 1;

/** Reads the feed to its end. Returns the number of events and the last cursor. */
async function endOf({ runs }: Store): Promise<{ total: number; cursor: string | undefined }> {
  let [total, at] = [0, undefined as string | undefined];
  for (;;) {
    const { items, next } = await runs.feedPage({
      limit: 10_000,
      notices: true,
      ...(at === undefined ? {} : { cursor: at }),
    });
    total += items.filter((item) => 'event' in item).length;
    if (next === undefined || next === at) return { total, cursor: at };
    at = next;
  }
}

/** Returns the stored cursor of the sink. */
async function cursorOf({ kv }: Store): Promise<string | null> {
  return textOf((await kv.get('tidemark.subscriptions.snowflake.cursor.0'))?.fields.cursor);
}

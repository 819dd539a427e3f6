/**
 * Kills writers on DynamoDB with SIGKILL at random moments. Several processes write to the same runs, behind a proxy that
 * throttles, loses replies and causes conflicts. Everything acknowledged must be stored once at its position, sequences
 * must be dense, and the feed must have every event in the order of its run. `--kills 200 --writers 8 --seed N`;
 * `--faults 0` leaves the proxy without faults.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Store } from '@tidemark/core';
import { open } from 'tidemark';
import { ALL_FAULTS, randomFaults, startFaultProxy } from '../packages/dynamodb/test/fault-proxy.ts';
import { startOwnServer } from '../scripts/servers/index.ts';
import { WriterProcess } from './children.ts';
import { checkHistory, type Logs } from './history.ts';
import { readLogs, readNotes, verifyRuns } from './notes.ts';
import { newSeed, Random } from './random.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '200' },
    writers: { type: 'string', default: '8' },
    callers: { type: 'string', default: '2' },
    faults: { type: 'string', default: '0.05' },
    seed: { type: 'string', default: String(newSeed()) },
  },
});

const MAX_DELAY_MS = 1_500;
const PAGE = 1_000;

const random = new Random(Number(values.seed));
const folder = mkdtempSync(join(tmpdir(), 'tidemark-dynamodb-kill-'));
/** All writers append to this file, so that the order of notes is the order of events. */
const notesFile = join(folder, 'notes');

/** Starts a writer. It first settles writes of unknown outcome, even if another writer is about to settle them too. */
function startWriter(at: number, life: number, url: string): WriterProcess {
  const round = `${at}-${life}`;
  const args = ['--url', url, '--notes', notesFile, '--round', round, '--callers', values.callers];
  return new WriterProcess('writer', args, notesFile);
}

async function killRepeatedly(url: string): Promise<void> {
  const writers = Array.from({ length: Number(values.writers) }, (_, at) => startWriter(at, 0, url));
  for (let kill = 1; kill <= Number(values.kills); kill++) {
    const at = random.between(0, writers.length - 1);
    await writers[at]!.hasWritten(notesFile, statSync(notesFile).size);
    await sleep(random.between(0, MAX_DELAY_MS));
    writers[at]!.expectRunning();
    await writers[at]!.kill();
    writers[at] = startWriter(at, kill, url);
    if (kill % 10 === 0) console.error(`  kill ${kill} of ${values.kills}`);
  }
  await sleep(MAX_DELAY_MS);
  for (const writer of writers) await writer.kill();
}

/** Reads the feed from its beginning and returns one sentence for each run that is incomplete or out of order. */
async function checkFeed(store: Store, logs: Logs): Promise<string[]> {
  const reached = new Map<string, number>();
  const problems: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const { items, next } = await store.runs.feedPage({ limit: PAGE, ...(cursor !== undefined && { cursor }) });
    for (const { event } of items) {
      const last = reached.get(event.runId) ?? 0;
      if (event.runSeq !== last + 1) problems.push(`The feed has ${event.runId} ${event.runSeq} after ${last}`);
      reached.set(event.runId, event.runSeq);
    }
    if (next === undefined || next === cursor) break;
    cursor = next;
  }
  // A writer that is killed early leaves a run without events.
  for (const [run, log] of logs) {
    const found = reached.get(run) ?? 0;
    if (found !== log.length) problems.push(`The feed has ${found} of ${log.length} events of ${run}`);
  }
  return problems;
}

const server = await startOwnServer('dynamodb');
const share = Number(values.faults);
const proxy = await startFaultProxy(
  server.url,
  share > 0 ? randomFaults(Number(values.seed), share, ALL_FAULTS) : undefined,
);
const options = { timeoutMs: 60_000 };
try {
  const direct = await open(`${server.url}&prefix=kill`, options);
  await killRepeatedly(`${proxy.url}&prefix=kill`);
  const notes = readNotes(notesFile);
  const logs = await readLogs(direct, new Set(notes.map(({ run }) => run)));
  const { problems } = checkHistory(notes, logs);
  const wrong = [
    ...problems.map(({ kind, run, message }) => `${kind}: ${run}: ${message}`),
    ...(await verifyRuns(direct, logs)),
    ...(await checkFeed(direct, logs)),
  ];
  for (const sentence of wrong.slice(0, 20)) console.error(sentence);
  const acked = notes.filter(({ kind }) => kind === 'acked').length;
  const count = (kind: string) => problems.filter((it) => it.kind === kind).length;
  console.log(
    `dynamodb-kill: ${values.kills} kills of ${values.writers} writers, ${acked} acked, ${count('lost')} lost, ` +
      `${count('duplicated')} duplicated, ${wrong.length} problems, seed ${values.seed}`,
  );
  if (wrong.length > 0 || acked === 0) process.exitCode = 1;
  await direct.close();
} finally {
  await proxy.stop();
  await server.stop();
  rmSync(folder, { recursive: true });
}

/**
 * F2: kills the PostgreSQL server with SIGKILL under load and restarts it, round after round, with one client that
 * stays open. Every acknowledged event must be stored once at its position, and the client must recover automatically.
 * `--rounds 20 --seed N --callers 16`.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type AppendResult, isTidemarkError, type Store } from '@tidemark/core';
import { postgresStore } from '@tidemark/postgres';
import { startOwnServer } from '../scripts/servers/index.ts';
import type { RunningServer } from '../scripts/servers/start.ts';
import { checkHistory, type Note, type Problem, type Write } from './history.ts';
import { eventOf, readLogs, verifyRuns } from './notes.ts';
import { newSeed, Random } from './random.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(newSeed()) },
    callers: { type: 'string', default: '16' },
  },
});

const MAX_DELAY_MS = 700;
const RUNS = 8;
/** How long the client may take to write again after the server is back. */
const RECOVERY_LIMIT_MS = 10_000;

const rounds = Number(values.rounds);
const random = new Random(Number(values.seed));
const notes: Note[] = [];
const other: string[] = [];
let unknown = 0;
let rejected = 0;
let longestRecoveryMs = 0;
let ended = false;

/** Retries a write with the same key until it is acknowledged. */
async function writeUntilAcked(store: Store, write: Write): Promise<void> {
  for (;;) {
    notes.push({ kind: 'sent', ...write });
    try {
      const result: AppendResult = await store.runs.appendEvent(eventOf(write));
      notes.push({ kind: 'acked', ...write, runSeq: result.runSeq });
      return;
    } catch (error) {
      if (!isTidemarkError(error) || !error.retryable) {
        other.push(`an append failed with ${isTidemarkError(error) ? error.code : 'no TidemarkError'}: ${error}`);
        return;
      }
      const kind = error.outcome === 'unknown' ? 'unknown' : 'rejected';
      if (kind === 'unknown') unknown++;
      else rejected++;
      notes.push({ kind, ...write, code: error.code });
    }
    await sleep(random.between(5, 50));
  }
}

async function call(store: Store, caller: number): Promise<void> {
  for (let count = 0; !ended; count++) {
    const run = count % 3 === 0 ? 'hot' : `run-${(caller + count) % RUNS}`;
    await writeUntilAcked(store, { run, key: `${caller}.${count}`, eventId: randomUUID() });
  }
}

const acked = () => notes.filter(({ kind }) => kind === 'acked').length;

/** Waits for a new acknowledgement and returns how long that took. */
async function untilAcked(before: number): Promise<number> {
  const began = performance.now();
  while (acked() <= before) {
    if (performance.now() - began > RECOVERY_LIMIT_MS) {
      other.push(`the client had not recovered ${RECOVERY_LIMIT_MS} ms after the server was back`);
      return RECOVERY_LIMIT_MS;
    }
    await sleep(10);
  }
  return performance.now() - began;
}

/** Returns the processes that the server has started, if the system lists them (Linux). */
function backendsOf({ started }: RunningServer): number[] {
  const [pid] = readFileSync(join(started!.directory, 'data', 'postmaster.pid'), 'utf8').split('\n');
  const file = `/proc/${pid}/task/${pid}/children`;
  return existsSync(file) ? readFileSync(file, 'utf8').split(' ').filter(Boolean).map(Number) : [];
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {}
}

async function killRepeatedly(server: RunningServer): Promise<number> {
  let round = 0;
  while (round < rounds && other.length === 0) {
    round++;
    await untilAcked(acked());
    await sleep(random.between(0, MAX_DELAY_MS));
    // Surviving backends exit only when they notice, and may still reply. Killed with the server, they reply nothing.
    const backends = round % 2 === 0 ? [] : backendsOf(server);
    const killed = server.kill!();
    for (const pid of backends) killIfThere(pid);
    await killed;
    await sleep(random.between(0, 300));
    await server.revive!();
    longestRecoveryMs = Math.max(longestRecoveryMs, await untilAcked(acked()));
    if (round % 5 === 0) console.error(`  round ${round}: ${acked()} acked, ${unknown} unknown, ${rejected} rejected`);
  }
  return round;
}

console.error(`postgres-kill: ${rounds} rounds, seed ${values.seed}`);
const began = performance.now();
// A crash on an idle connection would end this process and the test with it.
process.on('uncaughtException', (error) => {
  console.error('The process would have crashed:', error);
  process.exit(1);
});
const server = await startOwnServer('postgres');
try {
  const store = await postgresStore({ url: server.url, maxConnections: 5 });
  const callers = Array.from({ length: Number(values.callers) }, (_, caller) => call(store, caller));
  const done = await killRepeatedly(server);
  ended = true;
  await Promise.all(callers);
  const logs = await readLogs(store, new Set(notes.map(({ run }) => run)));
  const verdict = checkHistory(notes, logs);
  const wrong = [
    ...verdict.problems.map(({ kind, run, message }) => `${kind}: ${run}: ${message}`),
    ...other,
    ...(await verifyRuns(store, logs)),
  ];
  for (const sentence of wrong.slice(0, 20)) console.error(sentence);
  const count = (kind: Problem['kind']) => verdict.problems.filter((it) => it.kind === kind).length;
  console.log(
    `postgres-kill: ${done} rounds, ${verdict.acked} acked, ${unknown} unknown, ${rejected} rejected, ${count('lost')} lost, ` +
      `${count('duplicated')} duplicated, ${wrong.length} problems, longest recovery ${Math.ceil(longestRecoveryMs)} ms, ` +
      `${Math.round((performance.now() - began) / 1000)} s, seed ${values.seed}`,
  );
  if (wrong.length > 0 || verdict.acked === 0) process.exitCode = 1;
  await store.close();
} finally {
  await server.stop();
}

/**
 * Kills a server under load, again and again. Every write answered with 2xx must be in the store, once and at its
 * position. Writes without a reply are retried, and tails must continue without gap or repeat. `--kills 20 --seed N
 * --writers 8`.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { httpStore } from '@tidemark/client';
import { sqliteStore } from '@tidemark/sqlite';
import { checkHistory, type Note, type Write } from './history.ts';
import { eventOf, readLogs, verifyRuns } from './notes.ts';
import { newSeed, Random } from './random.ts';
import { ServerProcess } from './server-process.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(newSeed()) },
    writers: { type: 'string', default: '8' },
  },
});
const RUNS = ['run-0', 'run-1'];
const MAX_MS = 1_500;
const PAUSE_MS = 20;
const CATCH_UP_MS = 30_000;

const random = new Random(Number(values.seed));
const folder = mkdtempSync(join(tmpdir(), 'tidemark-server-kill-'));
const path = join(folder, 'store.db');
const notes: Note[] = [];
let isWriting = true;

/** Retries one event until it has a reply, with a note before and after each attempt. */
async function writeSurely(url: string, write: Write): Promise<void> {
  const body = JSON.stringify(eventOf(write));
  for (;;) {
    notes.push({ kind: 'sent', ...write });
    try {
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${url}/v1/events`, { method: 'POST', headers, body });
      const reply = (await answer.json()) as { runSeq: number; outcome?: string; code: string };
      if (answer.ok) {
        notes.push({ kind: 'acked', ...write, runSeq: reply.runSeq });
        return;
      }
      notes.push({ kind: reply.outcome === 'unknown' ? 'unknown' : 'rejected', ...write, code: reply.code });
    } catch (error) {
      notes.push({ kind: isRefused(error) ? 'rejected' : 'unknown', ...write, code: 'cut off' });
    }
    await sleep(PAUSE_MS);
  }
}

/** Connection refused: no server listened, so nothing was sent. */
function isRefused(error: unknown): boolean {
  return ((error as Error).cause as { code?: string } | undefined)?.code === 'ECONNREFUSED';
}

async function writer(url: string, name: number): Promise<void> {
  for (let n = 0; isWriting; n++) {
    const run = RUNS[n % RUNS.length]!;
    await writeSurely(url, { run, key: `w${name}-${n}`, eventId: randomUUID() });
  }
}

function ackedOf(run: string): number {
  return new Set(notes.filter((it) => it.run === run && it.kind === 'acked').map(({ key }) => key)).size;
}

async function killRepeatedly(): Promise<void> {
  let server = await ServerProcess.start(path);
  const { url, port } = server;
  const client = await httpStore({ url, timeoutMs: 20_000 });
  const stop = new AbortController();
  const seen = new Map(RUNS.map((run) => [run, [] as number[]]));
  const tails = RUNS.map(async (run) => {
    for await (const { runSeq } of client.runs.tail(run, { tenantId: 'faults', signal: stop.signal }))
      seen.get(run)!.push(runSeq);
  });
  const writers = Array.from({ length: Number(values.writers) }, (_, name) => writer(url, name));
  for (let kill = 0; kill < Number(values.kills); kill++) {
    await sleep(random.between(100, MAX_MS));
    await server.kill();
    server = await ServerProcess.start(path, port);
  }
  await sleep(MAX_MS);
  isWriting = false;
  await Promise.all(writers);
  const isCaughtUp = () => RUNS.every((run) => seen.get(run)!.length >= ackedOf(run));
  for (const limit = Date.now() + CATCH_UP_MS; !isCaughtUp() && Date.now() < limit; ) await sleep(PAUSE_MS);
  stop.abort();
  await Promise.all(tails);
  await client.close();
  await server.kill();
  await judge(seen);
}

async function judge(seen: ReadonlyMap<string, readonly number[]>): Promise<void> {
  const store = await sqliteStore(path);
  const logs = await readLogs(store, RUNS);
  const { acked, problems } = checkHistory(notes, logs);
  const wrong = [...problems.map(({ kind, message }) => `${kind}: ${message}`), ...(await verifyRuns(store, logs))];
  await store.close();
  for (const [run, log] of logs) {
    const sequences = seen.get(run)!;
    const at = log.findIndex(({ runSeq }, index) => sequences[index] !== runSeq);
    if (at >= 0 || sequences.length !== log.length)
      wrong.push(`the tail of ${run} gave ${sequences.length} of ${log.length} events, the first wrong one at ${at}`);
  }
  for (const sentence of wrong) console.error(sentence);
  const cutOff = notes.filter(({ kind }) => kind === 'unknown').length;
  console.log(
    `server-kill: ${values.kills} kills, ${acked} acked, ${cutOff} answers lost and settled by their keys, ` +
      `${wrong.length} problems, seed ${values.seed}`,
  );
  if (wrong.length > 0 || acked === 0 || cutOff === 0) process.exitCode = 1;
}

try {
  await killRepeatedly();
} finally {
  if (process.exitCode === 1) console.error(`Kept for a look: ${folder}`);
  else rmSync(folder, { recursive: true });
}

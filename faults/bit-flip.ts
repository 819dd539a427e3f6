/**
 * F5: bit rot. Flips one bit of a stored payload in a closed file: `verify` must report the run and sequence, and
 * reading the event must fail. Then one bit is flipped anywhere in the file: a read must return the stored value or
 * fail, but never return a wrong value. `--flips 100 --seed N`: the number of flips of each kind, each on a fresh copy.
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseArgs } from 'node:util';
import { isTidemarkError, type RunEventRecord, type Store } from '@tidemark/core';
import { sqliteStore } from '@tidemark/sqlite';
import { newSeed, Random } from './random.ts';

const { values } = parseArgs({
  options: { flips: { type: 'string', default: '100' }, seed: { type: 'string', default: String(newSeed()) } },
});

const RUNS = 8;
const EVENTS = 25;
/** One in this many payloads is longer than a page and continues on further pages. */
const LONG_EVERY = 10;
const PART = 30;

const random = new Random(Number(values.seed));
const folder = mkdtempSync(join(tmpdir(), 'tidemark-flip-'));
const original = join(folder, 'original.db');
const damaged = join(folder, 'damaged.db');
const wrong: string[] = [];

/** Every run before the damage. */
type Logs = Map<string, RunEventRecord[]>;

async function writeOriginal(): Promise<Logs> {
  const store = await sqliteStore(original);
  for (let run = 0; run < RUNS; run++) {
    const handle = store.runs.handle(`run-${run}`, { projectId: 'faults', environmentId: 'test' });
    await handle.append('RunStarted', { text: textOf(run, 0) });
    const steps = Array.from({ length: EVENTS - 1 }, (_, index) =>
      handle.append('Progress', { text: textOf(run, index + 1) }),
    );
    await Promise.all(steps);
  }
  const logs: Logs = new Map();
  for (let run = 0; run < RUNS; run++) logs.set(`run-${run}`, await store.runs.fetchEvents(`run-${run}`));
  await store.close();
  // SQLite leaves old bytes in reorganised pages. Without them, the bytes found in the file are the bytes that are
  // read.
  const database = new DatabaseSync(original);
  database.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
  return logs;
}

/** Returns a string no part of which occurs elsewhere in the file. */
function textOf(run: number, index: number): string {
  const words = index % LONG_EVERY === 1 ? 500 : 6;
  return Array.from({ length: words }, (_, word) => `<run ${run} event ${index} word ${word}>`).join('');
}

function flipBit(offset: number): void {
  const bytes = readFileSync(original);
  bytes[offset]! ^= 1 << random.between(0, 8);
  writeFileSync(damaged, bytes);
}

/** Opens the damaged copy and checks it. A file that does not open counts as refused. */
async function openDamaged(look: (store: Store) => Promise<string>): Promise<string> {
  let store: Store;
  try {
    store = await sqliteStore(damaged);
  } catch (error) {
    return refusal('did not open', error);
  }
  try {
    return await look(store);
  } finally {
    // The last checkpoint of a damaged file may fail. Nothing was written, so nothing can be lost.
    await store.close().catch(() => {});
  }
}

/** Refusing is correct. An error other than a TidemarkError does not help users and is counted separately. */
function refusal(outcome: string, error: unknown): string {
  return isTidemarkError(error) ? outcome : `${outcome} with a bare ${(error as Error).name}`;
}

async function flipPayloads(logs: Logs, flips: number): Promise<Map<string, number>> {
  const file = readFileSync(original);
  const outcomes = new Map<string, number>();
  for (let flip = 0; flip < flips; flip++) {
    const run = `run-${random.between(0, RUNS)}`;
    const log = logs.get(run)!;
    const event = random.pick(log);
    flipBit(payloadOffset(event, file));
    count(outcomes, await openDamaged((store) => lookAtPayload(store, run, event.runSeq)));
  }
  return outcomes;
}

/**
 * Returns the position of a byte of the event's payload. A long payload is stored in several pieces, so this searches
 * for a short part.
 */
function payloadOffset(event: RunEventRecord, file: Buffer): number {
  const stored = Buffer.from(JSON.stringify(event.payload));
  for (let attempt = 0; attempt < 100; attempt++) {
    const from = random.between(0, stored.length - PART);
    const part = stored.subarray(from, from + PART);
    const at = file.indexOf(part);
    if (at >= 0 && file.indexOf(part, at + 1) < 0) return at + random.between(0, PART);
  }
  throw new Error(`The payload of event ${event.runSeq} of ${event.runId} is not in the file`);
}

async function lookAtPayload(store: Store, run: string, runSeq: number): Promise<string> {
  const { ok, problem } = await store.runs.verify(run);
  if (ok || problem?.runSeq !== runSeq)
    wrong.push(`verify of ${run} says ${JSON.stringify(problem)}, event ${runSeq} is damaged`);
  try {
    const [event] = await store.runs.fetchEvents(run, { afterSeq: runSeq - 1, limit: 1 });
    wrong.push(
      `event ${runSeq} of ${run} was read although it is damaged: ${JSON.stringify(event?.payload).slice(0, 200)}`,
    );
    return 'read';
  } catch (error) {
    const named = isTidemarkError(error, 'CORRUPT_EVENT') && error.runId === run && error.runSeq === runSeq;
    if (!named) wrong.push(`reading event ${runSeq} of ${run} failed with ${String(error)}`);
    return 'found';
  }
}

async function flipAnywhere(logs: Logs, flips: number): Promise<Map<string, number>> {
  const { length } = readFileSync(original);
  const outcomes = new Map<string, number>();
  for (let flip = 0; flip < flips; flip++) {
    const offset = random.between(0, length);
    flipBit(offset);
    const outcome = await openDamaged((store) => lookAtEverything(store, logs));
    if (outcome === 'WRONG') copyFileSync(damaged, join(folder, `wrong-${offset}.db`));
    count(outcomes, outcome);
  }
  return outcomes;
}

/** Returns the worst outcome of reading each run. */
async function lookAtEverything(store: Store, logs: Logs): Promise<string> {
  const seen = new Set<string>();
  for (const [run, log] of logs) seen.add(await lookAtRun(store, run, log));
  const ranking = ['WRONG', 'only persistedAt differs', 'missing, verify tells', 'refused with', 'refused'];
  const worst = ranking.flatMap((start) => [...seen].filter((outcome) => outcome.startsWith(start)));
  return worst[0] ?? 'unharmed';
}

async function lookAtRun(store: Store, run: string, log: readonly RunEventRecord[]): Promise<string> {
  let read: RunEventRecord[];
  try {
    read = await store.runs.fetchEvents(run, { tenantId: 'default' });
  } catch (error) {
    return refusal('refused', error);
  }
  if (sameEvents(read, log)) return 'unharmed';
  if (read.length < log.length && sameEvents(read, log.slice(0, read.length)))
    return lookAtShorterRun(store, run, read.length);
  // The chain covers what the producer sent, but not persistedAt, which the store assigns (RUN-17).
  const timeless = (events: readonly RunEventRecord[]) => events.map((event) => ({ ...event, persistedAt: '' }));
  if (sameEvents(timeless(read), timeless(log))) return 'only persistedAt differs';
  wrong.push(`${run} was read with other events than were stored`);
  return 'WRONG';
}

function sameEvents(one: readonly object[], other: readonly object[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** A log that ends early contains nothing false, but `verify` must detect that events are missing. */
async function lookAtShorterRun(store: Store, run: string, length: number): Promise<string> {
  try {
    const { ok } = await store.runs.verify(run, { tenantId: 'default' });
    if (!ok) return 'missing, verify tells';
  } catch {
    return 'missing, verify tells';
  }
  wrong.push(`${run} ends after ${length} events and verify finds nothing wrong`);
  return 'WRONG';
}

function count(outcomes: Map<string, number>, outcome: string): void {
  outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
}

function describe(outcomes: ReadonlyMap<string, number>): string {
  return [...outcomes].map(([outcome, times]) => `${times} ${outcome}`).join(', ');
}

try {
  const flips = Number(values.flips);
  const logs = await writeOriginal();
  const payloads = await flipPayloads(logs, flips);
  const anywhere = await flipAnywhere(logs, flips);
  for (const sentence of wrong) console.error(sentence);
  console.log(
    `bit-flip: ${flips} in payloads: ${describe(payloads)}; ${flips} anywhere: ${describe(anywhere)}; ` +
      `${wrong.length} problems; seed ${values.seed}`,
  );
  if (wrong.length > 0) process.exitCode = 1;
} finally {
  if (wrong.length > 0) console.error(`Kept for a look: ${folder}`);
  else rmSync(folder, { recursive: true });
}

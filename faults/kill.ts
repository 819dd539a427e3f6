/**
 * F1: kills the writer with SIGKILL at random moments, again and again on one file. After each kill the file must open,
 * hold every acknowledged event exactly once at its position, and verify. `--rounds 200 --seed N --callers 8`.
 */
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sqliteStore } from '@tidemark/sqlite';
import { WriterProcess } from './children.ts';
import { checkHistory, type Note, type Problem, unsettled } from './history.ts';
import { readLogs, readNotes, verifyRuns } from './notes.ts';
import { newSeed, Random } from './random.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '200' },
    seed: { type: 'string', default: String(newSeed()) },
    callers: { type: 'string', default: '8' },
  },
});

/** In every fifth round the writer may be killed before it has opened the file. */
const OPENING_ROUND = 5;
const MAX_DELAY_MS = 400;

const random = new Random(Number(values.seed));
const folder = mkdtempSync(join(tmpdir(), 'tidemark-kill-'));
const path = join(folder, 'store.db');
const notesFile = join(folder, 'notes');

/** The last sequence of each run when it was last read. */
const heads = new Map<string, number>();
const problems: Problem[] = [];
const broken: string[] = [];
let longestReopenMs = 0;

/** Lets a writer write for a random time and kills it. */
async function killOnce(round: number): Promise<void> {
  const before = statSync(notesFile).size;
  const args = ['--path', path, '--notes', notesFile, '--round', String(round), '--callers', values.callers];
  const writer = new WriterProcess('writer', args, notesFile);
  try {
    if (round % OPENING_ROUND !== 0) await writer.hasWritten(notesFile, before);
    await sleep(random.between(0, MAX_DELAY_MS));
    writer.expectRunning();
  } finally {
    await writer.kill();
  }
}

/** Opens the file again, compares the touched runs event by event, and checks that the others end where they did. */
async function check(notes: readonly Note[], touched: ReadonlySet<string>): Promise<void> {
  const began = performance.now();
  const store = await sqliteStore(path);
  longestReopenMs = Math.max(longestReopenMs, performance.now() - began);
  try {
    const logs = await readLogs(store, touched);
    const notesOfTouched = notes.filter(({ run }) => touched.has(run));
    problems.push(...checkHistory(notesOfTouched, logs).problems);
    broken.push(...(await verifyRuns(store, logs)));
    for (const [run, head] of heads) {
      const now = touched.has(run) ? head : await store.runs.headSeq(run, { tenantId: 'faults' });
      if (now !== head) broken.push(`${run} ended at ${head} in an earlier round and ends at ${now} now`);
    }
    for (const [run, log] of logs) heads.set(run, log.length);
  } finally {
    await store.close();
  }
}

async function killRepeatedly(rounds: number): Promise<void> {
  writeFileSync(notesFile, '');
  console.error(`kill: ${rounds} rounds, seed ${values.seed}, ${path}`);
  let notes: Note[] = [];
  let unknown = 0;
  let round = 0;
  while (round < rounds && problems.length + broken.length === 0) {
    round++;
    await killOnce(round);
    const known = notes.length;
    notes = readNotes(notesFile);
    unknown += unsettled(notes).length;
    await check(notes, new Set(notes.slice(known).map(({ run }) => run)));
    if (round % 10 === 0) console.error(`  round ${round}: ${notes.length} notes in ${heads.size} runs`);
  }
  await check(notes, new Set(notes.map(({ run }) => run)));
  summarize(round, notes.filter(({ kind }) => kind === 'acked').length, unknown);
}

function summarize(rounds: number, acked: number, unknown: number): void {
  const wrong = [...problems.map(({ kind, run, message }) => `${kind}: ${run}: ${message}`), ...broken];
  for (const sentence of wrong) console.error(sentence);
  const count = (kind: Problem['kind']) => problems.filter((it) => it.kind === kind).length;
  console.log(
    `kill: ${rounds} rounds, ${acked} acked, ${unknown} unknown, ${count('lost')} lost, ${count('duplicated')} duplicated, ` +
      `${wrong.length} problems, longest reopen ${Math.ceil(longestReopenMs)} ms, seed ${values.seed}`,
  );
  if (wrong.length > 0 || acked === 0) process.exitCode = 1;
}

try {
  await killRepeatedly(Number(values.rounds));
  if (process.exitCode !== 1) rmSync(folder, { recursive: true });
} finally {
  if (existsSync(folder)) console.error(`Kept for a look: ${folder}`);
}

/**
 * F6 and F7: a disk whose syncs fail, and a full disk. A failed sync must be an unknown outcome and never a success,
 * and retrying the write must settle it as one event. A full disk must refuse writes, and acknowledged events must stay
 * readable. Needs strace for the first and loop mounts for the second, and reports the skipped parts.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '@tidemark/core';
import { sqliteStore } from '@tidemark/sqlite';
import { WriterProcess } from './children.ts';
import { checkHistory, type Note, unsettled } from './history.ts';
import { Images, LoopMountRefused } from './images.ts';
import { eventOf, readLogs, readNotes, verifyRuns } from './notes.ts';

const CALLERS = '4';
const WRITES = '60';
let failed = false;

function expect(condition: boolean, promise: string): void {
  if (condition) return;
  failed = true;
  console.error(`Broken: ${promise}`);
}

function hasStrace(): boolean {
  try {
    execFileSync('strace', ['-o', '/dev/null', 'true'], { stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
}

/** The syncs of the writer that fail: every tenth from the thirtieth onwards, or all from the thirtieth onwards. */
const SYNC_FAULTS = { 'syncs that fail now and then': 'when=30+10', 'a disk that stays broken': 'when=30+' };

async function failSyncs(name: string, when: string, folder: string): Promise<void> {
  const path = join(folder, `${name}.db`);
  const notesFile = join(folder, `${name}.notes`);
  writeFileSync(notesFile, '');
  const inject = `inject=fsync,fdatasync:error=EIO:${when}`;
  const strace = ['strace', '-f', '-o', '/dev/null', '-e', 'trace=fsync,fdatasync', '-e', inject];
  const args = ['--path', path, '--callers', CALLERS, '--writes', WRITES];
  const writer = new WriterProcess('writer', args, notesFile, strace);
  const limit = setTimeout(() => void writer.kill(), 60_000);
  const code = await writer.end();
  clearTimeout(limit);
  const notes = readNotes(notesFile);
  const counts = count(notes);
  expect(code === 0, `${name}: every failure reaches a caller, as an error of ours (${code}: ${writer.errors})`);
  expect(counts.acked > 0, 'writes before the fault are acknowledged');
  expect(counts.unknown > 0, 'a failed sync is an unknown outcome');
  expect(counts.rejected === 0, `a failed sync is never "nothing was written" (${rejectedCodes(notes)})`);
  const store = await sqliteStore(path);
  try {
    await settle(store, notes, name);
  } finally {
    await store.close();
  }
  const outcome = failed ? 'see above for what is broken' : 'each settled as one event by its key';
  console.log(`io-error: ${name}: ${counts.acked} acked, ${counts.unknown} unknown, ${outcome}`);
}

/** Compares, retries the unsettled writes, and compares again. */
async function settle(store: Store, notes: readonly Note[], name: string): Promise<void> {
  const runs = new Set(notes.map(({ run }) => run));
  const settled: Note[] = [...notes];
  await compare(store, settled, runs, `${name}, reopened`);
  for (const { writes } of unsettled(notes)) {
    const results = await store.runs.appendEvents(writes.map(eventOf));
    settled.push(
      ...results.map(({ runSeq, eventId }, index): Note => ({ ...writes[index]!, kind: 'acked', eventId, runSeq })),
    );
  }
  const verdict = await compare(store, settled, runs, `${name}, sent again`);
  expect(verdict.unknown === 0, `${name}: sending again settles every unknown outcome`);
}

async function compare(store: Store, notes: readonly Note[], runs: Iterable<string>, when: string) {
  const logs = await readLogs(store, runs);
  const verdict = checkHistory(notes, logs);
  for (const { kind, run, message } of verdict.problems) expect(false, `${when}: ${kind}: ${run}: ${message}`);
  for (const sentence of await verifyRuns(store, logs)) expect(false, `${when}: ${sentence}`);
  return verdict;
}

function count(notes: readonly Note[]): Record<Note['kind'], number> {
  const counts = { sent: 0, acked: 0, rejected: 0, unknown: 0 };
  for (const { kind } of notes) counts[kind]++;
  return counts;
}

function rejectedCodes(notes: readonly Note[]): string {
  return [...new Set(notes.flatMap((it) => (it.kind === 'rejected' ? [it.code] : [])))].join(', ');
}

async function fillDisk(images: Images): Promise<void> {
  const disk = images.mount(images.create('small', '12M'));
  const reserve = join(disk, 'reserve');
  writeFileSync(reserve, Buffer.alloc(1024 ** 2));
  const path = join(disk, 'store.db');
  const notesFile = join(images.folder, 'notes');
  writeFileSync(notesFile, '');
  // A concurrent reader shows that reads work while nothing can be written.
  const store = await sqliteStore(path);
  try {
    const writer = new WriterProcess('writer', ['--path', path, '--callers', CALLERS], notesFile);
    const limit = setTimeout(() => void writer.kill(), 120_000);
    await writer.end();
    clearTimeout(limit);
    const notes = readNotes(notesFile);
    const codes = rejectedCodes(notes);
    expect(
      codes === 'STORAGE_FULL',
      `a full disk is STORAGE_FULL and nothing else (${codes || 'nothing'}; ${writer.errors})`,
    );
    const verdict = await compare(store, notes, new Set(notes.map(({ run }) => run)), 'disk full');
    expect(verdict.unknown === 0, 'on a full disk every outcome is known');
    rmSync(reserve);
    const { persisted } = await store.runs.handle('after').append('RunStarted');
    expect(persisted, 'with space again the store takes writes again');
    const outcome = failed ? 'see above for what is broken' : 'all there, reads go on';
    console.log(
      `io-error: disk full: ${verdict.acked} acked, ${count(notes).rejected} refused with ${codes}, ${outcome}`,
    );
  } finally {
    await store.close();
  }
}

const folder = mkdtempSync(join(tmpdir(), 'tidemark-io-'));
const images = new Images();
try {
  if (hasStrace()) for (const [name, when] of Object.entries(SYNC_FAULTS)) await failSyncs(name, when, folder);
  else console.log('io-error: failing syncs skipped, strace is not installed or not allowed (apt-get install strace)');
  await fillDisk(images);
} catch (error) {
  if (!(error instanceof LoopMountRefused)) throw error;
  console.log(`io-error: full disk skipped, ${error.message}`);
} finally {
  images.remove();
  rmSync(folder, { recursive: true });
}
if (failed) process.exitCode = 1;

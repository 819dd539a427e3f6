/**
 * F3: a power cut. The store is on a file system in an image. The writer is frozen, the image is copied as it is "on
 * the disk", without the page cache, and the copy is opened. No acknowledged event may be missing. A writer with unsafe
 * settings goes through the same and must lose something. `--cuts 10 --seed N`.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { sqliteStore } from '@tidemark/sqlite';
import { WriterProcess } from './children.ts';
import { checkHistory, type LogEvent, type Logs, type Note, type Verdict } from './history.ts';
import { Images, LoopMountRefused } from './images.ts';
import { readLogs, readNotes, verifyRuns } from './notes.ts';
import { newSeed, Random } from './random.ts';

const { values } = parseArgs({
  options: { cuts: { type: 'string', default: '10' }, seed: { type: 'string', default: String(newSeed()) } },
});

const IMAGE_SIZE = '200M';
const MIN_MS = 300;
const MAX_MS = 1_500;
/** How often to repeat a control that lost nothing. */
const CONTROL_CUTS = 5;

/** Reads a store after the cut: its logs, and a sentence for each run that does not verify. */
type ReadBack = (path: string, notes: readonly Note[]) => Promise<{ logs: Logs; broken: string[] }>;

/** Writes for a while, cuts the power, and compares the disk with the acknowledged writes. */
async function cutOnce(images: Images, name: string, start: Start, read: ReadBack, writingMs: number) {
  const image = images.create(name, IMAGE_SIZE);
  const disk = images.mount(image);
  const notesFile = join(images.folder, `${name}.notes`);
  writeFileSync(notesFile, '');
  const crashed = `${image}.crashed`;
  const writer = start(join(disk, 'store.db'), notesFile);
  try {
    await writer.hasWritten(notesFile, 0);
    await sleep(writingMs);
    writer.expectRunning();
    writer.freeze();
    // The kernel stops a process with a delay. Writes acknowledged until then count.
    await untilQuiet(notesFile);
    execFileSync('cp', ['--sparse=always', image, crashed]);
  } finally {
    await writer.kill();
  }
  const notes = readNotes(notesFile);
  images.unmount(disk);
  const copy = images.mount(crashed);
  try {
    const { logs, broken } = await read(join(copy, 'store.db'), notes);
    return { ...checkHistory(notes, logs), broken };
  } finally {
    images.unmount(copy);
  }
}

type Start = (path: string, notesFile: string) => WriterProcess;

async function untilQuiet(notesFile: string): Promise<void> {
  for (let size = -1; size !== statSync(notesFile).size; await sleep(30)) size = statSync(notesFile).size;
}

const startStore: Start = (path, notes) => new WriterProcess('writer', ['--path', path], notes);

const readStore: ReadBack = async (path, notes) => {
  const store = await sqliteStore(path);
  try {
    const logs = await readLogs(store, new Set(notes.map(({ run }) => run)));
    return { logs, broken: await verifyRuns(store, logs) };
  } finally {
    await store.close();
  }
};

function startUnsafe(synchronous: string): Start {
  return (path, notes) => new WriterProcess('unsafe-writer', ['--path', path, '--synchronous', synchronous], notes);
}

const readBare: ReadBack = async (path) => {
  const log: LogEvent[] = [];
  if (existsSync(path)) {
    const database = new DatabaseSync(path);
    try {
      const rows = database.prepare('SELECT seq, key, event_id FROM events ORDER BY seq').all();
      for (const { seq, key, event_id } of rows as { seq: number; key: string; event_id: string }[]) {
        log.push({ runSeq: seq, key, eventId: event_id, persistedAt: '' });
      }
    } catch {
      // A file without its table, or not a database at all: everything is lost.
    } finally {
      database.close();
    }
  }
  return { logs: new Map([['bare', log]]), broken: [] };
};

function lostIn({ problems }: Verdict): number {
  return problems.filter(({ kind }) => kind === 'lost').length;
}

async function cutRepeatedly(images: Images, cuts: number): Promise<void> {
  const random = new Random(Number(values.seed));
  const writingMs = () => random.between(MIN_MS, MAX_MS);
  const total = { acked: 0, unknown: 0, lost: 0, problems: 0 };
  console.error(`power-cut: ${cuts} cuts, seed ${values.seed}`);
  for (let cut = 1; cut <= cuts; cut++) {
    const verdict = await cutOnce(images, `cut-${cut}`, startStore, readStore, writingMs());
    total.acked += verdict.acked;
    total.unknown += verdict.unknown;
    total.lost += lostIn(verdict);
    total.problems += verdict.problems.length + verdict.broken.length;
    for (const { kind, run, message } of verdict.problems) console.error(`${kind}: ${run}: ${message}`);
    for (const sentence of verdict.broken) console.error(sentence);
    console.error(`  cut ${cut}: ${verdict.acked} acked, ${lostIn(verdict)} lost`);
  }
  const controls: string[] = [];
  for (const synchronous of ['NORMAL', 'OFF']) {
    let verdict: Verdict;
    // A cut right after a checkpoint loses nothing, even with NORMAL.
    for (let cut = 1; ; cut++) {
      const name = `control-${synchronous}-${cut}`;
      verdict = await cutOnce(images, name, startUnsafe(synchronous), readBare, writingMs());
      if (lostIn(verdict) > 0 || cut === CONTROL_CUTS) break;
    }
    controls.push(`synchronous ${synchronous} lost ${lostIn(verdict)} of ${verdict.acked}`);
    if (lostIn(verdict) === 0) {
      console.error(`The control lost nothing with synchronous ${synchronous}: this rig does not cut the power.`);
      process.exitCode = 1;
    }
  }
  console.log(
    `power-cut: ${cuts} cuts, ${total.acked} acked, ${total.unknown} unknown, ${total.lost} lost, ${total.problems} problems; ` +
      `control: ${controls.join(', ')}; seed ${values.seed}`,
  );
  if (total.problems > 0 || total.acked === 0) process.exitCode = 1;
}

const images = new Images();
try {
  await cutRepeatedly(images, Number(values.cuts));
} catch (error) {
  if (!(error instanceof LoopMountRefused)) throw error;
  console.log(`power-cut: skipped, ${error.message}`);
} finally {
  images.remove();
}

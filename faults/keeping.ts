/**
 * Kills an archiver, and a process that restores, at every named point, again and again. After each kill every run must
 * be complete in the store or in the archive. Finally, all runs must be where they should be. `--crashes 100 --seed N`.
 * With `--s3` the archive is in a bucket; with `--archivers 2` a second archiver works on the same runs and is not killed.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isTidemarkError, type Store } from '@tidemark/core';
import { type Archiver, createArchiver } from '@tidemark/runtime';
import { sqliteStore } from '@tidemark/sqlite';
import { newBucketUrl, openArchive } from './archive-location.ts';
import { WriterProcess } from './children.ts';
import { newSeed, Random } from './random.ts';

const { values } = parseArgs({
  options: {
    crashes: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(newSeed()) },
    s3: { type: 'boolean', default: false },
    archivers: { type: 'string', default: '1' },
  },
});

const RUNS = 12;
const OTHERS = Number(values.archivers) - 1;
/** How often each point may be passed before the kill, given one pack and one restore per run. */
const POINTS: Record<'archive' | 'restore', Record<string, number>> = {
  archive: { packed: 1, 'under way': 1, checked: 1, leaving: RUNS, left: RUNS, listed: 1, done: 1 },
  restore: { restoring: 4, part: 4, restored: 4 },
};
/** A run that takes three parts, so that a restore can be cut within a run. */
const LONG_RUN = 2_300;

const random = new Random(Number(values.seed));
const runIds = Array.from({ length: RUNS }, (_, run) => `run-${run}`);

/** The history of each run, by its head: equal heads mean equal histories. */
type Heads = Map<string, { head: string; text: string }>;

async function fill(store: Store): Promise<Heads> {
  const heads: Heads = new Map();
  for (const runId of runIds) {
    const run = store.runs.handle(runId);
    await run.append('RunStarted', { runId });
    const [first] = await store.runs.fetchEvents(runId);
    const { runSeq: _, persistedAt: __, idempotencyKey: ___, ...event } = first!;
    const count = runId === 'run-0' ? LONG_RUN : random.between(1, 40);
    for (let at = 0; at < count; at += 500) {
      const size = Math.min(500, count - at);
      const payloads = Array.from({ length: size }, (_, n) => ({ n: at + n, note: `step of ${runId}` }));
      await store.runs.appendEvents(
        payloads.map((payload) => ({ ...event, eventId: crypto.randomUUID(), eventType: 'Progress', payload })),
      );
    }
    await run.append('RunCompleted');
    heads.set(runId, { head: (await store.runs.verify(runId)).head, text: await textOf(store.runs.readEvents(runId)) });
  }
  return heads;
}

async function textOf(events: AsyncIterable<unknown>): Promise<string> {
  return JSON.stringify(await Array.fromAsync(events));
}

/** Returns where a run is, and what is wrong with it. */
async function look(store: Store, archiver: Archiver, runId: string, heads: Heads) {
  const { head, text } = heads.get(runId)!;
  try {
    const found = await store.runs.verify(runId, { tenantId: 'default' });
    const isSame = found.ok && found.head === head && (await textOf(store.runs.readEvents(runId))) === text;
    return { where: 'store', problem: isSame ? null : `${runId} has changed in the store` };
  } catch (error) {
    if (!isTidemarkError(error, 'RUN_ARCHIVED')) return { where: 'nowhere', problem: `${runId}: ${String(error)}` };
  }
  const archived = await textOf(archiver.readRun(runId, { tenantId: 'default' })).catch(String);
  return { where: 'archive', problem: archived === text ? null : `${runId} has changed in the archive: ${archived}` };
}

async function crashRepeatedly(wanted: number): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-keeping-'));
  const path = join(folder, 'store.db');
  const { location: archive, stop } = values.s3
    ? await newBucketUrl()
    : { location: join(folder, 'archive'), stop: async () => {} };
  const store = await sqliteStore(path);
  const archiver = createArchiver({ store, target: openArchive(archive) });
  const problems: string[] = [];
  let [crashes, rounds, moves] = [0, 0, 0];
  const work = async (what: 'archive' | 'restore', point?: string): Promise<boolean> => {
    const hit = String(random.between(1, (POINTS[what][point ?? ''] ?? 1) + 1));
    const args = [
      '--what',
      what,
      '--path',
      path,
      '--archive',
      archive,
      ...(point ? ['--point', point, '--hit', hit] : []),
    ];
    const child = new WriterProcess('keeping-child', [...args, '--', ...runIds], join(folder, 'notes'));
    const others = what === 'archive' ? await Promise.all(Array.from({ length: OTHERS }, () => archiveBeside())) : [];
    problems.push(...others.flat());
    const code = await child.end();
    if (code !== null && code !== 0) problems.push(`${what} ${point} failed with ${code}: ${child.errors}`);
    return code === null;
  };
  /** Archives in another process, and returns its problems. */
  const archiveBeside = async (): Promise<string[]> => {
    const args = ['--what', 'archive', '--path', path, '--archive', archive, '--', ...runIds];
    const other = new WriterProcess('keeping-child', args, join(folder, 'notes'));
    const code = await other.end();
    return code === 0 ? [] : [`an archiver that ran at the same time failed with ${code}: ${other.errors}`];
  };
  const check = async (expected?: string) => {
    for (const runId of runIds) {
      const { where, problem } = await look(store, archiver, runId, heads);
      if (problem) problems.push(problem);
      if (expected && where !== expected) problems.push(`${runId} is in the ${where}, not in the ${expected}`);
    }
  };
  const heads = await fill(store);
  try {
    for (let what: 'archive' | 'restore' = 'archive'; crashes < wanted && problems.length === 0; rounds++) {
      const points = Object.keys(POINTS[what]);
      const point = random.pick(points);
      if (await work(what, point)) crashes++;
      else {
        // The child has finished, so everything must have been moved. The next round goes in the other direction.
        await check(what === 'archive' ? 'archive' : 'store');
        what = what === 'archive' ? 'restore' : 'archive';
        moves++;
      }
      await check();
      if ((rounds + 1) % 10 === 0) console.error(`keeping: ${rounds + 1} rounds, ${crashes} crashes, ${moves} moves`);
    }
    await work('archive');
    await check('archive');
    const { ok, problems: damages, strays } = await archiver.verify();
    if (!ok) problems.push(...damages);
    const left = await Array.fromAsync(openArchive(archive).list('under-way/'));
    if (left.length > 0) problems.push(`still under way: ${left.join(', ')}`);
    console.log(
      `keeping: ${rounds} rounds, ${crashes} crashes, ${moves} moves, ${strays.length} stray files, ${problems.length} problems`,
    );
    return problems;
  } finally {
    await store.close();
    await stop();
    rmSync(folder, { recursive: true });
  }
}

console.error(`keeping: seed ${values.seed}`);
const problems = await crashRepeatedly(Number(values.crashes));
for (const problem of problems.slice(0, 20)) console.log(problem.slice(0, 500));
process.exitCode = problems.length === 0 ? 0 : 1;

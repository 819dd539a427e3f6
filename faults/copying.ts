/**
 * Kills a copy between stores, and retention, at every named point and shortly after it, while the source grows. Every
 * run must be complete or absent, nothing that should stay may be lost, and a last run must finish the job. `--what
 * copy --crashes 100 --seed N --to postgres`; without `--what`, both in turn.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { isTidemarkError, type RunSummary, type Store } from '@tidemark/core';
import { startOwnServer } from '../scripts/servers/index.ts';
import { WriterProcess } from './children.ts';
import { openStoreAt } from './copying-stores.ts';
import { newSeed, Random } from './random.ts';

const { values } = parseArgs({
  options: {
    what: { type: 'string' },
    crashes: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(newSeed()) },
    to: { type: 'string', default: 'sqlite' },
  },
});

/** The points at which children kill themselves, and how often a round usually passes each at least. */
const POINTS = {
  copy: { copying: 12, 'run part': 3, replacing: 1, copied: 12, mirroring: 1, verifying: 12 },
  retention: { found: 2, removing: 12, removed: 12, batch: 2 },
};
const MAX_DELAY_MS = 12;
const LEFTOVERS_LIMIT_MS = 30_000;

type What = keyof typeof POINTS;

const random = new Random(Number(values.seed));

/** Runs a child until it kills itself. Returns whether it did. */
async function crashOnce(what: What, addresses: readonly string[], folder: string): Promise<boolean> {
  const points = Object.entries(POINTS[what]);
  const [point, hits] = random.pick(points);
  const delay = random.next() < 0.5 ? 0 : random.between(1, MAX_DELAY_MS);
  const when = ['--point', point, '--hit', String(random.between(1, hits + 1)), '--delay', String(delay)];
  const child = new WriterProcess('copying-child', ['--what', what, ...addresses, ...when], join(folder, 'notes'));
  const code = await child.end();
  if (code !== null && code !== 0) throw new Error(`The child failed with ${code}: ${child.errors}`);
  return code === null;
}

async function finish(what: What, addresses: readonly string[], folder: string): Promise<string[]> {
  const child = new WriterProcess('copying-child', ['--what', what, ...addresses], join(folder, 'notes'));
  const code = await child.end();
  return code === 0 ? [] : [`the last child ended with ${code}: ${child.errors}`];
}

async function append(store: Store, runId: string, types: readonly string[]): Promise<void> {
  const run = store.runs.handle(runId);
  for (const type of types) await run.append(type, { text: 'x'.repeat(random.between(0, 200)) });
}

async function runsOf(store: Store): Promise<RunSummary[]> {
  const runs: RunSummary[] = [];
  for (let cursor: { cursor?: string } = {}; ; ) {
    const { items, next } = await store.runs.listRuns({ ...cursor, limit: 1_000 });
    runs.push(...items);
    if (next === undefined) return runs;
    cursor = { cursor: next };
  }
}

async function keysOf({ kv }: Store): Promise<string[]> {
  return (await Array.fromAsync(kv.scan('key-'))).map(({ key }) => key);
}

/** Adds runs, appends to some, deletes some, and changes and deletes records. */
async function grow(store: Store, round: number): Promise<void> {
  for (let n = 0; n < 2; n++) await append(store, `run-${round}-${n}`, Array(random.between(1, 12)).fill('Progress'));
  if (round % 10 === 0) {
    for (let batch = 0; batch < 3; batch++)
      await Promise.all(Array.from({ length: 500 }, () => append(store, `long-${round}`, ['Progress'])));
  }
  if (round > 0) await append(store, `run-${random.between(0, round)}-0`, ['Progress']);
  for (let n = 0; n < 20; n++) await store.kv.put(`key-${random.between(0, 200)}`, { round, n });
  await store.agents.saveMemoryState(`memory-${random.between(0, 20)}`, { round });
  await store.kv.delete(`key-${random.between(0, 200)}`);
  await store.agents.deleteMemoryState(`memory-${random.between(0, 20)}`);
  if (round > 0) await store.runs.deleteRun(`run-${random.between(0, round)}-1`);
  await store.artifacts.putText(`text of round ${round}`, { ttl: null });
}

/** Returns whether a run was deleted. The target may still have a deleted run until the next copy. */
async function isDeleted({ admin }: Store, runId: string): Promise<boolean> {
  for (let cursor: { cursor?: string } = {}; ; ) {
    const { items, next } = await admin.listRemovedRuns({ ...cursor, limit: 1_000 });
    if (items.some((run) => run.runId === runId)) return true;
    if (next === undefined) return false;
    cursor = { cursor: next };
  }
}

/** Returns a problem for every run in the target that is incomplete or differs from the source. */
async function halfCopied(from: Store, to: Store): Promise<string[]> {
  const problems: string[] = [];
  for (const { tenantId, runId } of await runsOf(to)) {
    const { ok, events, head } = await to.runs.verify(runId, { tenantId });
    const [source] = await from.runs.fetchEvents(runId, { afterSeq: events - 1, limit: 1 });
    if (!ok || !(source || (await isDeleted(from, runId))))
      problems.push(`${runId} in the target: ok ${ok}, ${events} events, head ${head}`);
  }
  return problems;
}

async function crashCopies(wanted: number): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-copying-'));
  const server = values.to === 'postgres' ? await startOwnServer('postgres') : null;
  const [source, target] = [join(folder, 'from.db'), server?.url ?? join(folder, 'to.db')];
  const addresses = ['--from', source, '--to', target];
  const [from, to] = [await openStoreAt(source), await openStoreAt(target)];
  try {
    const problems: string[] = [];
    let [crashes, rounds] = [0, 0];
    for (; crashes < wanted; rounds++) {
      await grow(from, rounds);
      if (await crashOnce('copy', addresses, folder)) crashes++;
      problems.push(...(await halfCopied(from, to)));
      if ((rounds + 1) % 10 === 0) console.error(`copy: ${rounds + 1} rounds, ${crashes} crashes`);
    }
    problems.push(...(await finish('copy', addresses, folder)));
    const [ours, theirs] = [await runsOf(from), await runsOf(to)];
    if (JSON.stringify(ours) !== JSON.stringify(theirs)) problems.push('the lists of runs differ in the end');
    const [keys, others] = [await keysOf(from), await keysOf(to)];
    if (keys.join() !== others.join()) problems.push(`the keys differ in the end: ${keys.length} and ${others.length}`);
    const events = ours.reduce((sum, { lastEventSeq }) => sum + lastEventSeq, 0);
    console.log(
      `copy to ${values.to}: ${rounds} rounds, ${crashes} crashes, ${ours.length} runs, ${events} events, ${problems.length} problems`,
    );
    return problems;
  } finally {
    await Promise.all([from.close(), to.close()]);
    await server?.stop();
    rmSync(folder, { recursive: true });
  }
}

/** Adds runs that have ended, which retention should remove, and live runs, which should stay. */
async function growRuns(store: Store, round: number, living: Map<string, number>): Promise<void> {
  for (let n = 0; n < 20; n++)
    await append(store, `ended-${round}-${n}`, ['RunStarted', 'Progress', 'Progress', 'RunCompleted']);
  await append(store, `ended-long-${round}`, ['RunStarted']);
  await Promise.all(Array.from({ length: 1_200 }, () => append(store, `ended-long-${round}`, ['Progress'])));
  await append(store, `ended-long-${round}`, ['RunCompleted']);
  for (let n = 0; n < 3; n++) {
    await append(store, `living-${round}-${n}`, ['RunStarted', 'Progress']);
    living.set(`living-${round}-${n}`, 2);
  }
}

/** Returns a problem for every run that is partly removed, and for every live run that is incomplete. */
async function halfGone(store: Store, round: number, living: ReadonlyMap<string, number>): Promise<string[]> {
  const problems: string[] = [];
  const there = await runsOf(store);
  for (const { runId, lastEventSeq } of there) {
    const { ok, events } = await store.runs.verify(runId);
    if (!ok || events !== lastEventSeq) problems.push(`${runId} is there with ${events} of ${lastEventSeq} events`);
  }
  const listed = new Set(there.map(({ runId }) => runId));
  for (const runId of living.keys()) if (!listed.has(runId)) problems.push(`${runId} lived and is gone`);
  for (let n = 0; n < 20; n++) {
    const runId = `ended-${round}-${n}`;
    if (listed.has(runId)) continue;
    const late = await store.runs
      .handle(runId)
      .append('Late')
      .catch((error: unknown) => error);
    if (!isTidemarkError(late, 'RUN_DELETED')) problems.push(`${runId} is gone, and could be begun again`);
  }
  return problems;
}

/** Counts events of removed runs that are still in the file. Opening a store finishes what a kill left behind. */
async function leftovers(path: string): Promise<number> {
  await using _ = await openStoreAt(path);
  const database = new DatabaseSync(path, { readOnly: true });
  const count = database.prepare(
    `SELECT count(*) AS left FROM run_events e JOIN runs r ON r.run_id = e.run_id AND r.tenant_id = e.tenant_id
     WHERE r.removed IS NOT NULL`,
  );
  try {
    for (const limit = Date.now() + LEFTOVERS_LIMIT_MS; ; ) {
      const left = Number(count.get()!.left);
      if (left === 0 || Date.now() > limit) return left;
      await sleep(200);
    }
  } finally {
    database.close();
  }
}

async function crashRetention(wanted: number): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-retention-'));
  const path = join(folder, 'store.db');
  const addresses = ['--from', path];
  const store = await openStoreAt(path);
  const living = new Map<string, number>();
  try {
    const problems: string[] = [];
    let [crashes, rounds] = [0, 0];
    for (; crashes < wanted; rounds++) {
      await growRuns(store, rounds, living);
      if (await crashOnce('retention', addresses, folder)) crashes++;
      problems.push(...(await halfGone(store, rounds, living)));
      if ((rounds + 1) % 10 === 0) console.error(`retention: ${rounds + 1} rounds, ${crashes} crashes`);
    }
    problems.push(...(await finish('retention', addresses, folder)));
    const ended = (await runsOf(store)).filter(({ runId }) => !living.has(runId));
    if (ended.length > 0)
      problems.push(`${ended.length} runs should have been removed and still exist, such as ${ended[0]!.runId}`);
    const left = await leftovers(path);
    if (left > 0) problems.push(`${left} events of removed runs are still in the file`);
    console.log(
      `retention: ${rounds} rounds, ${crashes} crashes, ${rounds * 21} runs to go, ${living.size} to stay, ${problems.length} problems`,
    );
    return problems;
  } finally {
    await store.close();
    rmSync(folder, { recursive: true });
  }
}

console.error(`copying: seed ${values.seed}`);
const problems: string[] = [];
if (values.what !== 'retention') problems.push(...(await crashCopies(Number(values.crashes))));
if (values.what !== 'copy') problems.push(...(await crashRetention(Number(values.crashes))));
for (const problem of problems.slice(0, 20)) console.log(problem);
process.exitCode = problems.length === 0 ? 0 : 1;

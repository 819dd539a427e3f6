/**
 * Kills a subscription and a projector at every named point, again and again, while the log grows. Finally, every event
 * must have had its effect or be a dead letter, and every snapshot must equal the fold of its run.
 * `--what subscription --crashes 100 --seed N`; without `--what`, both in turn.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { reduceRun, type Store } from '@tidemark/core';
import { listDeadLetters } from '@tidemark/runtime';
import { sqliteStore } from '@tidemark/sqlite';
import { WriterProcess } from './children.ts';
import { newSeed, Random } from './random.ts';

const { values } = parseArgs({
  options: {
    what: { type: 'string' },
    crashes: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(newSeed()) },
  },
});

const POINTS: Record<string, readonly string[]> = {
  subscription: ['read', 'handled', 'noted', 'dead letter'],
  projector: ['read', 'folded', 'handled', 'noted'],
};
const RUNS = 20;
const EVENTS_PER_ROUND = 60;

const random = new Random(Number(values.seed));

async function appendSome(store: Store, round: number): Promise<void> {
  for (let at = 0; at < EVENTS_PER_ROUND; at++) {
    const run = store.runs.handle(`run-${random.between(0, RUNS)}`);
    await run.append(round === 0 && at < RUNS ? 'RunStarted' : 'Progress', { round, at });
  }
}

/** Runs a child until it kills itself. Returns whether it did. */
async function crashOnce(what: string, path: string, folder: string): Promise<boolean> {
  const points = POINTS[what]!;
  const point = random.pick(points);
  const args = ['--what', what, '--path', path, '--point', point, '--hit', String(random.between(1, 4))];
  const child = new WriterProcess('crash-child', args, join(folder, 'notes'));
  const code = await child.end();
  if (code !== null && code !== 0) throw new Error(`The child failed with ${code}: ${child.errors}`);
  return code === null;
}

async function eventsWithoutEffect(store: Store): Promise<string[]> {
  const buried = new Set<string>();
  for await (const letter of listDeadLetters(store, 'effects')) buried.add(letter.eventId);
  const missing: string[] = [];
  for await (const { event } of allEvents(store)) {
    const mustDie = event.runSeq % 20 === 0;
    const hasEffect = (await store.kv.get(`effects.${event.eventId}`)) !== null;
    if (mustDie !== buried.has(event.eventId) || hasEffect === mustDie)
      missing.push(`event ${event.runSeq} of ${event.runId}: effect ${hasEffect}, dead ${buried.has(event.eventId)}`);
  }
  return missing;
}

async function wrongSnapshots(store: Store): Promise<string[]> {
  const wrong: string[] = [];
  for (const { runId } of (await store.runs.listRuns({ limit: 1_000 })).items) {
    const stored = await store.runs.getSnapshot(runId);
    const folded = reduceRun(await Array.fromAsync(store.runs.readEvents(runId)));
    const { projectedAt: _, version: __, ...is } = stored!;
    const { projectedAt: ___, version: ____, ...should } = folded;
    if (JSON.stringify(is) !== JSON.stringify(should)) wrong.push(`${runId}: ${JSON.stringify(is)}`);
  }
  return wrong;
}

async function* allEvents(store: Store) {
  for (let after: string | undefined; ; ) {
    const page = await store.runs.feedPage({ limit: 1_000, ...(after === undefined ? {} : { cursor: after }) });
    yield* page.items;
    if (page.next === after) return;
    after = page.next;
  }
}

async function crashRepeatedly(what: string, wanted: number): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-crash-'));
  const path = join(folder, 'store.db');
  const store = await sqliteStore(path);
  try {
    let [crashes, rounds] = [0, 0];
    // Not every round reaches the point where it should crash.
    for (; crashes < wanted; rounds++) {
      await appendSome(store, rounds);
      if (await crashOnce(what, path, folder)) crashes++;
      if ((rounds + 1) % 10 === 0) console.error(`${what}: ${rounds + 1} rounds, ${crashes} crashes`);
    }
    const last = new WriterProcess('crash-child', ['--what', what, '--path', path], join(folder, 'notes'));
    if ((await last.end()) !== 0) return [`the last child failed: ${last.errors}`];
    const problems = await (what === 'subscription' ? eventsWithoutEffect(store) : wrongSnapshots(store));
    console.log(
      `${what}: ${rounds} rounds, ${crashes} crashes, ${rounds * EVENTS_PER_ROUND} events, ${problems.length} problems`,
    );
    return problems;
  } finally {
    await store.close();
    rmSync(folder, { recursive: true });
  }
}

console.error(`crash-points: seed ${values.seed}`);
const problems: string[] = [];
for (const what of values.what === undefined ? Object.keys(POINTS) : [values.what])
  problems.push(...(await crashRepeatedly(what, Number(values.crashes))));
for (const problem of problems.slice(0, 20)) console.log(problem);
process.exitCode = problems.length === 0 ? 0 : 1;

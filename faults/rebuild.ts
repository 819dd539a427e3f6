/**
 * Kills the rebuild of a projection at every named point, again and again, while the log grows and versions follow each
 * other. The serving version must never go back and must always be complete, and in the end every stored state must
 * equal the fold of its run. `--rounds 100 --seed N`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { numberOf, type RebuildPoint, type Store, textOf } from '@tidemark/core';
import { sqliteStore } from '@tidemark/sqlite';
import { WriterProcess } from './children.ts';
import { newSeed, Random } from './random.ts';
import { countsOf } from './rebuild-projection.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '100' }, seed: { type: 'string', default: String(newSeed()) } },
});

const POINTS: readonly RebuildPoint[] = ['looked', 'refreshed', 'passed', 'switched'];
const RUNS = 40;
const EVENTS_PER_ROUND = 60;
const ROUNDS_PER_VERSION = 10;

const random = new Random(Number(values.seed));

/** Every run gets an event in the first round: from then on a missing state is a fault. */
async function appendSome(store: Store, round: number): Promise<void> {
  for (let at = 0; at < EVENTS_PER_ROUND; at++) {
    const run = round === 0 && at < RUNS ? at : random.between(0, RUNS);
    await store.runs.handle(`run-${run}`).append('Progress', { round });
  }
}

/** Runs a child until it kills itself or finishes. Returns whether it was killed. */
async function rebuildOnce(folder: string, version: number, ...crash: string[]): Promise<boolean> {
  const args = ['--path', join(folder, 'store.db'), '--version', String(version), ...crash];
  const child = new WriterProcess('rebuild-child', args, join(folder, 'notes'));
  const code = await child.end();
  if (code !== null && code !== 0) throw new Error(`The child failed with ${code}: ${child.errors}`);
  return code === null;
}

/** Returns the stored state, without projecting a missing one as `get` would. */
async function storedState(store: Store, version: number, runId: string) {
  const record = await store.kv.get(`tidemark.projections.counts.${version}.${runId}`);
  return record && { state: JSON.parse(textOf(record.fields.state)!), seq: numberOf(record.fields.seq)! };
}

/**
 * Returns the stored states of a version that are missing or differ from the fold of their run up to their sequence.
 */
async function wrongStates(store: Store, version: number): Promise<string[]> {
  const wrong: string[] = [];
  for (const { runId } of (await store.runs.listRuns({ limit: 1_000 })).items) {
    const stored = await storedState(store, version, runId);
    const events = stored ? await store.runs.fetchEvents(runId, { limit: stored.seq }) : [];
    const byRound: Record<string, number> = {};
    for (const { payload } of events)
      byRound[String(payload?.round)] = (byRound[String(payload?.round)] ?? 0) + version;
    if (!isDeepStrictEqual(stored?.state, { events: events.length * version, byRound }))
      wrong.push(`version ${version} of ${runId}: ${JSON.stringify(stored)}`);
  }
  return wrong;
}

async function crashRepeatedly(rounds: number): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-rebuild-'));
  const store = await sqliteStore(join(folder, 'store.db'));
  const problems: string[] = [];
  let [crashes, serving] = [0, 0];
  try {
    for (let round = 0; round < rounds; round++) {
      await appendSome(store, round);
      const version = 1 + Math.floor(round / ROUNDS_PER_VERSION);
      const point = random.pick(POINTS);
      const hit = point === 'refreshed' ? random.between(1, RUNS) : 1;
      if (await rebuildOnce(folder, version, '--point', point, '--hit', String(hit))) crashes++;
      const active = (await countsOf(version).activeVersion(store)) ?? 0;
      if (active < serving || active > version)
        problems.push(`round ${round}: version ${serving} gave way to ${active}`);
      if (active > 0) problems.push(...(await wrongStates(store, active)));
      serving = active;
      if ((round + 1) % 10 === 0) console.error(`rebuild: ${round + 1} rounds, ${crashes} crashes, serving ${serving}`);
    }
    const last = 1 + Math.floor((rounds - 1) / ROUNDS_PER_VERSION);
    await rebuildOnce(folder, last);
    if ((await countsOf(last).activeVersion(store)) !== last)
      problems.push(`version ${last} does not serve in the end`);
    for (const { runId, lastEventSeq } of (await store.runs.listRuns({ limit: 1_000 })).items)
      if ((await storedState(store, last, runId))?.seq !== lastEventSeq) problems.push(`${runId} is behind`);
    problems.push(...(await wrongStates(store, last)));
    console.log(
      `rebuild: ${rounds} rounds, ${crashes} crashes, ${rounds * EVENTS_PER_ROUND} events, ${problems.length} problems`,
    );
    return problems;
  } finally {
    await store.close();
    rmSync(folder, { recursive: true });
  }
}

console.error(`rebuild: seed ${values.seed}`);
const problems = await crashRepeatedly(Number(values.rounds));
for (const problem of problems.slice(0, 20)) console.log(problem);
process.exitCode = problems.length === 0 ? 0 : 1;

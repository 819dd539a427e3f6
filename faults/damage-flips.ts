/**
 * F5 for everything: bits are flipped and pages torn in the files of an engine, each on a fresh copy. The store is opened and
 * everything is read: each read returns what was stored or fails, or the store refuses to open. What failed must be found by
 * `doctor({ deep: true })` too. `--engine sqlite|postgres|redis|nats --flips 100 --seed N`.
 */
import { parseArgs } from 'node:util';
import { isTidemarkError, type Store } from '@tidemark/core';
import { fill, type Read, readsOf } from './damage-contents.ts';
import { damagedEngine } from './damage-engines.ts';
import { type Damage, damageOne } from './damage-files.ts';
import { newSeed, Random } from './random.ts';

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'sqlite' },
    flips: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(newSeed()) },
    keep: { type: 'boolean', default: false },
  },
});

const KINDS: readonly Damage[] = ['flip', 'flip', 'flip', 'zeroed', 'older'];
const random = new Random(Number(values.seed));
const engine = await damagedEngine(values.engine as 'sqlite');
const outcomes = new Map<string, number>();
const problems: string[] = [];

/** What each read of the undamaged store returned. */
type Expected = ReadonlyMap<string, string>;

async function contentsOf(reads: readonly Read[]): Promise<Expected> {
  const expected = new Map<string, string>();
  for (const { name, run } of reads) expected.set(name, JSON.stringify(await run()));
  return expected;
}

async function prepare(): Promise<Expected> {
  for (const round of [0, 1]) {
    const store = await engine.open();
    await fill(store, round);
    await store.close();
    await engine.settle(round === 0 ? 'older' : 'newest');
  }
  const store = await engine.open();
  const expected = await contentsOf(await readsOf(store));
  await store.close();
  return expected;
}

/** Reads everything; returns the names of reads that failed, and adds those that lied to the problems. */
async function readEverything(store: Store, expected: Expected, what: string): Promise<string[]> {
  const refused: string[] = [];
  // The list of reads itself rests on lists that may fail; what they would have added is in `expected`.
  const reads = await readsOf(store).catch(() => null);
  if (reads === null) return ['lists'];
  const asked = new Set<string>();
  for (const { name, run } of reads) {
    asked.add(name);
    try {
      const read = JSON.stringify(await run());
      if (read !== expected.get(name)) problems.push(`${what}: ${name} was read as ${read?.slice(0, 200)}`);
    } catch (error) {
      if (!isTidemarkError(error)) problems.push(`${what}: ${name} failed with a bare ${String(error)}`);
      refused.push(name);
    }
  }
  for (const name of expected.keys()) if (!asked.has(name)) refused.push(name);
  return refused;
}

async function tryOne(expected: Expected, kind: Damage): Promise<string | null> {
  await engine.restore();
  const what = damageOne(engine.targets(), kind, random);
  if (what === null) return null;
  let store: Store;
  try {
    store = await engine.reopen();
  } catch (error) {
    return isTidemarkError(error) || engine.refusesItself
      ? 'did not open'
      : `did not open with a bare ${String(error)}`;
  }
  try {
    const before = problems.length;
    const refused = await readEverything(store, expected, what);
    const found = await store.doctor({ deep: true, timeoutMs: 60_000 }).then(
      ({ ok }) => !ok,
      () => true,
    );
    if (problems.length > before) return found ? 'WRONG, found by doctor' : 'WRONG, not found';
    if (refused.length === 0) return found ? 'unharmed, found by doctor' : 'unharmed';
    if (!found) problems.push(`${what}: ${refused[0]} failed, and the doctor found nothing`);
    return found ? 'refused and found' : 'refused, NOT FOUND';
  } finally {
    await store.close().catch(() => {});
  }
}

try {
  const expected = await prepare();
  const flips = Number(values.flips);
  for (let done = 0; done < flips; ) {
    const outcome = await tryOne(expected, KINDS[random.between(0, KINDS.length)]!);
    if (outcome === null) continue;
    done++;
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  }
  for (const problem of problems.slice(0, 50)) console.error(problem);
  const counts = [...outcomes].map(([outcome, times]) => `${times} ${outcome}`).join(', ');
  console.log(`damage-flips: ${values.engine}: ${flips}: ${counts}; ${problems.length} problems; seed ${values.seed}`);
  if (problems.length > 0) process.exitCode = 1;
} finally {
  await engine.remove();
}

/**
 * F5 for all data: bits are flipped and pages torn in the files of an engine, each on a fresh copy. Then the store is
 * opened and everything is read. No read may return a value that was never stored or fail with an error other than
 * TidemarkError. A torn page may hide rows or bring back an older version, which no checksum of a value can detect.
 * Those are counted separately, and `doctor({ deep: true })` must find hidden rows and everything that was refused.
 * `--engine sqlite,postgres,redis,nats --flips 100 --seed N`.
 */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { isTidemarkError, type Store } from '@tidemark/core';
import { fill, type Read, readsOf } from './damage-contents.ts';
import { type DamagedEngine, damagedEngine, type EngineName } from './damage-engines.ts';
import { type Damage, damageOne } from './damage-files.ts';
import { newSeed, Random } from './random.ts';

const { values } = parseArgs({
  options: {
    engine: { type: 'string', default: 'sqlite' },
    flips: { type: 'string', default: '100' },
    seed: { type: 'string', default: String(newSeed()) },
  },
});

// A thousand copies and starts take minutes in memory and hours on a disk. `TMPDIR` chooses another folder.
if (existsSync('/dev/shm')) process.env.TMPDIR ??= '/dev/shm';

/** Bits are flipped more often than pages are torn. */
const KINDS: readonly Damage[] = ['flip', 'flip', 'flip', 'zeroed', 'older'];
const MAX_SHOWN = 50;
/** Findings of the doctor without damage: files in memory, and NATS 2.9, which cannot sync before it acknowledges. */
const SETTINGS = ['file system', 'sync'];

/** The results of each read of the undamaged store. */
type Expected = ReadonlyMap<string, string>;

/** The results of a damaged store. */
interface Answers {
  refused: string[];
  /** Values that were never stored, and errors other than TidemarkError. */
  wrong: string[];
  /** Reads that lack something or return an older state. */
  missing: string[];
  older: string[];
  /** Reads of data that no checksum covers, with wrong results. */
  uncovered: Read[];
}

class Trials {
  readonly #engine: DamagedEngine;
  readonly #random: Random;
  readonly #expected = new Map<string, string>();
  readonly #older = new Map<string, string>();
  /** Checks of the doctor that fail without damage. */
  #usual: string[] = [];
  readonly problems: string[] = [];
  readonly outcomes = new Map<string, number>();

  constructor(engine: DamagedEngine, random: Random) {
    this.#engine = engine;
    this.#random = random;
  }

  async prepare(): Promise<void> {
    for (const round of [0, 1]) {
      const store = await this.#engine.open();
      await fill(store, round);
      const contents = round === 0 ? this.#older : this.#expected;
      for (const { name, run } of await readsOf(store)) contents.set(name, JSON.stringify(await run()));
      this.#usual = await failedChecks(store);
      if (this.#usual.some((check) => !SETTINGS.includes(check)))
        throw new Error(`The doctor finds damage where there is none: ${this.#usual.join(', ')}`);
      await store.close();
      await this.#engine.settle(round === 0 ? 'older' : 'newest');
    }
  }

  async run(flips: number): Promise<void> {
    for (let done = 0; done < flips; ) {
      const outcome = await this.#tryOne(KINDS[this.#random.between(0, KINDS.length)]!);
      if (outcome === null) continue;
      done++;
      this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    }
  }

  /** Damages the files once and returns the outcome, or `null` if nothing was changed. */
  async #tryOne(kind: Damage): Promise<string | null> {
    await this.#engine.restore();
    const what = damageOne(this.#engine.targets(), kind, this.#random);
    if (what === null) return null;
    let store: Store;
    try {
      store = await this.#engine.reopen();
    } catch (error) {
      if (isTidemarkError(error) || this.#engine.refusesItself) return 'not opened';
      this.problems.push(`${what}: opening failed with a bare ${String(error)}`);
      return 'not opened, with a bare error';
    }
    try {
      return await this.#look(store, what);
    } finally {
      await store.close().catch(() => {});
    }
  }

  async #look(store: Store, what: string): Promise<string> {
    const { refused, wrong, missing, older, uncovered } = await answersOf(store, this.#expected, this.#older);
    for (const sentence of wrong) this.problems.push(`${what}: ${sentence}`);
    const isFound = await failedChecks(store).then(
      (failed) => failed.some((check) => !this.#usual.includes(check)),
      () => true,
    );
    const found = isFound ? 'found by doctor' : 'NOT FOUND by doctor';
    if (wrong.length > 0) return `WRONG, ${found}`;
    const [field] = uncovered;
    if (field?.uncovered === 'found' && missing.length === 0 && !isFound)
      this.problems.push(`${what}: ${field.name} has a wrong field, and the doctor found nothing`);
    if (missing.length > 0 && !isFound)
      this.problems.push(`${what}: ${missing[0]} lacks something, and the doctor found nothing`);
    if (missing.length > 0) return `out of sight, ${found}`;
    if (field && refused.length === 0) return `wrong in ${field.name.replace(/ of .*/, '')} alone, ${found}`;
    if (older.length > 0) return `an older version, ${found}`;
    if (refused.length === 0) return isFound ? 'read right, found by doctor' : 'read right';
    if (!isFound) this.problems.push(`${what}: ${refused[0]} failed, and the doctor found nothing`);
    return `refused, ${found}`;
  }
}

/** Returns the names of the doctor's failed checks. */
async function failedChecks(store: Store): Promise<string[]> {
  const { findings } = await store.doctor({ deep: true, timeoutMs: 60_000 });
  return findings.filter(({ status }) => status === 'fail').map(({ check }) => check);
}

/** Reads everything and compares it. */
async function answersOf(store: Store, expected: Expected, older: Expected): Promise<Answers> {
  const answers: Answers = { refused: [], wrong: [], missing: [], older: [], uncovered: [] };
  const reads = await readsOf(store).catch((): Read[] => []);
  const asked = new Set(reads.map(({ name }) => name));
  for (const { name, run, uncovered } of reads) {
    try {
      const read = JSON.stringify(await run());
      if (read === expected.get(name)) continue;
      if (lacksSomething(read, expected.get(name))) answers.missing.push(name);
      else if (isOlder(read, expected.get(name), older.get(name))) answers.older.push(name);
      else if (uncovered) answers.uncovered.push({ name, run, uncovered });
      else answers.wrong.push(`${name} was read as ${read?.slice(0, 200)}`);
    } catch (error) {
      if (!isTidemarkError(error)) answers.wrong.push(`${name} failed with a bare ${String(error)}`);
      answers.refused.push(name);
    }
  }
  // Items that a list reported as damaged are not read one by one.
  answers.refused.push(...[...expected.keys()].filter((name) => !asked.has(name)));
  return answers;
}

/** Returns whether something is missing: an absent value, or a list whose items are right but incomplete. */
function lacksSomething(read: string, expected = 'null'): boolean {
  if (read === 'null' || read === '""') return true;
  const [found, stored] = [itemsOf(read), itemsOf(expected)];
  return found !== null && stored !== null && found.every((item) => stored.includes(item));
}

/** Returns whether the result is from before the last write; for a list, whether some of its items are. */
function isOlder(read: string, expected = 'null', older = 'null'): boolean {
  if (read === older) return true;
  const [found, stored, before] = [itemsOf(read), itemsOf(expected), itemsOf(older)];
  return found?.every((item) => stored?.includes(item) || before?.includes(item)) ?? false;
}

function itemsOf(json: string): string[] | null {
  const value: unknown = JSON.parse(json);
  return Array.isArray(value) ? value.map((item) => JSON.stringify(item)) : null;
}

let isBroken = false;
for (const name of values.engine.split(',') as EngineName[]) {
  const engine = await damagedEngine(name);
  const trials = new Trials(engine, new Random(Number(values.seed)));
  try {
    await trials.prepare();
    await trials.run(Number(values.flips));
  } finally {
    await engine.remove();
  }
  for (const problem of trials.problems.slice(0, MAX_SHOWN)) console.error(problem);
  const counts = [...trials.outcomes].map(([outcome, times]) => `${times} ${outcome}`).join(', ');
  const { length } = trials.problems;
  console.log(`damage-flips: ${name}: ${values.flips}: ${counts}; ${length} problems; seed ${values.seed}`);
  isBroken ||= length > 0;
}
if (isBroken) process.exitCode = 1;

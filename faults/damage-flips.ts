/**
 * F5 for everything: bits are flipped and pages torn in the files of an engine, each on a fresh copy. The store is opened and
 * everything is read: no read returns a value that was never stored, or fails with an error that is not ours. A page that is torn may
 * take rows out of sight, or bring an older version back, which no checksum of a value can tell: those are counted by themselves,
 * and `doctor({ deep: true })` must find what is out of sight, as all that was refused.
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

// A thousand copies and starts take minutes in memory and hours on a disk; `TMPDIR` chooses another place.
if (existsSync('/dev/shm')) process.env.TMPDIR ??= '/dev/shm';

/** Bits are flipped more often than pages are torn. */
const KINDS: readonly Damage[] = ['flip', 'flip', 'flip', 'zeroed', 'older'];
const MOST_SHOWN = 50;
/** What the doctor says without damage: of files in memory, and of NATS 2.9, which cannot sync before it acknowledges. */
const SETTINGS = ['file system', 'sync'];

/** What each read of the undamaged store returned. */
type Expected = ReadonlyMap<string, string>;

/** How a damaged store answered. */
interface Answers {
  refused: string[];
  /** Values that were never stored, and errors that are not ours. */
  wrong: string[];
  /** Reads that lack something, or are as they were before the last write. */
  missing: string[];
  older: string[];
  /** Wrong in what no checksum covers. */
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

  /** How one damage went; `null` when nothing was changed by it. */
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

/** Names of the doctor's checks that failed. */
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
  // What a list left out and named is not asked for one by one.
  answers.refused.push(...[...expected.keys()].filter((name) => !asked.has(name)));
  return answers;
}

/** Nothing where there was something, or a list of which all items are right and some are not there. */
function lacksSomething(read: string, expected = 'null'): boolean {
  if (read === 'null' || read === '""') return true;
  const [found, stored] = [itemsOf(read), itemsOf(expected)];
  return found !== null && stored !== null && found.every((item) => stored.includes(item));
}

/** As it was before the last write; of a list, some items of it. */
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
  for (const problem of trials.problems.slice(0, MOST_SHOWN)) console.error(problem);
  const counts = [...trials.outcomes].map(([outcome, times]) => `${times} ${outcome}`).join(', ');
  const { length } = trials.problems;
  console.log(`damage-flips: ${name}: ${values.flips}: ${counts}; ${length} problems; seed ${values.seed}`);
  isBroken ||= length > 0;
}
if (isBroken) process.exitCode = 1;

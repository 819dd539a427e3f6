/**
 * Runs each test first without a mutant, then once with each mutant that the first run evaluated, and again without a
 * mutant after each failure. `TIDEMARK_MUTANT_NOTES` names the file for the results, which also contains the results of
 * earlier processes. Without it, each test runs once as usual.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { TestRunner } from 'vitest';
import { appendNote, type Note, NoteReader, TIMED_OUT } from './notes.ts';

type Test = Parameters<TestRunner['onBeforeTryTask']>[0];
/** Vitest also marks a test that skips itself as pending. */
type Result = NonNullable<Test['result']> & { pending?: boolean };
type Attempt = { retry: number; repeats: number };
type Step = { mutant: number } | { checking: number; error: string };

/** On a busy machine a test of a few milliseconds may take seconds. */
const MIN_LIMIT_MS = 15_000;
const TIMES_AS_LONG = 10;
const FIRST_LIMIT_MS = 180_000;
/** How much later `switching.ts` stops the process. A process that loops cannot stop itself with a timer. */
const GRACE_MS = 10_000;
/** More tries than a test has mutants: the plan decides when a test ends. */
const NO_LIMIT = 1_000_000;

/** Vitest repeats a test only for an error. */
const AGAIN = { name: 'Error', message: 'continues with the next mutant' };

/** State of this process, which all test files share. */
class Switches {
  readonly notes: string = process.env.TIDEMARK_MUTANT_NOTES ?? '';
  /** The number of the mutant that is on. */
  on: number | null = null;
  /** Mutants that no test has noticed. */
  readonly open: Set<number> = new Set(process.env.TIDEMARK_MUTANTS_OPEN?.split(',').map(Number));
  readonly evaluated = new Set<number>();
  readonly reached = new Set<number>();
  readonly loaded = new Set<number>();
  readonly done = new Set<string>();
  readonly suspects = new Map<string, Note & { kind: 'suspect' }>();

  constructor() {
    if (this.notes === '') return;
    const reader = new NoteReader(this.notes);
    for (const note of reader.next()) this.#learn(note);
    reader.close();
  }

  write(note: Note): void {
    this.#learn(note);
    appendNote(this.notes, note);
  }

  #learn(note: Note): void {
    if (note.kind === 'killed') this.open.delete(note.id);
    if (note.kind === 'killed' || note.kind === 'excluded') this.suspects.delete(note.test);
    if (note.kind === 'done' || note.kind === 'excluded') this.done.add(note.test);
    if (note.kind === 'suspect') this.suspects.set(note.test, note);
  }
}

declare global {
  var mutant: (id: number) => boolean;
  var mutantSwitches: Switches | undefined;
}

globalThis.mutantSwitches ??= new Switches();
const switches = globalThis.mutantSwitches;
globalThis.mutant = (id) => {
  switches.evaluated.add(id);
  return id === switches.on;
};

export default class SwitchingRunner extends TestRunner {
  /** The remaining runs of the current test; its first run is not part of them. */
  #plan: Step[] = [];
  #current: Step | null = null;
  #began = 0;
  #limitMs = 0;

  override async onBeforeRunTask(test: Test): Promise<void> {
    await super.onBeforeRunTask(test);
    if (switches.notes === '') return;
    noteLoaded();
    if (switches.open.size === 0 || switches.done.has(nameOf(test))) test.mode = 'skip';
    else test.repeats = 1;
  }

  override onBeforeTryTask(test: Test, attempt?: Attempt): void {
    super.onBeforeTryTask(test);
    if (switches.notes === '') return;
    const isFirst = attempt?.repeats === 0;
    this.#current = isFirst ? null : (this.#plan.shift() ?? null);
    if (!isFirst && this.#current === null) return;
    this.#began = performance.now();
    const id = this.#current !== null && 'mutant' in this.#current ? this.#current.mutant : null;
    if (isFirst) this.#limitMs = FIRST_LIMIT_MS;
    switches.write({ kind: 'try', test: nameOf(test), id, limitMs: this.#limitMs + GRACE_MS });
    switches.evaluated.clear();
    switches.on = id;
  }

  /** Skips the test itself when nothing is left to run. */
  runTask = async (test: Test): Promise<void> => {
    const body = TestRunner.getTestFn(test);
    if (switches.notes === '' || test.result?.repeatCount === 0) await body();
    else if (this.#current !== null) await within(this.#limitMs, body);
  };

  async onAfterRetryTask(test: Test, attempt: Attempt): Promise<void> {
    if (switches.notes === '') return;
    const result: Result = test.result!;
    const error = result.state === 'fail' ? (result.errors?.at(-1)?.message ?? 'failed') : null;
    switches.on = null;
    if (attempt.repeats === 0) {
      if (result.pending) return;
      this.#begin(test, error);
      test.retry = NO_LIMIT;
    } else if (this.#current !== null) {
      await this.#learn(this.#current, test, error);
    }
    // Vitest tries again after a failure and ends the test after a success.
    const isOver = this.#plan.length === 0;
    if (isOver && attempt.repeats === 1) switches.write({ kind: 'done', test: nameOf(test) });
    result.pending = false;
    const again = !isOver && attempt.repeats === 1;
    result.state = again ? 'fail' : 'pass';
    result.errors = again ? [AGAIN] : [];
    switches.evaluated.clear();
  }

  /** Plans the runs of a test after its first one, which was without a mutant. */
  #begin(test: Test, error: string | null): void {
    const name = nameOf(test);
    this.#plan = [];
    if (error !== null) {
      switches.write({ kind: 'excluded', test: name, error });
      return;
    }
    this.#limitMs = Math.max(MIN_LIMIT_MS, TIMES_AS_LONG * (performance.now() - this.#began));
    const ids = addTo(switches.reached);
    if (ids.length > 0) switches.write({ kind: 'reached', ids });
    const suspect = switches.suspects.get(name);
    const open = [...switches.evaluated].filter((id) => switches.open.has(id) && id !== suspect?.id);
    // A suspect is confirmed by two successful runs without it in a new process.
    if (suspect) this.#plan.push({ checking: suspect.id, error: suspect.hung ? TIMED_OUT : 'and never passes again' });
    this.#plan.push(...open.map((mutant) => ({ mutant })));
  }

  async #learn(step: Step, test: Test, error: string | null): Promise<void> {
    const name = nameOf(test);
    if ('mutant' in step) {
      if (error !== null) this.#plan.unshift({ checking: step.mutant, error });
    } else if (error === null) {
      switches.write({ kind: 'killed', id: step.checking, test: name, error: step.error });
    } else if (switches.suspects.has(name)) {
      switches.write({ kind: 'excluded', test: name, error: `not repeatable: ${error}` });
      this.#plan = [];
    } else {
      switches.write({ kind: 'suspect', id: step.checking, test: name, hung: false });
      // `switching.ts` replaces this process.
      await sleep(NO_LIMIT);
    }
  }
}

/** Runs a test, and fails when it takes too long. Its pending waits are abandoned and do not block the next run. */
async function within(limitMs: number, body: () => unknown): Promise<void> {
  const ended = new AbortController();
  const limit = sleep(limitMs, null, { signal: ended.signal }).then(() => Promise.reject(new Error(TIMED_OUT)));
  try {
    await Promise.race([body(), limit]);
  } finally {
    limit.catch(() => {});
    ended.abort();
  }
}

/** Adds the mutants that were just evaluated to a set and returns those that are new in it. */
function addTo(known: Set<number>): number[] {
  const ids = [...switches.evaluated].filter((id) => !known.has(id));
  for (const id of ids) known.add(id);
  return ids;
}

/** Notes what was evaluated outside of tests: while files were loaded, and in hooks of suites. */
function noteLoaded(): void {
  const ids = addTo(switches.loaded);
  if (ids.length > 0) switches.write({ kind: 'loaded', ids });
  switches.evaluated.clear();
}

/** The name is unique, as two tests may have the same title. */
function nameOf(test: Test): string {
  const names = [test.name];
  for (let { suite } = test; suite; suite = suite.suite) names.unshift(suite.name);
  return `${test.id} ${names.join(' > ')}`;
}

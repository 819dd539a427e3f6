/** Blame for the built-in snapshot: compares the run's own fields and the one step an event speaks of, before and after it. */
import type { Blame } from '../contracts/projections.ts';
import type { RunEventRecord } from '../contracts/run-events.ts';
import type { RunSnapshot } from '../contracts/run-state.ts';
import type { RunReadOptions, RunStore } from '../contracts/runs.ts';
import { RunFold } from '../runs/reducer.ts';
import { runNotFound } from '../runs/view.ts';
import { pointer } from './blame.ts';
import { isContainer, memberOf } from './copy.ts';
import { readTail } from './tail.ts';

/** Fields that say how the snapshot was made, not what the run did. */
const NOT_OF_EVENTS = new Set(['projectedAt', 'version', 'freshness', 'lastEventSeq']);
/** The event that made the run made what nothing wrote since. */
const FIRST = 1;

/**
 * Which event last wrote each path of a run's snapshot.
 *
 * @example
 * (await blameRun(store, 'order-42'))['/steps/0/status']; // 3: event 3 completed the first step
 */
export async function blameRun(
  store: { readonly runs: Pick<RunStore, 'fetchEvents'> },
  runId: string,
  options: RunReadOptions & { atSeq?: number } = {},
): Promise<Blame> {
  const blamed = new RunBlame();
  await readTail(store.runs, runId, 0, options, (event) => blamed.apply(event));
  const blame = blamed.blame();
  if (!blame) throw runNotFound(runId);
  return blame;
}

type Fields = Record<string, unknown>;

class RunBlame {
  readonly #fold = new RunFold();
  readonly #marks: Blame = {};
  readonly #stepAt = new Map<string, number>();
  /** The fields of the run, and of each step by its path, as they were. */
  readonly #before = new Map<string, Fields>();
  /** How long the lists were, by their paths. */
  readonly #lengths = new Map<string, number>();

  apply(event: RunEventRecord): void {
    this.#fold.apply(event);
    const { steps, artifacts, violations, ...fields } = this.#fold.state!;
    this.#compare('', fields, event.runSeq);
    this.#grow('/artifacts', artifacts.length, event.runSeq);
    this.#grow('/violations', violations.length, event.runSeq);
    this.#compareStep(steps, event);
  }

  #compareStep(steps: RunSnapshot['steps'], { stepId, runSeq }: RunEventRecord): void {
    if (stepId === undefined) return;
    const at = this.#stepAt.get(stepId) ?? steps.length - 1;
    if (steps[at]?.stepId !== stepId) return;
    this.#stepAt.set(stepId, at);
    const { artifacts, ...fields } = steps[at];
    const path = `/steps/${at}`;
    if (!this.#before.has(path)) this.#marks[path] = runSeq;
    this.#compare(path, fields, runSeq);
    this.#grow(`${path}/artifacts`, artifacts.length, runSeq);
  }

  #grow(path: string, length: number, seq: number): void {
    for (let at = this.#lengths.get(path) ?? 0; at < length; at++) this.#marks[`${path}/${at}`] = seq;
    this.#lengths.set(path, length);
  }

  #compare(path: string, after: Fields, seq: number): void {
    const before = this.#before.get(path) ?? {};
    for (const key of Object.keys(after)) if (before[key] !== after[key]) this.#marks[pointer(path, key)] = seq;
    // Steps are changed in place.
    this.#before.set(path, { ...after });
  }

  blame(): Blame | null {
    if (!this.#fold.state) return null;
    const blame: Blame = {};
    for (const [key, value] of Object.entries(this.#fold.state))
      if (!NOT_OF_EVENTS.has(key)) this.#visit(value, pointer('', key), FIRST, blame);
    return blame;
  }

  #visit(value: unknown, path: string, seq: number, blame: Blame): void {
    const at = Math.max(seq, this.#marks[path] ?? 0);
    if (!isContainer(value) || Object.keys(value).length === 0) {
      blame[path] = at;
      return;
    }
    for (const key of Object.keys(value)) this.#visit(memberOf(value, key), pointer(path, key), at, blame);
  }
}

/** Blame for the built-in snapshot: compares the run's fields and the event's step before and after each event. */
import type { Blame } from '../contracts/projections.ts';
import type { RunEventRecord } from '../contracts/run-events.ts';
import type { RunSnapshot } from '../contracts/run-state.ts';
import type { RunReadOptions, RunStore } from '../contracts/runs.ts';
import { RunFold } from '../runs/reducer.ts';
import { runNotFound } from '../runs/view.ts';
import { pointer } from './blame.ts';
import { isContainer, memberOf } from './copy.ts';
import { readTail } from './tail.ts';

/** Fields that describe the snapshot and not the run. */
const NOT_OF_EVENTS = new Set(['projectedAt', 'version', 'freshness', 'lastEventSeq']);
/** Paths that were never written later are blamed on the first event. */
const FIRST = 1;

/**
 * Returns the sequence of the event that last wrote each path of a run's snapshot. Paths are JSON Pointers. With
 * `atSeq`, the snapshot as of that event.
 *
 * @throws `RUN_NOT_FOUND` for an unknown run, `INVALID_ARGUMENT` when `atSeq` is above the last sequence of the run.
 *
 * @example
 * const run = store.runs.handle('order-42');
 * await run.append('RunStarted');
 * await run.append('StepStarted', {}, { stepId: 'charge' });
 * await run.append('StepCompleted', {}, { stepId: 'charge' });
 * const blame = await blameRun(store, 'order-42');
 * console.log(blame['/steps/0/status']); // 3
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
  readonly #lastWrites: Blame = {};
  readonly #stepAt = new Map<string, number>();
  /** The fields of the run and of each step before the current event, by path. */
  readonly #before = new Map<string, Fields>();
  /** The lengths of the lists before the current event, by path. */
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
    if (!this.#before.has(path)) this.#lastWrites[path] = runSeq;
    this.#compare(path, fields, runSeq);
    this.#grow(`${path}/artifacts`, artifacts.length, runSeq);
  }

  #grow(path: string, length: number, seq: number): void {
    for (let at = this.#lengths.get(path) ?? 0; at < length; at++) this.#lastWrites[`${path}/${at}`] = seq;
    this.#lengths.set(path, length);
  }

  #compare(path: string, after: Fields, seq: number): void {
    const before = this.#before.get(path) ?? {};
    for (const key of Object.keys(after)) if (before[key] !== after[key]) this.#lastWrites[pointer(path, key)] = seq;
    // Copied, because the fold changes steps in place.
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
    const at = Math.max(seq, this.#lastWrites[path] ?? 0);
    if (!isContainer(value) || Object.keys(value).length === 0) {
      blame[path] = at;
      return;
    }
    for (const key of Object.keys(value)) this.#visit(memberOf(value, key), pointer(path, key), at, blame);
  }
}

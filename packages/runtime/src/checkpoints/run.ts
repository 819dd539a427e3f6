/**
 * A run of checkpoints. Each checkpoint is one append, whose fence is the last event that was read. It appends events
 * with the points that have changed since the previous checkpoint, then the signed checkpoint.
 */
import type { KeyObject } from 'node:crypto';
import { isTidemarkError, type RunEventInput, type RunEventRecord, type Store, TidemarkError } from '@tidemark/core';
import type { Checkpoint, RunPoint } from './format.ts';
import { CheckpointLog, type CheckpointTarget, overtaken } from './log.ts';

const POINTS = 'CheckpointPoints';
const SIGNED = 'CheckpointSigned';
/** Few enough for the payload limit of every engine, because an id has at most a few hundred bytes. */
const POINTS_PER_EVENT = 100;
const MAX_EVENTS = 1_000;

/** The run that checkpoints are appended to. */
export interface CheckpointRun {
  /** The store of the run. Clients that can write to the compared store must not be able to change this store. */
  store: Store;
  runId: string;
}

export class CheckpointsInRun implements CheckpointTarget {
  readonly name: string;
  readonly #store: Store;
  readonly #runId: string;
  #lastSeq = 0;

  constructor({ store, runId }: CheckpointRun) {
    this.name = `Run ${JSON.stringify(runId)}`;
    this.#store = store;
    this.#runId = runId;
  }

  async version(): Promise<string> {
    return String(await this.#store.runs.headSeq(this.#runId));
  }

  async read(key: KeyObject): Promise<CheckpointLog> {
    const log = new CheckpointLog(this.name);
    this.#lastSeq = 0;
    let changed: RunPoint[] = [];
    for await (const event of this.#store.runs.readEvents(this.#runId)) {
      this.#lastSeq = event.runSeq;
      if (event.eventType === POINTS) changed.push(...pointsOf(event, log));
      else if (event.eventType === SIGNED) {
        log.add(checkpointOf(event, log), changed, key);
        changed = [];
      } else throw log.damaged(`event ${event.runSeq} is of another type`);
    }
    return log;
  }

  async append(checkpoint: Checkpoint, changed: readonly RunPoint[]): Promise<void> {
    const { runs } = this.#store;
    const ofNumber = (eventType: string, part: number, payload: object): RunEventInput => {
      const idempotencyKey = `checkpoint ${checkpoint.number} ${checkpoint.signature} ${part}`;
      return { runId: this.#runId, eventType, idempotencyKey, payload: { ...payload } };
    };
    const events: RunEventInput[] = [];
    for (let at = 0; at < changed.length; at += POINTS_PER_EVENT)
      events.push(ofNumber(POINTS, events.length, { points: changed.slice(at, at + POINTS_PER_EVENT) }));
    events.push(ofNumber(SIGNED, events.length, { checkpoint }));
    if (events.length > MAX_EVENTS)
      throw new TidemarkError(
        'UNSUPPORTED',
        `A run takes at most ${MAX_EVENTS * POINTS_PER_EVENT} changed runs per checkpoint; use a file`,
      );
    try {
      await runs.appendEvents(events, { expectedSeq: this.#lastSeq });
    } catch (error) {
      throw isTidemarkError(error, 'SEQ_CONFLICT') ? overtaken(this.name, checkpoint) : error;
    }
  }
}

function pointsOf({ payload, runSeq }: RunEventRecord, log: CheckpointLog): RunPoint[] {
  const { points } = (payload ?? {}) as { points?: RunPoint[] };
  if (!Array.isArray(points)) throw log.damaged(`event ${runSeq} has lost its points`);
  return points;
}

function checkpointOf({ payload, runSeq }: RunEventRecord, log: CheckpointLog): Checkpoint {
  const { checkpoint } = (payload ?? {}) as { checkpoint?: Checkpoint };
  if (typeof checkpoint?.signature !== 'string') throw log.damaged(`event ${runSeq} has lost its checkpoint`);
  return checkpoint;
}

/** The fields that each move of a job writes (KV-7). Times are the engine's own, taken in the same step. */
import type { RecordWrite } from '../engine/records.ts';
import { fieldsOf } from '../tools/record-fields.ts';
import { isHeld, type JobMoveName, targetOf } from './states.ts';
import type { ParkTime } from './times.ts';

/** The part of a conditional step that is applied when its conditions hold. */
export type Move = Pick<RecordWrite, 'set' | 'stamps' | 'ttlMs'>;

type Values = Record<string, string | number | null>;

/** A job that is not held by a worker has no claim and no lease. */
const NO_CLAIM = { claim_id: null, timeout_at: null };
/** Records of unfinished jobs never expire (KV-9). */
const NO_TTL = null;

interface NewHolder {
  worker: string;
  claimId: string;
  leaseMs: number;
}

export function claimed(by: NewHolder): Move {
  return hold('claim', by, {});
}

/** A claimer takes the job from a worker whose lease has expired. Counts a retry, like a sweep. */
export function takenOver(by: NewHolder, retryCount: number): Move {
  return hold('takeOver', by, { retry_count: retryCount });
}

export function renewed(leaseMs: number): Move {
  return move('heartbeat', {}, { timeout_at: leaseMs });
}

export function advanced(step: { currentStep: number; stepCount?: number }, leaseMs: number): Move {
  const values: Values = { current_step: step.currentStep };
  if (step.stepCount !== undefined) values.step_count = step.stepCount;
  return move('advance', values, { timeout_at: leaseMs });
}

export function completed(claimId: string, resultRef: string | null, ttlMs: number | null): Move {
  const values: Values = { ended_by: claimId, error: null };
  if (resultRef !== null) values.result_ref = resultRef;
  return move('complete', values, undefined, ttlMs);
}

/** A worker returns the job for a retry. */
export function sentBack(claimId: string, error: string, retryCount: number, delayMs: number | null): Move {
  return ready('sendBack', { retry_count: retryCount, ended_by: claimId, error }, delayMs);
}

/** A worker returns the job until a time, or for a delay, without counting a retry. */
export function parked(claimId: string, when: ParkTime): Move {
  if ('delayMs' in when) return ready('park', { parked_by: claimId }, when.delayMs);
  return ready('park', { parked_by: claimId, run_at: when.untilMs }, null);
}

/** A worker fails the job permanently. */
export function failed(claimId: string, error: string, ttlMs: number | null): Move {
  return move('fail', { ended_by: claimId, error }, undefined, ttlMs);
}

export function cancelled(ttlMs: number | null): Move {
  return move('cancel', { run_at: null }, undefined, ttlMs);
}

export function requeued(delayMs: number | null): Move {
  return ready('requeue', { retry_count: 0, error: null, unannounced: null }, delayMs);
}

/** A sweep takes the job back from a worker that stopped updating it. */
export function takenBack(retryCount: number): Move {
  return ready('takeBack', { retry_count: retryCount }, null);
}

/** A claim returns a job that it cannot use. Counts no retry. */
export function givenBack(): Move {
  return ready('takeBack', {}, null);
}

/** A sweep fails the job because it has no retries left. */
export function givenUp(error: string): Move {
  return move('giveUp', { error, unannounced: 'true' });
}

/** A delayed job is due. */
export function released(): Move {
  return move('release', { run_at: null });
}

/** A delayed job becomes ready before its time. */
export function woken(): Move {
  return move('wake', { run_at: null });
}

/** The job keeps its state; it is only announced again. */
export function signalled(): Move {
  return move('signal', {});
}

function hold(name: JobMoveName, { worker, claimId, leaseMs }: NewHolder, values: Values): Move {
  const held = { worker, claim_id: claimId, run_at: null, ...values };
  return move(name, held, { timeout_at: leaseMs }, NO_TTL);
}

function ready(name: JobMoveName, values: Values, delayMs: number | null): Move {
  const stamps: Record<string, number> = delayMs === null ? {} : { run_at: delayMs };
  return move(name, { worker: null, run_at: null, ...values }, stamps, NO_TTL);
}

function move(name: JobMoveName, values: Values, stamps?: Record<string, number>, ttlMs?: number | null): Move {
  const state = targetOf(name);
  const moved = state === undefined ? values : { state, ...(isHeld(state) ? {} : NO_CLAIM), ...values };
  return { set: fieldsOf(moved), stamps: stamps ? stampsOf(stamps) : ONLY_UPDATED, ttlMs };
}

const ONLY_UPDATED: ReadonlyMap<string, number> = new Map([['updated_at', 0]]);

function stampsOf(stamps: Record<string, number>): Map<string, number> {
  const all = new Map(ONLY_UPDATED);
  for (const field in stamps) all.set(field, stamps[field]!);
  return all;
}

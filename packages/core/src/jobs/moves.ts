/** What each move of a job writes into its record (KV-7). Times are the engine's own, taken in the step itself. */
import type { RecordWrite } from '../engine/records.ts';
import { fieldsOf } from '../tools/record-fields.ts';
import { isHeld, type JobMoveName, targetOf } from './states.ts';

/** The part of a conditional step that is written when its conditions hold. */
export type Move = Pick<RecordWrite, 'set' | 'stamps' | 'ttlMs'>;

type Values = Record<string, string | number | null>;

/** A job that leaves its worker has neither claim nor lease. */
const LET_GO = { claim_id: null, timeout_at: null };
/** Only the end of a job lets its record expire (KV-9). */
const FOR_EVER = null;

export function claimed(by: { worker: string; claimId: string; leaseMs: number }): Move {
  const values = { worker: by.worker, claim_id: by.claimId, run_at: null };
  return move('claim', values, { timeout_at: by.leaseMs }, FOR_EVER);
}

export function alive(leaseMs: number): Move {
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
  return move('complete', values, {}, ttlMs);
}

/** A worker gives the job back, to be tried again. */
export function sentBack(claimId: string, error: string, retryCount: number, delayMs: number | null): Move {
  return ready('sendBack', { retry_count: retryCount, ended_by: claimId, error }, delayMs);
}

/** A worker has failed for good. */
export function failed(claimId: string, error: string, ttlMs: number | null): Move {
  return move('fail', { ended_by: claimId, error }, {}, ttlMs);
}

export function cancelled(ttlMs: number | null): Move {
  return move('cancel', { run_at: null }, {}, ttlMs);
}

export function requeued(delayMs: number | null): Move {
  return ready('requeue', { retry_count: 0, error: null, unannounced: null }, delayMs);
}

/** A sweep takes the job from a worker that gave no sign of life. */
export function takenBack(retryCount: number): Move {
  return ready('takeBack', { retry_count: retryCount }, null);
}

/** A sweep gives the job up. */
export function givenUp(error: string): Move {
  return move('giveUp', { error, unannounced: 'true' });
}

/** The time of a delayed job has come. */
export function released(): Move {
  return move('release', { run_at: null });
}

/** The job is as it was, and somebody will be told again. */
export function signalled(): Move {
  return move('signal', {});
}

function ready(name: JobMoveName, values: Values, delayMs: number | null): Move {
  const stamps: Record<string, number> = delayMs === null ? {} : { run_at: delayMs };
  return move(name, { worker: null, run_at: null, ...values }, stamps, FOR_EVER);
}

function move(name: JobMoveName, values: Values, stamps: Record<string, number> = {}, ttlMs?: number | null): Move {
  const state = targetOf(name);
  const moved = state === undefined ? values : { state, ...(isHeld(state) ? {} : LET_GO), ...values };
  return { set: fieldsOf(moved), stamps: new Map(Object.entries({ updated_at: 0, ...stamps })), ttlMs };
}

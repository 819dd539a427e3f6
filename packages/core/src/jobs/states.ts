/**
 * The job machine: every move with the states it leaves and the state it leads to (KV-7). Conditions of the calls, terminal
 * states and the index follow from this table.
 */
import { TidemarkError } from '../contracts/errors.ts';
import { JOB_STATES, type JobState } from '../contracts/jobs.ts';

interface JobMove {
  from: readonly JobState[];
  /** Absent: the job keeps its state. */
  to?: JobState;
  /** Brings an ended job back, on purpose. */
  revives?: true;
}

/** In these a worker has claimed the job, and its record carries claim and lease. */
export const HELD_STATES = ['claimed', 'running'] as const satisfies readonly JobState[];

export const JOB_MOVES = {
  claim: { from: ['pending'], to: 'claimed' },
  heartbeat: { from: HELD_STATES },
  advance: { from: HELD_STATES, to: 'running' },
  complete: { from: HELD_STATES, to: 'completed' },
  sendBack: { from: HELD_STATES, to: 'pending' },
  fail: { from: HELD_STATES, to: 'failed' },
  takeBack: { from: HELD_STATES, to: 'pending' },
  giveUp: { from: HELD_STATES, to: 'failed' },
  release: { from: ['pending'] },
  signal: { from: ['pending'] },
  announce: { from: ['failed'] },
  cancel: { from: ['pending', ...HELD_STATES], to: 'cancelled' },
  requeue: { from: ['failed', 'cancelled'], to: 'pending', revives: true },
} as const satisfies Record<string, JobMove>;

export type JobMoveName = keyof typeof JOB_MOVES;

/** Returns where a move leads; `undefined` for a move that keeps the state. */
export function targetOf(name: JobMoveName): JobState | undefined {
  const move: JobMove = JOB_MOVES[name];
  return move.to;
}

/** Whether a job may make the move from a state. */
export function mayMove(state: JobState, name: JobMoveName): boolean {
  const { from }: JobMove = JOB_MOVES[name];
  return from.includes(state);
}

/** Whether a text is a state of jobs. */
export function isJobState(text: string | null): text is JobState {
  return text !== null && (JOB_STATES as readonly string[]).includes(text);
}

/** Whether a worker has claimed a job of this state. */
export function isHeld(state: JobState | null): boolean {
  return state !== null && (HELD_STATES as readonly JobState[]).includes(state);
}

const TERMINAL = new Set(
  JOB_STATES.filter((state) =>
    Object.values<JobMove>(JOB_MOVES).every(
      ({ from, to, revives }) => to === undefined || revives || !from.includes(state),
    ),
  ),
);

/** Whether a state is final: a job leaves it only by being requeued on purpose. */
export function isTerminal(state: JobState): boolean {
  return TERMINAL.has(state);
}

/** Tells a worker that its claim is not the job's current one: it lost its lease and has changed nothing. */
export function claimLost(state: JobState | null): TidemarkError {
  const now = state === null ? 'There is no such job' : `The job is ${state} and no longer belongs to this claim`;
  return new TidemarkError('CLAIM_LOST', `${now}; stop working on it`, {
    field: 'claimId',
    rule: 'the current claim of the job',
    current: state,
  });
}

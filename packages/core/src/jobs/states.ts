/**
 * The job state machine: every move with its source states and its target state (KV-7). The conditions of the calls,
 * the terminal states and the index derive from this table.
 */
import { TidemarkError } from '../contracts/errors.ts';
import { JOB_STATES, type JobState } from '../contracts/jobs.ts';

interface JobMove {
  from: readonly JobState[];
  /** Absent when the job keeps its state. */
  to?: JobState;
  /** Returns an ended job to `pending` on request. */
  revives?: true;
}

/** States in which a worker has claimed the job; its record has a claim and a lease. */
export const HELD_STATES = ['claimed', 'running'] as const satisfies readonly JobState[];

export const JOB_MOVES = {
  claim: { from: ['pending'], to: 'claimed' },
  heartbeat: { from: HELD_STATES },
  advance: { from: HELD_STATES, to: 'running' },
  complete: { from: HELD_STATES, to: 'completed' },
  sendBack: { from: HELD_STATES, to: 'pending' },
  park: { from: HELD_STATES, to: 'pending' },
  fail: { from: HELD_STATES, to: 'failed' },
  takeBack: { from: HELD_STATES, to: 'pending' },
  giveUp: { from: HELD_STATES, to: 'failed' },
  takeOver: { from: HELD_STATES, to: 'claimed' },
  release: { from: ['pending'] },
  wake: { from: ['pending'] },
  signal: { from: ['pending'] },
  announce: { from: ['failed'] },
  // Written without a spread, because bundlers would otherwise keep the table, which clients do not use.
  cancel: { from: ['pending', 'claimed', 'running'], to: 'cancelled' },
  requeue: { from: ['failed', 'cancelled'], to: 'pending', revives: true },
} as const satisfies Record<string, JobMove>;

export type JobMoveName = keyof typeof JOB_MOVES;

/** Returns a move's target state, or `undefined` for a move that keeps the state. */
export function targetOf(name: JobMoveName): JobState | undefined {
  const move: JobMove = JOB_MOVES[name];
  return move.to;
}

/** Whether a job in this state may make the move. */
export function mayMove(state: JobState, name: JobMoveName): boolean {
  const { from }: JobMove = JOB_MOVES[name];
  return from.includes(state);
}

/** Whether a string is a job state. */
export function isJobState(text: string | null): text is JobState {
  return text !== null && (JOB_STATES as readonly string[]).includes(text);
}

/** Whether a job in this state is claimed by a worker. */
export function isHeld(state: JobState | null): boolean {
  return state !== null && (HELD_STATES as readonly JobState[]).includes(state);
}

const TERMINAL = /* @__PURE__ */ terminalStates();

function terminalStates(): ReadonlySet<JobState> {
  const isFinal = (state: JobState) =>
    Object.values<JobMove>(JOB_MOVES).every(
      ({ from, to, revives }) => to === undefined || revives || !from.includes(state),
    );
  return new Set(JOB_STATES.filter(isFinal));
}

/** Whether a state is final: only an explicit requeue leaves it. */
export function isTerminal(state: JobState): boolean {
  return TERMINAL.has(state);
}

/** The error for a worker whose claim is not the job's current one: it lost its lease and changed nothing. */
export function claimLost(state: JobState | null): TidemarkError {
  const now = state === null ? 'There is no such job' : `The job is ${state} and no longer belongs to this claim`;
  return new TidemarkError('CLAIM_LOST', `${now}; stop working on it`, {
    field: 'claimId',
    rule: 'the current claim of the job',
    current: state,
  });
}

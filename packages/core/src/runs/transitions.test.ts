/** Every event type in every state of a run and of a step (RUN-11), with the reason that a violation names. */
import { expect, it } from 'vitest';
import { RUN_STATUSES, type RunStatus, type StepStatus } from '../contracts/run-state.ts';
import { runTransition, stepTransition } from './transitions.ts';

const RUN_STATES: (RunStatus | null)[] = [null, ...RUN_STATUSES];

const RUN_MOVES: Record<string, string[]> = {
  RunQueued: ['null PENDING'],
  RunStarted: ['null RUNNING', 'PENDING RUNNING'],
  RunPaused: ['RUNNING PAUSED'],
  RunResumed: ['PAUSED RUNNING'],
  RunCompleted: ['RUNNING COMPLETED'],
  RunFailed: ['PENDING FAILED', 'RUNNING FAILED', 'PAUSED FAILED'],
  RunCancelled: ['PENDING CANCELLED', 'RUNNING CANCELLED', 'PAUSED CANCELLED'],
};

it.each(Object.keys(RUN_MOVES))(
  '%s is allowed in the states of the table and refused with the state in others',
  (type) => {
    const found = RUN_STATES.map((from) => ({ from, ...runTransition(from, type) }));
    expect(found.filter(({ to }) => to).map(({ from, to }) => `${from} ${to}`)).toEqual(RUN_MOVES[type]);
    for (const { from, to, reason } of found)
      if (to === undefined) expect(reason).toBe(from === null ? 'the run has not started' : `the run is ${from}`);
  },
);

const STEP_STATES: (StepStatus | undefined)[] = [undefined, 'RUNNING', 'SUCCESS', 'FAILED', 'SKIPPED'];
/** The attempt of the step, if there is one. The event belongs to attempt 1, 2 or 3. */
const ATTEMPT = 2;

const movesOf = (eventType: string, attempt = ATTEMPT) =>
  RUN_STATES.flatMap((run) =>
    STEP_STATES.map((status) => {
      const step = status && { status, logicalAttemptId: ATTEMPT };
      const { to, reason } = stepTransition(run, step, { eventType, logicalAttemptId: attempt });
      return { run, status, to, reason };
    }),
  );
const allowed = (moves: ReturnType<typeof movesOf>) =>
  moves.filter(({ to }) => to).map(({ run, status, to }) => `${run} ${status} ${to}`);

it('a step starts in a running run, again only after a failure and as a later attempt', () => {
  expect(allowed(movesOf('StepStarted'))).toEqual(['RUNNING undefined RUNNING']);
  expect(allowed(movesOf('StepStarted', 1))).toEqual(['RUNNING undefined RUNNING']);
  expect(allowed(movesOf('StepStarted', 3))).toEqual(['RUNNING undefined RUNNING', 'RUNNING FAILED RUNNING']);
  const reasons = movesOf('StepStarted').filter(({ run }) => run === 'RUNNING');
  expect(reasons.map(({ reason }) => reason)).toEqual([
    ...[
      undefined,
      'the step is RUNNING',
      'the step is SUCCESS',
      'attempt 2 is not later than 2',
      'the step is SKIPPED',
    ],
  ]);
});

it.each([
  ['StepCompleted', 'SUCCESS'],
  ['StepFailed', 'FAILED'],
])('%s ends a running step of a run that is running or paused', (type, to) => {
  const moves = movesOf(type);
  expect(allowed(moves)).toEqual(expect.arrayContaining([`RUNNING RUNNING ${to}`, `PAUSED RUNNING ${to}`]));
  expect(allowed(moves)).toHaveLength(2);
  for (const { run, status, reason } of moves) {
    if (run === null) expect(reason).toBe('the run has not started');
    else if (run !== 'RUNNING' && run !== 'PAUSED') expect(reason).toBe(`the run is ${run}`);
    else if (status === undefined) expect(reason).toBe('the step has not started');
    else if (status !== 'RUNNING') expect(reason).toBe(`the step is ${status}`);
  }
});

it('a step can be skipped in any run, unless it has begun', () => {
  const moves = movesOf('StepSkipped');
  expect(allowed(moves)).toEqual(RUN_STATES.map((run) => `${run} undefined SKIPPED`));
  for (const { status, reason } of moves) if (status) expect(reason).toBe(`the step is ${status}`);
});

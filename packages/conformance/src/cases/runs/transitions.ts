/** Every transition of the table, allowed or not, as shown by a snapshot (RUN-11). */
import type { RunStatus, StepStatus } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { appendTypes, runEvent } from './events.ts';

/** The event types that bring a run into each state. */
const PATH_TO: Record<RunStatus | 'nothing', readonly string[]> = {
  nothing: ['Progress'],
  PENDING: ['RunQueued'],
  RUNNING: ['RunStarted'],
  PAUSED: ['RunStarted', 'RunPaused'],
  COMPLETED: ['RunStarted', 'RunCompleted'],
  FAILED: ['RunStarted', 'RunFailed'],
  CANCELLED: ['RunStarted', 'RunCancelled'],
};

/** The states in which each run event type is allowed, and the state it leads to. */
const RUN_TABLE: Record<string, { from: readonly (RunStatus | 'nothing')[]; to: RunStatus }> = {
  RunQueued: { from: ['nothing'], to: 'PENDING' },
  RunStarted: { from: ['nothing', 'PENDING'], to: 'RUNNING' },
  RunPaused: { from: ['RUNNING'], to: 'PAUSED' },
  RunResumed: { from: ['PAUSED'], to: 'RUNNING' },
  RunCompleted: { from: ['RUNNING'], to: 'COMPLETED' },
  RunFailed: { from: ['PENDING', 'RUNNING', 'PAUSED'], to: 'FAILED' },
  RunCancelled: { from: ['PENDING', 'RUNNING', 'PAUSED'], to: 'CANCELLED' },
};

/** The event types that bring a step of a running run into each state. */
const STEP_PATH_TO: Record<StepStatus | 'nothing', readonly string[]> = {
  nothing: [],
  PENDING: [],
  RUNNING: ['StepStarted'],
  SUCCESS: ['StepStarted', 'StepCompleted'],
  FAILED: ['StepStarted', 'StepFailed'],
  SKIPPED: ['StepSkipped'],
};

const STEP_TABLE: Record<string, { from: readonly (StepStatus | 'nothing')[]; to: StepStatus }> = {
  StepStarted: { from: ['nothing'], to: 'RUNNING' },
  StepCompleted: { from: ['RUNNING'], to: 'SUCCESS' },
  StepFailed: { from: ['RUNNING'], to: 'FAILED' },
  StepSkipped: { from: ['nothing'], to: 'SKIPPED' },
};

/** Returns the status of a run, which must be consistent or have exactly one violation. */
async function statusAfter(bench: Bench, runId: string, allowed: boolean, what: string) {
  const snapshot = await bench.tenant.runs.projectSnapshot(runId);
  expectEqual(
    snapshot.consistency,
    allowed ? 'CONSISTENT' : 'INCONSISTENT',
    `${what} is ${allowed ? 'allowed' : 'invalid'}`,
  );
  expectEqual(snapshot.violations.length, allowed ? 0 : 1, 'exactly the offending event is named');
  expectEqual(snapshot.lastEventSeq, await bench.tenant.runs.headSeq(runId), 'lastEventSeq advances in any case');
  return snapshot;
}

export const TRANSITION_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/run-transitions',
    title: 'each run event type moves a run exactly as specified in the table, from every state',
    proves: ['RUN-11'],
    async run(bench) {
      for (const [state, path] of Object.entries(PATH_TO)) {
        for (const [eventType, rule] of Object.entries(RUN_TABLE)) {
          const runId = bench.id('run');
          await appendTypes(bench, runId, ...path, eventType);
          const allowed = rule.from.includes(state as RunStatus);
          const snapshot = await statusAfter(bench, runId, allowed, `${eventType} of a run that is ${state}`);
          const expected = allowed ? rule.to : state === 'nothing' ? 'PENDING' : state;
          expectEqual(snapshot.status, expected as RunStatus, `${eventType} from ${state} leaves the run ${expected}`);
        }
      }
    },
  }),
  runsCase({
    id: 'runs/step-transitions',
    title: 'each step event type moves a step of a running run exactly as specified in the table',
    proves: ['RUN-11'],
    async run(bench) {
      for (const state of ['nothing', 'RUNNING', 'SUCCESS', 'FAILED', 'SKIPPED'] as const) {
        for (const [eventType, rule] of Object.entries(STEP_TABLE)) {
          const runId = bench.id('run');
          await appendTypes(bench, runId, 'RunStarted', ...STEP_PATH_TO[state], eventType);
          const allowed = rule.from.includes(state);
          const { steps } = await statusAfter(bench, runId, allowed, `${eventType} of a step that is ${state}`);
          const expected = allowed ? rule.to : state === 'nothing' ? undefined : state;
          expectEqual(
            steps[0]?.status,
            expected,
            `${eventType} from ${state} leaves the step ${expected ?? 'unknown'}`,
          );
        }
      }
    },
  }),
  runsCase({
    id: 'runs/steps-need-a-live-run',
    title: 'steps start only while the run is running, and end while it is running or paused',
    proves: ['RUN-11'],
    async run(bench) {
      const tries: [path: readonly string[], eventType: string, allowed: boolean][] = [
        [PATH_TO.nothing, 'StepStarted', false],
        [PATH_TO.PENDING, 'StepStarted', false],
        [PATH_TO.PAUSED, 'StepStarted', false],
        [PATH_TO.COMPLETED, 'StepStarted', false],
        [['RunStarted', 'StepStarted', 'RunPaused'], 'StepCompleted', true],
        [['RunStarted', 'StepStarted', 'RunPaused'], 'StepFailed', true],
        [['RunStarted', 'StepStarted', 'RunCancelled'], 'StepCompleted', false],
        [['RunStarted', 'StepStarted', 'RunFailed'], 'StepFailed', false],
        [PATH_TO.PENDING, 'StepSkipped', true],
      ];
      for (const [path, eventType, allowed] of tries) {
        const runId = bench.id('run');
        await appendTypes(bench, runId, ...path, eventType);
        await statusAfter(bench, runId, allowed, `${eventType} after ${path.join(', ')}`);
      }
    },
  }),
  runsCase({
    id: 'runs/failed-steps-retry-with-a-higher-attempt',
    title: 'a failed step starts again only with a higher logicalAttemptId',
    proves: ['RUN-11', '004 §3.3'],
    async run(bench) {
      for (const [attempt, allowed] of [
        [2, true],
        [5, true],
        [1, false],
      ] as const) {
        const runId = bench.id('run');
        await appendTypes(bench, runId, 'RunStarted', 'StepStarted', 'StepFailed');
        const retry = runEvent(bench, { runId, eventType: 'StepStarted', logicalAttemptId: attempt });
        await bench.tenant.runs.appendEvent(retry);
        const { steps } = await statusAfter(bench, runId, allowed, `attempt ${attempt} after attempt 1 failed`);
        expectEqual(
          [steps[0]?.status, steps[0]?.logicalAttemptId],
          allowed ? ['RUNNING', attempt] : ['FAILED', 1],
          'the step shows the new attempt',
        );
        if (allowed)
          expectEqual([steps[0]?.error, steps[0]?.completedAt], [undefined, undefined], 'a new attempt starts clean');
      }
    },
  }),
  runsCase({
    id: 'runs/violations-name-the-event',
    title: 'an invalid transition is stored, changes no state and is listed in the snapshot',
    proves: ['RUN-11'],
    async run(bench) {
      const runId = bench.id('run');
      await appendTypes(bench, runId, 'RunStarted');
      const bad = runEvent(bench, { runId, eventType: 'StepCompleted', stepId: 'never-started' });
      const { persisted, runSeq } = await bench.tenant.runs.appendEvent(bad);
      expect(persisted, 'the invalid event is stored');
      const { violations, status, steps } = await bench.tenant.runs.projectSnapshot(runId);
      expectEqual([status, steps], ['RUNNING', []], 'no state changed');
      const [violation] = violations;
      expectEqual(
        [violation?.runSeq, violation?.eventId, violation?.eventType, violation?.stepId],
        [runSeq, bad.eventId, 'StepCompleted', 'never-started'],
        'the snapshot names the offending event',
      );
      expect(violation?.reason, 'the violation has a reason');
      await bench.tenant.runs.appendEvent(bad);
      await appendTypes(bench, runId, 'RunCompleted');
      const after = await bench.tenant.runs.projectSnapshot(runId);
      expectEqual(
        [after.status, after.violations.length],
        ['COMPLETED', 1],
        'the run continues, and the violation is reported once',
      );
    },
  }),
  runsCase({
    id: 'runs/unknown-types-change-nothing',
    title: 'unknown event types advance lastEventSeq and nothing else',
    proves: ['RUN-11', '001 §6'],
    async run(bench) {
      const runId = bench.id('run');
      await appendTypes(bench, runId, 'RunStarted', 'StepStarted');
      const before = await bench.tenant.runs.projectSnapshot(runId);
      const types = [
        'RunApproved',
        'SignalAccepted',
        'SignalRejected',
        'StepCorrected',
        'runcompleted',
        'constructor',
        '__proto__',
      ];
      const results = await appendTypes(bench, runId, ...types);
      const after = await bench.tenant.runs.projectSnapshot(runId);
      expectEqual(after.lastEventSeq, results.at(-1)!.runSeq, 'lastEventSeq advances');
      const { lastEventSeq, projectedAt, version, ...rest } = before;
      expectEqual({ ...after, ...rest }, after, 'everything else is unchanged and still consistent');
      const fresh = bench.id('run');
      await appendTypes(bench, fresh, 'Unknown');
      expectEqual(
        (await bench.tenant.runs.projectSnapshot(fresh)).status,
        'PENDING',
        'a run with only unknown types is pending',
      );
    },
  }),
  runsCase({
    id: 'runs/invalid-transitions-can-be-refused',
    title: 'with rejectInvalidTransitions an invalid event fails with INVALID_TRANSITION and nothing is written',
    proves: ['RUN-11'],
    async run(bench) {
      const runId = bench.id('run');
      const strict = { rejectInvalidTransitions: true };
      await bench.tenant.runs.appendEvent(runEvent(bench, { runId, eventType: 'RunStarted' }), strict);
      const head = await bench.tenant.runs.headSeq(runId);
      for (const eventType of ['RunResumed', 'StepCompleted', 'RunQueued']) {
        await expectCode('INVALID_TRANSITION', `${eventType} of a running run is refused`, () =>
          bench.tenant.runs.appendEvent(runEvent(bench, { runId, eventType }), strict),
        );
      }
      await expectCode('INVALID_TRANSITION', 'a batch is checked as a whole', () =>
        bench.tenant.runs.appendEvents(
          ['RunPaused', 'RunPaused'].map((eventType) => runEvent(bench, { runId, eventType })),
          strict,
        ),
      );
      expectEqual(await bench.tenant.runs.headSeq(runId), head, 'nothing was written');
      const batch = ['StepStarted', 'Progress', 'StepCompleted', 'RunCompleted'].map((eventType) =>
        runEvent(bench, { runId, eventType }),
      );
      const results = await bench.tenant.runs.appendEvents(batch, strict);
      expect(
        results.every((it) => it.persisted),
        'a batch of valid consecutive transitions is accepted',
      );
      expectEqual(
        (await bench.tenant.runs.appendEvents(batch, strict)).every((it) => it.idempotent),
        true,
        'its retry is a duplicate, not invalid',
      );
    },
  }),
];

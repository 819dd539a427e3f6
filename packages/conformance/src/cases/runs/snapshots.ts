/** Snapshots: their contents, when they are current, and past states (001 §5; RUN-10, RUN-12, RUN-13). */
import type { RunSnapshot } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { appendTypes, runEvent } from './events.ts';

/** Returns a snapshot without the fields that depend on when it was created. */
function stateOf({ projectedAt: _, version: __, ...state }: RunSnapshot): Omit<RunSnapshot, 'projectedAt' | 'version'> {
  return state;
}

function at(second: number): string {
  return `2026-02-16T09:30:${String(second).padStart(2, '0')}.000Z`;
}

export const SNAPSHOT_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/snapshot-of-a-whole-run',
    title: 'a snapshot has status, steps with attempts, times, artifacts, errors and the run’s scope',
    proves: ['RUN-10', '001 §5', '004 §2'],
    async run(bench) {
      const runId = bench.id('run');
      const file = { uri: 's3://bucket/a.csv', kind: 'csv', sizeBytes: 12 };
      const failure = { errorCode: 'E42', errorMessage: 'no disk', retryable: true };
      const events = [
        { eventType: 'RunQueued', emittedAt: at(0) },
        { eventType: 'RunStarted', emittedAt: at(1) },
        { eventType: 'StepStarted', stepId: 'b', emittedAt: at(2), engineAttemptId: 4 },
        { eventType: 'StepStarted', stepId: 'a', emittedAt: at(3) },
        {
          eventType: 'StepCompleted',
          stepId: 'b',
          emittedAt: at(5),
          engineAttemptId: 4,
          payload: { artifacts: [file] },
        },
        { eventType: 'StepFailed', stepId: 'a', emittedAt: at(6), payload: failure },
        { eventType: 'StepSkipped', stepId: 'c', emittedAt: at(7) },
        { eventType: 'RunFailed', emittedAt: at(9), payload: failure },
      ];
      await bench.tenant.runs.appendEvents(events.map((it) => runEvent(bench, { runId, ...it })));
      const snapshot = await bench.tenant.runs.projectSnapshot(runId);
      const scope = {
        tenantId: bench.tenantId,
        projectId: 'project',
        environmentId: 'test',
        planId: 'plan',
        planVersion: '1',
      };
      expectEqual({ ...snapshot, ...scope, runId }, snapshot, 'the snapshot names the run and its scope');
      expectEqual(
        [snapshot.status, snapshot.startedAt, snapshot.completedAt, snapshot.totalDurationMs],
        ['FAILED', at(1), at(9), 8_000],
        'status, start, end and duration are those of the producer’s events',
      );
      expectEqual(snapshot.error, { code: 'E42', message: 'no disk', retryable: true }, 'the snapshot has the failure');
      expectEqual(
        snapshot.steps.map((it) => [it.stepId, it.status]),
        [
          ['b', 'SUCCESS'],
          ['a', 'FAILED'],
          ['c', 'SKIPPED'],
        ],
        'steps in order of first appearance',
      );
      const [b, a] = snapshot.steps;
      expectEqual([b?.startedAt, b?.completedAt, b?.durationMs], [at(2), at(5), 3_000], 'steps have their times');
      expectEqual([b?.engineAttemptId, b?.logicalAttemptId], [4, 1], 'steps have both attempt ids');
      expectEqual(b?.artifacts, [file], 'steps have their artifacts');
      expectEqual(a?.error, { code: 'E42', message: 'no disk', retryable: true }, 'steps have their errors');
      expectEqual(snapshot.artifacts, [file], 'the run has all artifacts');
      expectEqual(
        [snapshot.consistency, snapshot.freshness],
        ['CONSISTENT', 'FRESH'],
        'the snapshot is consistent and fresh',
      );
      expectEqual(snapshot.lastEventSeq, await bench.tenant.runs.headSeq(runId), 'the snapshot has its last sequence');
      expect(
        !Number.isNaN(Date.parse(snapshot.projectedAt)) && Number.isSafeInteger(snapshot.version),
        'the snapshot has the time it was made',
      );
    },
  }),
  runsCase({
    id: 'runs/project-is-current',
    title: 'projectSnapshot is up to date as soon as the append is acknowledged',
    proves: ['RUN-13', '001 §5.1', '002 §5', '004 §2'],
    async run(bench) {
      const runId = bench.id('run');
      const peer = (await bench.peer()).forTenant(bench.tenantId);
      for (const [eventType, status] of [
        ['RunQueued', 'PENDING'],
        ['RunStarted', 'RUNNING'],
        ['RunPaused', 'PAUSED'],
        ['RunResumed', 'RUNNING'],
        ['RunCompleted', 'COMPLETED'],
      ] as const) {
        const [result] = await appendTypes(bench, runId, eventType);
        for (const store of [bench.tenant, peer]) {
          const snapshot = await store.runs.projectSnapshot(runId);
          expectEqual(
            [snapshot.status, snapshot.lastEventSeq],
            [status, result!.runSeq],
            `after ${eventType} the run is ${status}`,
          );
        }
      }
    },
  }),
  runsCase({
    id: 'runs/stored-snapshot-never-goes-back',
    title: 'getSnapshot returns a known run’s snapshot immediately and never an older one later',
    proves: ['RUN-13', '001 §5.1', '002 §5', '004 §2'],
    async run(bench) {
      const runId = bench.id('run');
      let last = 0;
      for (const type of ['RunStarted', 'A', 'B', 'RunPaused', 'RunResumed', 'RunCompleted']) {
        const [result] = await appendTypes(bench, runId, type);
        const snapshot = await bench.tenant.runs.getSnapshot(runId);
        expect(snapshot, 'a run with events has a snapshot');
        expect(
          snapshot.lastEventSeq >= last && snapshot.lastEventSeq <= result!.runSeq,
          'the snapshot may lag but never goes back',
        );
        last = snapshot.lastEventSeq;
        expectEqual(
          stateOf(snapshot),
          stateOf({
            ...(await bench.tenant.runs.projectSnapshot(runId, { atSeq: last })),
            freshness: snapshot.freshness,
          }),
          'the snapshot is the true state at its lastEventSeq',
        );
        await bench.tenant.runs.projectSnapshot(runId);
      }
    },
  }),
  runsCase({
    id: 'runs/project-looks-back',
    title: 'projectSnapshot with atSeq returns the state at any past sequence',
    proves: ['RUN-13'],
    async run(bench) {
      const runId = bench.id('run');
      const states: [number, ReturnType<typeof stateOf>][] = [];
      const types = [
        'RunQueued',
        'RunStarted',
        'StepStarted',
        'Progress',
        'StepCompleted',
        'StepCompleted',
        'RunCompleted',
      ];
      for (const type of types) {
        const [result] = await appendTypes(bench, runId, type);
        states.push([result!.runSeq, stateOf(await bench.tenant.runs.projectSnapshot(runId))]);
      }
      for (const [atSeq, state] of states) {
        const past = stateOf(await bench.tenant.runs.projectSnapshot(runId, { atSeq }));
        expectEqual(past, state, `the state at ${atSeq} is what it was then`);
      }
      expectEqual(
        stateOf(await bench.tenant.runs.projectSnapshot(runId)),
        states.at(-1)![1],
        'reading past states changed nothing',
      );
      for (const atSeq of [-1, 0.5, Number.NaN, '1' as never]) {
        await expectCode('INVALID_ARGUMENT', `atSeq ${atSeq} is not a sequence`, () =>
          bench.tenant.runs.projectSnapshot(runId, { atSeq }),
        );
      }
    },
  }),
  runsCase({
    id: 'runs/snapshot-of-many-events',
    title: 'a run longer than a page is projected completely, even after it has grown',
    proves: ['RUN-13', '001 §5.1'],
    async run(bench) {
      const runId = bench.id('run');
      await appendTypes(bench, runId, 'RunStarted');
      const steps = Array.from({ length: 600 }, (_, n) => `step-${n}`);
      for (const eventType of ['StepStarted', 'StepCompleted']) {
        await bench.tenant.runs.appendEvents(steps.map((stepId) => runEvent(bench, { runId, eventType, stepId })));
        const snapshot = await bench.tenant.runs.projectSnapshot(runId);
        const status = eventType === 'StepStarted' ? 'RUNNING' : 'SUCCESS';
        expectEqual(
          snapshot.steps.map((it) => it.stepId),
          steps,
          'every step is listed, in order',
        );
        expect(
          snapshot.steps.every((it) => it.status === status),
          `every step is ${status}`,
        );
      }
    },
  }),
  runsCase({
    id: 'runs/snapshots-are-views',
    title: 'creating a snapshot does not append an event',
    proves: ['001 §5', 'RUN-13'],
    async run(bench) {
      const runId = bench.id('run');
      const [result] = await appendTypes(bench, runId, 'RunStarted');
      for (let round = 0; round < 3; round++) {
        await bench.tenant.runs.getSnapshot(runId);
        await bench.tenant.runs.projectSnapshot(runId);
      }
      expectEqual(await bench.tenant.runs.headSeq(runId), result!.runSeq, 'the log is unchanged');
    },
  }),
];

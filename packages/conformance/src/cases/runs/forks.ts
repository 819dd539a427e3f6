/** Forks: a new run that begins as a copy of another up to a sequence, however often it is asked for (GEN-8, RUN-4). */
import type { RunEventRecord, RunSnapshot } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { appendNumbered, appendTypes, runEvent, wholeLog } from './events.ts';

/** What an event says, whichever run it stands in. */
function contentOf({
  eventType,
  emittedAt,
  stepId,
  payload,
  logicalAttemptId,
  engineAttemptId,
  ...rest
}: RunEventRecord) {
  const { projectId, environmentId, planId, planVersion, labels, traceparent, runSeq, somethingNew } = rest;
  return {
    ...{ eventType, emittedAt, stepId, payload, logicalAttemptId, engineAttemptId, projectId, environmentId },
    ...{ planId, planVersion, labels, traceparent, runSeq, somethingNew },
  };
}

function stateOf({ runId: _, projectedAt: __, version: ___, violations: ____, ...state }: RunSnapshot) {
  return state;
}

async function origin(bench: Bench): Promise<string> {
  const runId = bench.id('run');
  const events = [
    { eventType: 'RunStarted', labels: { shop: 'berlin' }, payload: { text: 'a\u0000b' } },
    { eventType: 'StepStarted', stepId: 'charge', traceparent: 'trace', emittedAt: '2026-02-16T09:30:00.123456Z' },
    { eventType: 'StepFailed', stepId: 'charge', payload: { errorCode: 'E1' } },
    { eventType: 'Noted', somethingNew: { deep: [1] } },
    { eventType: 'RunFailed' },
  ];
  for (const event of events) await bench.tenant.runs.appendEvent(runEvent(bench, { runId, ...event }));
  return runId;
}

export const FORK_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/fork-copies-up-to-a-sequence',
    title: 'a fork has the events of its origin up to a sequence, says where they came from, and goes its own way',
    proves: ['RUN-9', 'RUN-17'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = await origin(bench);
      const toRunId = bench.id('fork');
      const before = await wholeLog(bench.tenant, runId);
      const fork = await runs.forkRun(runId, { toRunId, atSeq: 4 });
      expectEqual(
        fork,
        { tenantId: bench.tenantId, runId: toRunId, forkedFrom: { runId, atSeq: 4 }, copied: 4 },
        'the fork says what it is',
      );
      const copies = await wholeLog(bench.tenant, toRunId);
      expectEqual(copies.map(contentOf), before.slice(0, 4).map(contentOf), 'the copies say what the originals say');
      for (const [at, copy] of copies.entries()) {
        expectEqual(copy.forkedFrom, { runId, runSeq: at + 1, atSeq: 4 }, 'each copy names its original');
        expect(copy.eventId !== before[at]!.eventId, 'and has an id of its own');
      }
      const children = await runs.listRuns({ parentRunId: runId });
      expectEqual(
        children.items.map((it) => [it.runId, it.lastEventSeq, it.status]),
        [[toRunId, 4, 'RUNNING']],
        'the origin is the parent of the fork',
      );
      expectEqual(
        stateOf(await runs.projectSnapshot(toRunId)),
        stateOf(await runs.projectSnapshot(runId, { atSeq: 4 })),
        'the fork is in the state its origin was in',
      );
      const proof = await runs.verify(toRunId);
      expectEqual([proof.ok, proof.events], [true, 4], 'its history verifies');
      await appendTypes(bench, toRunId, 'RunCompleted');
      expectEqual((await runs.projectSnapshot(toRunId)).status, 'COMPLETED', 'the fork goes on by itself');
      expectEqual(await wholeLog(bench.tenant, runId), before, 'and its origin is as it was');
    },
  }),
  runsCase({
    id: 'runs/fork-again-changes-nothing',
    title: 'the same fork asked for again, or by several at once, is made once',
    proves: ['GEN-8', 'RUN-4'],
    async run(bench) {
      const clients = [bench.tenant, (await bench.peer()).forTenant(bench.tenantId)];
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 500);
      const toRunId = bench.id('fork');
      const forks = await Promise.all(
        [...clients, ...clients].map((client) => client.runs.forkRun(runId, { toRunId, atSeq: 450 })),
      );
      expectEqual(
        forks.reduce((sum, fork) => sum + fork.copied, 0),
        450,
        'together they copied each event once',
      );
      const { head } = await bench.tenant.runs.verify(toRunId);
      await bench.tenant.runs.appendEvent(runEvent(bench, { runId: toRunId }));
      const again = await bench.tenant.runs.forkRun(runId, { toRunId, atSeq: 450 });
      expectEqual(again.copied, 0, 'also when the fork has gone on meanwhile');
      expectEqual(await bench.tenant.runs.headSeq(toRunId), 451, 'nothing was added to it');
      expect(head !== (await bench.tenant.runs.verify(toRunId)).head, 'but what it was given since');
    },
  }),
  runsCase({
    id: 'runs/fork-spares-other-runs',
    title: 'a fork is refused where another run has the id, or there is nothing to fork',
    proves: ['GEN-1', 'GEN-10', 'RUN-15'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = await origin(bench);
      const taken = bench.id('run');
      await appendTypes(bench, taken, 'RunStarted');
      await expectCode('CONFLICT', 'a run that is there is not written into', () =>
        runs.forkRun(runId, { toRunId: taken }),
      );
      const fork = bench.id('fork');
      await runs.forkRun(runId, { toRunId: fork, atSeq: 2 });
      await expectCode('CONFLICT', 'nor a fork from another sequence', () =>
        runs.forkRun(runId, { toRunId: fork, atSeq: 3 }),
      );
      expectEqual([await runs.headSeq(taken), await runs.headSeq(fork)], [1, 2], 'both are as they were');
      await expectCode('INVALID_ARGUMENT', 'a run is no fork of itself', () => runs.forkRun(runId, { toRunId: runId }));
      await expectCode('INVALID_ARGUMENT', 'there is nothing after the last event', () =>
        runs.forkRun(runId, { toRunId: bench.id('fork'), atSeq: 6 }),
      );
      await expectCode('RUN_NOT_FOUND', 'an unknown run has no fork', () =>
        runs.forkRun(bench.id('run'), { toRunId: bench.id('fork') }),
      );
      await expectCode('RUN_NOT_FOUND', 'nor has one of another tenant', () =>
        bench.store.forTenant(bench.id('tenant')).runs.forkRun(runId, { toRunId: bench.id('fork') }),
      );
      await runs.deleteRun(taken);
      await expectCode('RUN_DELETED', 'the id of a deleted run stays taken', () =>
        runs.forkRun(runId, { toRunId: taken }),
      );
    },
  }),
];

/** Forks: a new run that starts as a copy of another up to a sequence, once for repeated requests (GEN-8, RUN-4). */
import type { RunEventRecord, RunSnapshot } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { appendNumbered, appendTypes, runEvent, wholeLog } from './events.ts';

/** Returns the parts of an event that do not depend on its run. */
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
    title: 'a fork copies the events up to a sequence, records its origin and grows independently',
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
        'the result describes the fork',
      );
      const copies = await wholeLog(bench.tenant, toRunId);
      expectEqual(
        copies.map(contentOf),
        before.slice(0, 4).map(contentOf),
        'the copies have the content of the originals',
      );
      for (const [at, copy] of copies.entries()) {
        expectEqual(copy.forkedFrom, { runId, runSeq: at + 1, atSeq: 4 }, 'each copy names its original');
        expect(copy.eventId !== before[at]!.eventId, 'each copy has its own id');
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
        'the fork has the state of its origin',
      );
      const proof = await runs.verify(toRunId);
      expectEqual([proof.ok, proof.events], [true, 4], 'its history verifies');
      await appendTypes(bench, toRunId, 'RunCompleted');
      expectEqual((await runs.projectSnapshot(toRunId)).status, 'COMPLETED', 'the fork grows independently');
      expectEqual(await wholeLog(bench.tenant, runId), before, 'the origin is unchanged');
    },
  }),
  runsCase({
    id: 'runs/fork-again-changes-nothing',
    title: 'repeated or concurrent requests for the same fork create it once',
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
      expectEqual(again.copied, 0, 'a repeated fork copies nothing after the fork has grown');
      expectEqual(await bench.tenant.runs.headSeq(toRunId), 451, 'nothing was added to the fork');
      expect(head !== (await bench.tenant.runs.verify(toRunId)).head, 'the fork has only its own later events');
    },
  }),
  runsCase({
    id: 'runs/fork-spares-other-runs',
    title: 'a fork is rejected if another run has the id or there is nothing to fork',
    proves: ['GEN-1', 'GEN-10', 'RUN-15'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = await origin(bench);
      const taken = bench.id('run');
      await appendTypes(bench, taken, 'RunStarted');
      await expectCode('CONFLICT', 'an existing run is not written into', () =>
        runs.forkRun(runId, { toRunId: taken }),
      );
      const fork = bench.id('fork');
      await runs.forkRun(runId, { toRunId: fork, atSeq: 2 });
      await expectCode('CONFLICT', 'a fork at another sequence is not written into', () =>
        runs.forkRun(runId, { toRunId: fork, atSeq: 3 }),
      );
      expectEqual([await runs.headSeq(taken), await runs.headSeq(fork)], [1, 2], 'both runs are unchanged');
      await expectCode('INVALID_ARGUMENT', 'a run cannot be forked into itself', () =>
        runs.forkRun(runId, { toRunId: runId }),
      );
      await expectCode('INVALID_ARGUMENT', 'there is nothing after the last event', () =>
        runs.forkRun(runId, { toRunId: bench.id('fork'), atSeq: 6 }),
      );
      await expectCode('RUN_NOT_FOUND', 'an unknown run cannot be forked', () =>
        runs.forkRun(bench.id('run'), { toRunId: bench.id('fork') }),
      );
      await expectCode('RUN_NOT_FOUND', 'a run of another tenant cannot be forked', () =>
        bench.store.forTenant(bench.id('tenant')).runs.forkRun(runId, { toRunId: bench.id('fork') }),
      );
      await runs.deleteRun(taken);
      await expectCode('RUN_DELETED', 'the id of a deleted run cannot be reused', () =>
        runs.forkRun(runId, { toRunId: taken }),
      );
    },
  }),
];

/** Hostile ids: two different run ids, step ids or project names never collide (GEN-5). */
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { all, allPages } from '../iterate.ts';
import { HOSTILE_IDS, INVALID_IDS, MAX_IDS } from '../poison.ts';
import { runEvent } from './events.ts';

export const ID_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/hostile-run-ids-never-meet',
    title: 'run ids are compared by bytes and may contain any characters',
    proves: ['GEN-5'],
    async run(bench) {
      for (const runId of HOSTILE_IDS) {
        const { runSeq, persisted } = await bench.tenant.runs.appendEvent(
          runEvent(bench, { runId, idempotencyKey: 'k', payload: { runId } }),
        );
        expect(persisted, `run ${JSON.stringify(runId)} is new: it collides with no other`);
        expectEqual(await bench.tenant.runs.headSeq(runId), runSeq, `run ${JSON.stringify(runId)} is found again`);
      }
      for (const runId of HOSTILE_IDS) {
        const log = await bench.tenant.runs.fetchEvents(runId);
        expectEqual(
          log.map((it) => [it.runId, it.payload]),
          [[runId, { runId }]],
          `run ${JSON.stringify(runId)} has its own event only`,
        );
      }
      const listed = await allPages((cursor) =>
        bench.tenant.runs.listRuns({ limit: 10, ...(cursor === undefined ? {} : { cursor }) }),
      );
      expectEqual(listed.map((it) => it.runId).sort(), [...HOSTILE_IDS].sort(), 'each is listed once, by its exact id');
    },
  }),
  runsCase({
    id: 'runs/hostile-run-ids-work-everywhere',
    title: 'snapshot, iterator, tail, verify and delete work for hostile ids too',
    proves: ['GEN-5'],
    async run(bench) {
      for (const runId of ['..', '.', '{r}', 'r%', 'a:b', "r'", '__proto__', '🌊', 'e\u0301', ' ', '\u0001', '/']) {
        const named = JSON.stringify(runId);
        await bench.tenant.runs.appendEvent(runEvent(bench, { runId, eventType: 'RunStarted' }));
        expectEqual((await bench.tenant.runs.getSnapshot(runId))?.runId, runId, `${named} has a stored snapshot`);
        expectEqual((await bench.tenant.runs.projectSnapshot(runId)).status, 'RUNNING', `${named} can be projected`);
        expectEqual((await all(bench.tenant.runs.readEvents(runId))).length, 1, `${named} can be read`);
        for await (const event of bench.tenant.runs.tail(runId)) {
          expectEqual(event.runId, runId, `${named} can be tailed`);
          break;
        }
        expectEqual((await bench.tenant.runs.verify(runId)).ok, true, `${named} can be verified`);
        expectEqual(await bench.tenant.runs.deleteRun(runId), true, `${named} can be deleted`);
      }
    },
  }),
  runsCase({
    id: 'runs/longest-ids-are-taken',
    title: 'ids of 512 UTF-8 bytes are accepted in every field',
    proves: ['GEN-5'],
    async run(bench) {
      for (const id of MAX_IDS) {
        const event = runEvent(bench, {
          ...{ runId: id, projectId: id, environmentId: id, planId: id, planVersion: id, idempotencyKey: id },
          eventType: 'StepStarted',
          stepId: id,
        });
        await bench.tenant.runs.appendEvent(event);
        const [record] = await bench.tenant.runs.fetchEvents(id);
        expectEqual(
          [record?.runId, record?.stepId, record?.idempotencyKey],
          [id, id, id],
          'the longest ids are returned unchanged',
        );
      }
    },
  }),
  runsCase({
    id: 'runs/reads-refuse-invalid-ids',
    title: 'reads reject invalid run ids by name',
    proves: ['GEN-5', 'GEN-1'],
    async run(bench) {
      for (const [name, value] of INVALID_IDS) {
        const runId = value as string;
        const error = await expectCode('INVALID_ARGUMENT', `a run id that is ${name} is refused`, () =>
          bench.tenant.runs.fetchEvents(runId),
        );
        expectEqual(error.field, 'runId', 'the error names runId');
        await expectCode('INVALID_ARGUMENT', 'headSeq refuses it too', () => bench.tenant.runs.headSeq(runId));
        await expectCode('INVALID_ARGUMENT', 'getSnapshot refuses it too', () => bench.tenant.runs.getSnapshot(runId));
      }
    },
  }),
  runsCase({
    id: 'runs/hostile-step-ids-never-meet',
    title: 'steps with similar ids are different steps, in order of first appearance',
    proves: ['GEN-5', 'RUN-10'],
    async run(bench) {
      const runId = bench.id('run');
      await bench.tenant.runs.appendEvent(runEvent(bench, { runId, eventType: 'RunStarted' }));
      const events = HOSTILE_IDS.map((stepId) => runEvent(bench, { runId, eventType: 'StepStarted', stepId }));
      await bench.tenant.runs.appendEvents(events);
      const { steps, consistency } = await bench.tenant.runs.projectSnapshot(runId);
      expectEqual(
        steps.map((it) => it.stepId),
        [...HOSTILE_IDS],
        'each step id is a separate step',
      );
      expectEqual(consistency, 'CONSISTENT', 'no step was started twice');
    },
  }),
];

/** The hash chain as callers see it: verify and its head (RUN-17). What lies underneath is core's own test. */
import { expect, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { POISON_PAYLOADS } from '../poison.ts';
import { appendNumbered, runEvent } from './events.ts';

export const INTEGRITY_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/verify-counts-and-confirms',
    title: 'verify checks every event of a healthy run and gives its head',
    proves: ['RUN-17'],
    async run(bench) {
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 7);
      for (const [, json] of POISON_PAYLOADS) {
        await bench.tenant.runs.appendEvent(
          runEvent(bench, { runId, payload: JSON.parse(json), extra: { ключ: 'é' } }),
        );
      }
      const report = await bench.tenant.runs.verify(runId);
      expectEqual([report.ok, report.problem], [true, undefined], 'a run nobody touched is whole');
      expectEqual(
        [report.runId, report.tenantId, report.events],
        [runId, bench.tenantId, 7 + POISON_PAYLOADS.length],
        'every event was checked',
      );
      expect(/^[0-9a-f]{64}$/.test(report.head), 'the head is 32 bytes in hex');
    },
  }),
  runsCase({
    id: 'runs/verify-head-names-the-history',
    title: 'the head changes with every event, and only then',
    proves: ['RUN-17'],
    async run(bench) {
      const runId = bench.id('run');
      const heads = new Set<string>();
      for (let n = 1; n <= 4; n++) {
        const event = runEvent(bench, { runId, payload: { n } });
        await bench.tenant.runs.appendEvent(event);
        const { head } = await bench.tenant.runs.verify(runId);
        heads.add(head);
        await bench.tenant.runs.appendEvent(event);
        await bench.tenant.runs.projectSnapshot(runId);
        expectEqual((await bench.tenant.runs.verify(runId)).head, head, 'duplicates and reads leave the head as it is');
      }
      expectEqual(heads.size, 4, 'each event gave a new head');
    },
  }),
  runsCase({
    id: 'runs/heads-differ-between-runs',
    title: 'two runs with the same events have different heads: a history cannot be passed off as another’s',
    proves: ['RUN-17'],
    async run(bench) {
      const [one, two] = [bench.id('run'), bench.id('run')];
      const event = runEvent(bench, { runId: one, idempotencyKey: 'k' });
      await bench.tenant.runs.appendEvent(event);
      await bench.tenant.runs.appendEvent({ ...event, runId: two });
      const [a, b] = [await bench.tenant.runs.verify(one), await bench.tenant.runs.verify(two)];
      expect(a.ok && b.ok && a.head !== b.head, 'the run’s own id is part of what is hashed');
    },
  }),
];

/** Exported runs: complete, in a form that any store can restore and anyone can verify (RUN-15, RUN-17). */
import { createHash } from 'node:crypto';
import type { ExportedEvent } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { all, upTo } from '../iterate.ts';
import { carriedRun, exported } from './carried-runs.ts';
import { appendNumbered, runEvent, wholeLog } from './events.ts';

export const EXPORT_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/export-has-the-whole-run',
    title: 'an export contains every event and the run’s metadata, in parts of up to 1 000 events',
    proves: ['RUN-15', 'RUN-17', '001 §2.3'],
    async run(bench) {
      const runId = await carriedRun(bench, 'long');
      const parts = await exported(bench.tenant, runId);
      const events = parts.flatMap((part) => part.events);
      const log = await wholeLog(bench.tenant, runId);
      expectEqual(parts.length, 2, '1 208 events take two parts');
      expectEqual(
        parts.map((part) => part.isLast),
        [false, true],
        'the last part is marked as such',
      );
      expectEqual(
        events.map((event) => event.runSeq),
        upTo(log.length),
        'every event is exported, in order',
      );
      for (const key of ['eventId', 'eventType', 'emittedAt', 'persistedAt', 'idempotencyKey', 'planVersion'] as const)
        expectEqual(
          events.map((event) => event[key]),
          log.map((event) => event[key]),
          `${key} is the same as for readers`,
        );
      const [run] = parts.map((part) => part.run);
      for (const part of parts) expectEqual(part.run, run, 'every part has the same run metadata');
      const summary = (await bench.tenant.runs.listRuns()).items.find((item) => item.runId === runId)!;
      const { head, rewrites, ...metadata } = run!;
      expectEqual(metadata as object, summary as object, 'the run metadata is exported');
      expectEqual(
        rewrites,
        (await bench.tenant.runs.position(runId))?.rewrites,
        'the export has the number of rewrites',
      );
      expectEqual(head, (await bench.tenant.runs.verify(runId)).head, 'the export has the head that verify returns');
      expectEqual(events.at(-1)!.link, head, 'the head is the link of the last event');
    },
  }),
  runsCase({
    id: 'runs/export-can-be-checked',
    title: 'the chain links of an exported run can be verified from its texts alone',
    proves: ['RUN-17', 'RUN-19'],
    async run(bench) {
      const runId = bench.id('run');
      for (let n = 1; n <= 2; n++) await bench.tenant.runs.appendEvent(runEvent(bench, { runId, payload: { n } }));
      const [part] = await exported(bench.tenant, runId);
      const hash = (...texts: (string | Buffer)[]) => {
        const digest = createHash('sha256');
        for (const text of texts) digest.update(text);
        return digest.digest();
      };
      const field = (text: string | number | null) =>
        text === null ? '-' : `${Buffer.byteLength(String(text))}:${text}`;
      const leafOf = (event: ExportedEvent) => {
        const { eventId, eventType, emittedAt, projectId, environmentId, planId, planVersion, idempotencyKey } = event;
        const { engineAttemptId, logicalAttemptId, stepId, extra } = event;
        const texts = [
          bench.tenantId,
          runId,
          eventId,
          eventType,
          emittedAt,
          projectId,
          environmentId,
          planId,
          planVersion,
        ];
        const fields = [...texts, engineAttemptId, logicalAttemptId, idempotencyKey, stepId, extra].map(field);
        return hash('tidemark-leaf-1\n', ...fields, hash(event.payload ?? '').toString('hex'));
      };
      const integer = (value: number) => {
        const bytes = Buffer.alloc(8);
        bytes.writeBigUInt64BE(BigInt(value));
        return bytes;
      };
      let [link, time] = [Buffer.alloc(32), 0];
      for (const event of part!.events) {
        const timeBefore = event.chainFormat === 2 ? integer(time) : Buffer.alloc(0);
        link = hash(link, timeBefore, leafOf(event), integer(event.runSeq));
        time = Date.parse(event.persistedAt);
        expectEqual(event.link, link.toString('hex'), 'the link can be recomputed');
      }
    },
  }),
  runsCase({
    id: 'runs/export-of-nothing',
    title: 'an unknown, deleted or foreign run cannot be exported; events appended during an export are omitted',
    proves: ['RUN-12', 'RUN-15', 'GEN-10'],
    async run(bench) {
      const runId = await carriedRun(bench);
      await expectCode('RUN_NOT_FOUND', 'an unknown run', () => all(bench.tenant.runs.exportRun(bench.id('run'))));
      const other = bench.store.forTenant(bench.id('tenant'));
      await expectCode('RUN_NOT_FOUND', 'a run of another tenant', () => all(other.runs.exportRun(runId)));
      await appendNumbered(bench, runId, 1_000);
      const before = await bench.tenant.runs.headSeq(runId);
      const seen: number[] = [];
      for await (const part of bench.tenant.runs.exportRun(runId)) {
        if (seen.length === 0) await appendNumbered(bench, runId, 3);
        seen.push(...part.events.map((event) => event.runSeq));
      }
      expectEqual(seen, upTo(before), 'the export has the run as it was when it started');
      expect(await bench.tenant.runs.deleteRun(runId), 'the run can be deleted');
      await expectCode('RUN_NOT_FOUND', 'a deleted run', () => all(bench.tenant.runs.exportRun(runId)));
    },
  }),
];

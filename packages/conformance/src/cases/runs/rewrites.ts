/** Redactions and restores increment the run's rewrites, which copies and states compare (RUN-15). */
import { defineProjection } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { all } from '../iterate.ts';
import { archive, exported } from './carried-runs.ts';
import { appendNumbered, runEvent, wholeLog } from './events.ts';

const ORDER = { by: 'dpo@example.org', reason: 'request 4711' };

/** Returns a projection that keeps the notes of a run. */
function notesOf(bench: Bench) {
  const name = bench.id('notes');
  const on = {
    Progress(state: { notes: string[] }, event: { payload?: Record<string, unknown> }) {
      state.notes.push(String(event.payload?.note ?? 'redacted'));
    },
  };
  return (version: number) => defineProjection({ name, version, initial: { notes: [] as string[] }, on });
}

async function appendNotes(bench: Bench, runId: string, ...notes: string[]): Promise<void> {
  await bench.tenant.runs.appendEvents(notes.map((note) => runEvent(bench, { runId, payload: { note } })));
}

export const REWRITE_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/position-tells-of-changes',
    title: 'a run’s position contains its last sequence and a counter that only redactions and restores change',
    proves: ['RUN-15', 'RUN-12'],
    needs: ['runs.redaction'],
    async run(bench) {
      const { runs } = bench.tenant;
      const peer = (await bench.peer()).forTenant(bench.tenantId).runs;
      const runId = bench.id('run');
      expectEqual(await runs.position(runId), null, 'an unknown run has no position');
      await appendNumbered(bench, runId, 2);
      const first = (await runs.position(runId))!;
      expectEqual(
        [first.tenantId, first.runId, first.lastEventSeq],
        [bench.tenantId, runId, 2],
        'the position names the run',
      );
      await appendNumbered(bench, runId, 1, 3);
      await runs.refreshSnapshot(runId);
      const grown = (await peer.position(runId))!;
      expectEqual([grown.lastEventSeq, grown.rewrites], [3, first.rewrites], 'appends do not change rewrites');
      await runs.redactEvent(runId, 1, ORDER);
      const redacted = (await peer.position(runId))!;
      expect(redacted.rewrites > grown.rewrites, 'a redaction increments rewrites');
      await appendNumbered(bench, runId, 1, 4);
      const [part] = await exported(bench.tenant, runId);
      expectEqual(part!.run.rewrites, redacted.rewrites, 'an append leaves rewrites, and an export has them');
      await archive(bench.tenant, runId);
      await expectCode('RUN_ARCHIVED', 'an archived run has no position', () => runs.position(runId));
      await runs.restoreRun([part!]);
      const restored = (await peer.position(runId))!;
      expect(restored.rewrites > redacted.rewrites, 'a restore raises rewrites above every earlier value');
      await runs.deleteRun(runId);
      expectEqual(await runs.position(runId), null, 'a deleted run has no position');
      await runs.restoreRun([part!], { overDeleted: true });
      expect(
        (await runs.position(runId))!.rewrites > restored.rewrites,
        'restoring over a deleted run also increases rewrites',
      );
    },
  }),
  runsCase({
    id: 'runs/archive-only-what-was-redacted',
    title: 'a run that was redacted or restored after its export is not archived with that copy',
    proves: ['RUN-15'],
    needs: ['runs.redaction'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 3);
      const before = await exported(bench.tenant, runId);
      const { lastEventSeq: atSeq, rewrites } = before[0]!.run;
      await runs.redactEvent(runId, 2, ORDER);
      const error = await expectCode('CONFLICT', 'the copy has the redacted payload', () =>
        runs.archiveRun(runId, { location: 'x', expectedSeq: atSeq, expectedRewrites: rewrites }),
      );
      const now = (await runs.position(runId))!.rewrites;
      expectEqual(error.current, now, 'the error carries the current rewrites');
      expectEqual((await wholeLog(bench.tenant, runId)).length, 3, 'the run is not archived');
      const parts = await exported(bench.tenant, runId);
      expect(
        await runs.archiveRun(runId, { location: 'x', expectedSeq: atSeq, expectedRewrites: now }),
        'a newer copy can be archived',
      );
      await runs.restoreRun(parts);
      await expectCode('CONFLICT', 'the copy from before the restore is refused', () =>
        runs.archiveRun(runId, { location: 'x', expectedSeq: atSeq, expectedRewrites: now }),
      );
      const [, second] = await wholeLog(bench.tenant, runId);
      expectEqual(second!.payload, undefined, 'the redacted payload stays redacted');
      await expectCode('INVALID_ARGUMENT', 'a negative expectedRewrites is refused', () =>
        runs.archiveRun(runId, { location: 'x', expectedSeq: atSeq, expectedRewrites: -1 }),
      );
    },
  }),
  runsCase({
    id: 'runs/redaction-reaches-projections',
    title: 'projection states folded before a redaction are not returned, and a rebuild removes them',
    proves: ['RUN-15'],
    needs: ['runs.redaction', 'kv'],
    async run(bench) {
      const { tenant } = bench;
      const runId = bench.id('run');
      const versions = notesOf(bench);
      const [one, two] = [versions(1), versions(2)];
      await appendNotes(bench, runId, 'a', 'secret', 'c');
      await one.rebuild(tenant);
      await two.refresh(tenant, runId);
      await tenant.runs.redactEvent(runId, 2, ORDER);
      const notes = ['a', 'redacted', 'c'];
      for (const projection of [one, two]) {
        expectEqual((await projection.get(tenant, runId))?.state.notes, notes, 'the stored state is folded again');
        expectEqual((await projection.project(tenant, runId)).state.notes, notes, 'the projected state is correct');
      }
      await two.rebuild(tenant);
      const stored = await all(tenant.kv.scan(`tidemark.projections.${one.name}.`));
      expectEqual(
        stored.map(({ key }) => key.slice(`tidemark.projections.${one.name}.`.length, -runId.length)),
        ['2.'],
        'only the serving version keeps a state',
      );
      expect(
        !stored.some(({ record }) => Buffer.from(record.fields.state!).includes('secret')),
        'the state has no redacted payload',
      );
    },
  }),
  runsCase({
    id: 'runs/other-history-behind-a-writer',
    title: 'a writer that cached a run continues correctly after it was replaced by another history',
    proves: ['RUN-15', 'RUN-17'],
    async run(bench) {
      const peer = (await bench.peer()).forTenant(bench.tenantId);
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 1);
      const parts = await exported(bench.tenant, runId);
      for (const n of [2, 3]) await appendNumbered(bench, runId, 1, n);
      await peer.runs.deleteRun(runId);
      await peer.runs.restoreRun(parts, { overDeleted: true });
      const other = [4, 5].map((n) => runEvent(bench, { runId, payload: { n } }));
      for (const event of other) await peer.runs.appendEvent(event);
      const [result] = await appendNumbered(bench, runId, 1, 6);
      expectEqual(result!.runSeq, 4, 'the event gets the next sequence');
      const { ok, events, problem } = await peer.runs.verify(runId);
      expectEqual([ok, events, problem], [true, 4, undefined], 'the chain verifies');
    },
  }),
];

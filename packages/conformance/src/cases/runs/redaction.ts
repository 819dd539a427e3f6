/**
 * Redaction: the payload of an event is removed permanently, and everything derived from the event stays valid (RUN-15,
 * RUN-17).
 */
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { all } from '../iterate.ts';
import { appendNumbered, numbersOf, runEvent, wholeLog } from './events.ts';
import { feedMark, pagedFeed } from './feed-pages.ts';

const ORDER = { by: 'dpo@example.org', reason: 'request 4711' };

export const REDACTION_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/redaction-takes-the-payload-out',
    title: 'a redacted event has no payload and records who redacted it, when and why; the first redaction stays',
    proves: ['RUN-15'],
    needs: ['runs.redaction'],
    async run(bench) {
      const runId = bench.id('run');
      const { runs } = bench.tenant;
      await appendNumbered(bench, runId, 3);
      expectEqual(await runs.redactEvent(runId, 2, ORDER), true, 'the event exists');
      expectEqual(
        await runs.redactEvent(runId, 2, { by: 'other', reason: 'again' }),
        true,
        'a repeated redaction finds the event',
      );
      const log = await wholeLog(bench.tenant, runId);
      expectEqual(numbersOf(log), [1, undefined, 3], 'its payload is gone, those of other events are not');
      expect(!('payload' in log[1]!), 'there is no payload at all');
      const { at, ...who } = log[1]!.redacted!;
      expectEqual(who, ORDER, 'the event has the name and reason of the first redaction');
      expect(
        Math.abs(Date.parse(at) - Date.parse(log[1]!.persistedAt)) < 3_600_000,
        'the event has the time of the redaction',
      );
      expectEqual(log[0]!.redacted, undefined, 'no other event is redacted');
      expectEqual(await runs.redactEvent(runId, 4, ORDER), false, 'a missing event returns false');
      expectEqual(await runs.redactEvent(bench.id('run'), 1, ORDER), false, 'a missing run returns false');
    },
  }),
  runsCase({
    id: 'runs/redaction-keeps-the-chain',
    title: 'a run with redacted events can still be verified, appended to, exported, forked and read from the feed',
    proves: ['RUN-17', 'RUN-15'],
    needs: ['runs.redaction'],
    async run(bench) {
      const runId = bench.id('run');
      const { runs } = bench.tenant;
      await appendNumbered(bench, runId, 4);
      const { head } = await runs.verify(runId);
      for (const runSeq of [1, 2, 4]) await runs.redactEvent(runId, runSeq, ORDER);
      const report = await runs.verify(runId);
      expectEqual([report.ok, report.problem, report.head], [true, undefined, head], 'the chain is unchanged');
      await appendNumbered(bench, runId, 2, 5);
      expectEqual((await runs.verify(runId)).ok, true, 'the chain continues');
      const parts = await all(runs.exportRun(runId));
      const exported = parts.flatMap((part) => part.events);
      expectEqual(
        exported.map((event) => [event.payload === null, event.redaction?.by]),
        [
          [true, ORDER.by],
          [true, ORDER.by],
          [false, undefined],
          [true, ORDER.by],
          [false, undefined],
          [false, undefined],
        ],
        'exports have no redacted payload',
      );
      const fork = bench.id('run');
      await runs.forkRun(runId, { toRunId: fork });
      expectEqual(
        numbersOf(await wholeLog(bench.tenant, fork)),
        [undefined, undefined, 3, undefined, 5, 6],
        'forks have no redacted payload',
      );
    },
  }),
  runsCase({
    id: 'runs/redaction-survives-a-restore',
    title: 'a redacted run stays redacted when exported and restored, and no restore brings a payload back',
    proves: ['RUN-15', 'RUN-17'],
    needs: ['runs.redaction'],
    async run(bench) {
      const runId = bench.id('run');
      const { runs } = bench.tenant;
      await appendNumbered(bench, runId, 3);
      const before = await all(runs.exportRun(runId));
      await runs.redactEvent(runId, 2, ORDER);
      const parts = await all(runs.exportRun(runId));
      const log = await wholeLog(bench.tenant, runId);
      expectEqual((await runs.restoreRun(before)).restored, false, 'an older export of the same run changes nothing');
      expectEqual(await wholeLog(bench.tenant, runId), log, 'the payload stays gone');
      await runs.deleteRun(runId);
      expectEqual((await runs.restoreRun(parts, { overDeleted: true })).restored, true, 'the run is restored');
      expectEqual(await wholeLog(bench.tenant, runId), log, 'the restored event is redacted');
      expectEqual((await runs.verify(runId)).ok, true, 'the chain verifies');
    },
  }),
  runsCase({
    id: 'runs/redaction-reaches-the-feed',
    title: 'the feed yields a redacted event without its payload',
    proves: ['RUN-15'],
    needs: ['runs.redaction', 'runs.feed'],
    async run(bench) {
      const runId = bench.id('run');
      const after = await feedMark(bench);
      await appendNumbered(bench, runId, 2);
      await bench.tenant.runs.redactEvent(runId, 1, ORDER);
      const found = (await pagedFeed(bench.tenant, 2, { cursor: after })).map(({ event }) => event);
      expectEqual(numbersOf(found), [undefined, 2], 'both events, one of them without its payload');
    },
  }),
  runsCase({
    id: 'runs/redaction-reaches-the-snapshot',
    title: 'data of a redacted payload is removed from the stored snapshot',
    proves: ['RUN-15', 'RUN-13'],
    needs: ['runs.redaction'],
    async run(bench) {
      const runId = bench.id('run');
      const { runs } = bench.tenant;
      const payload = { errorCode: 'E1', errorMessage: 'secret' };
      await runs.appendEvents([
        runEvent(bench, { runId, eventType: 'RunStarted' }),
        runEvent(bench, { runId, eventType: 'RunFailed', payload }),
      ]);
      await runs.refreshSnapshot(runId);
      expectEqual((await runs.getSnapshot(runId))?.error?.message, 'secret', 'the snapshot has the failure');
      await runs.redactEvent(runId, 2, ORDER);
      const snapshot = (await runs.getSnapshot(runId))!;
      expect(!JSON.stringify(snapshot).includes('secret'), 'the stored snapshot no longer has the failure message');
      expectEqual([snapshot.status, snapshot.redactions], ['FAILED', 1], 'the rest of the snapshot stays');
      await runs.appendEvent(runEvent(bench, { runId }));
      const { snapshot: refreshed } = await runs.refreshSnapshot(runId);
      expect(!JSON.stringify(refreshed).includes('secret'), 'a snapshot folded further has no failure message');
    },
  }),
  runsCase({
    id: 'runs/redaction-keeps-duplicates',
    title: 'a late retry of a redacted event is still a duplicate and writes nothing back',
    proves: ['RUN-4', 'RUN-15'],
    needs: ['runs.redaction'],
    async run(bench) {
      const runId = bench.id('run');
      const event = runEvent(bench, { runId, payload: { n: 1 } });
      await bench.tenant.runs.appendEvent(event);
      await bench.tenant.runs.redactEvent(runId, 1, ORDER);
      const again = await bench.tenant.runs.appendEvent(event);
      expectEqual([again.runSeq, again.idempotent], [1, true], 'the retry is recognised by its key');
      // A codec that never produces the same text twice makes the comparison impossible.
      expect(again.payloadMatches !== false, 'the payload is compared by its hash where that is possible');
      const other = await bench.tenant.runs.appendEvent({ ...event, payload: { n: 2 } });
      expect(other.idempotent && other.payloadMatches !== true, 'another payload does not match');
      expectEqual(numbersOf(await wholeLog(bench.tenant, runId)), [undefined], 'the payload stays gone');
    },
  }),
  runsCase({
    id: 'runs/redaction-needs-who-and-why',
    title: 'a redaction without a name or a reason is rejected and removes nothing',
    proves: ['RUN-15', 'GEN-1'],
    needs: ['runs.redaction'],
    async run(bench) {
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 1);
      const wrong = [
        { by: '', reason: 'r' },
        { by: 'b', reason: ' ' },
        { by: 'b', reason: 'r'.repeat(5_000) },
        { by: 'b' },
      ];
      for (const options of wrong) {
        await expectCode('INVALID_ARGUMENT', JSON.stringify(options).slice(0, 60), () =>
          bench.tenant.runs.redactEvent(runId, 1, options as typeof ORDER),
        );
      }
      await expectCode('INVALID_ARGUMENT', 'runSeq 0 is refused', () => bench.tenant.runs.redactEvent(runId, 0, ORDER));
      expectEqual(numbersOf(await wholeLog(bench.tenant, runId)), [1], 'the payload is still stored');
    },
  }),
  runsCase({
    id: 'runs/redaction-stays-within-the-tenant',
    title: 'redacting one tenant’s event leaves another tenant’s run with the same id alone',
    proves: ['GEN-10', 'RUN-15'],
    needs: ['runs.redaction'],
    async run(bench) {
      const other = { tenantId: bench.id('tenant') };
      const runId = bench.id('run');
      const payload = { n: 1 };
      await bench.store.runs.appendEvents([runEvent(bench, { runId, payload }), runEvent(other, { runId, payload })]);
      await bench.tenant.runs.redactEvent(runId, 1, ORDER);
      expectEqual(
        numbersOf(await wholeLog(bench.store.forTenant(other.tenantId), runId)),
        [1],
        'the other tenant’s run is unchanged',
      );
    },
  }),
];

/** Redaction: the payload of an event goes for good, and everything that rests on the event still holds (RUN-15, RUN-17). */
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
    title: 'a redacted event has no payload any more and tells who did it, when and why; the first redaction stays',
    proves: ['RUN-15'],
    needs: ['runs.redaction'],
    async run(bench) {
      const runId = bench.id('run');
      const { runs } = bench.tenant;
      await appendNumbered(bench, runId, 3);
      expectEqual(await runs.redactEvent(runId, 2, ORDER), true, 'there is such an event');
      expectEqual(await runs.redactEvent(runId, 2, { by: 'other', reason: 'again' }), true, 'there still is');
      const log = await wholeLog(bench.tenant, runId);
      expectEqual(numbersOf(log), [1, undefined, 3], 'its payload is gone, those of its neighbours are not');
      expect(!('payload' in log[1]!), 'there is no payload at all');
      const { at, ...who } = log[1]!.redacted!;
      expectEqual(who, ORDER, 'the event says who and why, by the first redaction');
      expect(Math.abs(Date.parse(at) - Date.parse(log[1]!.persistedAt)) < 3_600_000, 'and when');
      expectEqual(log[0]!.redacted, undefined, 'no other event is redacted');
      expectEqual(await runs.redactEvent(runId, 4, ORDER), false, 'an event that is not there');
      expectEqual(await runs.redactEvent(bench.id('run'), 1, ORDER), false, 'a run that is not there');
    },
  }),
  runsCase({
    id: 'runs/redaction-keeps-the-chain',
    title: 'a run with redacted events verifies, grows, is exported, forked and fed as before',
    proves: ['RUN-17', 'RUN-15'],
    needs: ['runs.redaction'],
    async run(bench) {
      const runId = bench.id('run');
      const { runs } = bench.tenant;
      await appendNumbered(bench, runId, 4);
      const { head } = await runs.verify(runId);
      for (const runSeq of [1, 2, 4]) await runs.redactEvent(runId, runSeq, ORDER);
      const report = await runs.verify(runId);
      expectEqual([report.ok, report.problem, report.head], [true, undefined, head], 'the chain is what it was');
      await appendNumbered(bench, runId, 2, 5);
      expectEqual((await runs.verify(runId)).ok, true, 'and goes on');
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
        'exports carry what is left',
      );
      const fork = bench.id('run');
      await runs.forkRun(runId, { toRunId: fork });
      expectEqual(
        numbersOf(await wholeLog(bench.tenant, fork)),
        [undefined, undefined, 3, undefined, 5, 6],
        'forks too',
      );
    },
  }),
  runsCase({
    id: 'runs/redaction-survives-a-restore',
    title: 'a run that is exported and put back is as redacted as before, and nothing can bring a payload back into it',
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
      expectEqual((await runs.restoreRun(parts, { overDeleted: true })).restored, true, 'the run is put back');
      expectEqual(await wholeLog(bench.tenant, runId), log, 'with its redaction');
      expectEqual((await runs.verify(runId)).ok, true, 'and its chain');
    },
  }),
  runsCase({
    id: 'runs/redaction-reaches-the-feed',
    title: 'the feed gives a redacted event without its payload',
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
    title: 'what a redacted payload brought into the stored snapshot goes with it',
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
      expectEqual((await runs.getSnapshot(runId))?.error?.message, 'secret', 'the snapshot says why the run failed');
      await runs.redactEvent(runId, 2, ORDER);
      const snapshot = (await runs.getSnapshot(runId))!;
      expect(!JSON.stringify(snapshot).includes('secret'), 'the stored snapshot no longer does');
      expectEqual([snapshot.status, snapshot.redactions], ['FAILED', 1], 'the rest of it stands');
      await runs.appendEvent(runEvent(bench, { runId }));
      const { snapshot: refreshed } = await runs.refreshSnapshot(runId);
      expect(!JSON.stringify(refreshed).includes('secret'), 'nor does one that is folded on');
    },
  }),
  runsCase({
    id: 'runs/redaction-keeps-duplicates',
    title: 'a late resend of a redacted event is still its duplicate, and writes nothing back',
    proves: ['RUN-4', 'RUN-15'],
    needs: ['runs.redaction'],
    async run(bench) {
      const runId = bench.id('run');
      const event = runEvent(bench, { runId, payload: { n: 1 } });
      await bench.tenant.runs.appendEvent(event);
      await bench.tenant.runs.redactEvent(runId, 1, ORDER);
      const again = await bench.tenant.runs.appendEvent(event);
      expectEqual([again.runSeq, again.idempotent], [1, true], 'it is known by its key');
      // A codec that never gives the same text twice leaves nothing to compare with.
      expect(again.payloadMatches !== false, 'and by its hash, where that can be told');
      const other = await bench.tenant.runs.appendEvent({ ...event, payload: { n: 2 } });
      expect(other.idempotent && other.payloadMatches !== true, 'another payload is not taken for it');
      expectEqual(numbersOf(await wholeLog(bench.tenant, runId)), [undefined], 'the payload stays gone');
    },
  }),
  runsCase({
    id: 'runs/redaction-needs-who-and-why',
    title: 'a redaction without a name or a reason is refused, and nothing is taken out',
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
      await expectCode('INVALID_ARGUMENT', 'no such place', () => bench.tenant.runs.redactEvent(runId, 0, ORDER));
      expectEqual(numbersOf(await wholeLog(bench.tenant, runId)), [1], 'the payload is there');
    },
  }),
  runsCase({
    id: 'runs/redaction-stays-within-the-tenant',
    title: 'redacting one tenant’s event leaves the other tenant’s run of that id alone',
    proves: ['GEN-10', 'RUN-15'],
    needs: ['runs.redaction'],
    async run(bench) {
      const other = { tenantId: bench.id('tenant') };
      const runId = bench.id('run');
      const payload = { n: 1 };
      await bench.store.runs.appendEvents([runEvent(bench, { runId, payload }), runEvent(other, { runId, payload })]);
      await bench.tenant.runs.redactEvent(runId, 1, ORDER);
      expectEqual(numbersOf(await wholeLog(bench.store.forTenant(other.tenantId), runId)), [1], 'the other is whole');
    },
  }),
];

/** The hash chain as callers see it: verify and its head (RUN-17). Core's own tests cover the chain itself. */
import type { RunHead, StoredRunEvent } from '@tidemark/core/engine';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { all, whileWorking } from '../iterate.ts';
import { POISON_PAYLOADS } from '../poison.ts';
import { appendNumbered, runEvent } from './events.ts';

export const INTEGRITY_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/verify-counts-and-confirms',
    title: 'verify checks every event of a healthy run and returns its head',
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
      expectEqual([report.ok, report.problem], [true, undefined], 'an untouched run is intact');
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
    title: 'the head changes with every event, and with nothing else',
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
      expectEqual(heads.size, 4, 'each event produced a new head');
    },
  }),
  runsCase({
    id: 'runs/verify-compares-the-head',
    title: 'verify reports a stored head that does not follow from the events',
    proves: ['RUN-17'],
    async run(bench) {
      const runId = bench.id('run');
      const { runs } = bench.tenant;
      await appendNumbered(bench, runId, 3);
      const { head, events } = await runs.verify(runId);
      const links = (await all(runs.exportRun(runId))).flatMap((part) => part.events.map((event) => event.link));
      expectEqual([events, head], [3, links[2]!], 'the head is the link of the last event');
      const changes: Partial<RunHead>[] = [{ link: '\0'.repeat(32) }, { seq: 4 }];
      for (const change of changes) {
        const changed = bench.withRuns((engine) => ({
          head: async (run, call) => ({ ...((await engine.head(run, call)) as RunHead), ...change }),
        }));
        const report = await changed?.runs.verify(runId);
        if (report) expectEqual(report.ok, false, `a head with another ${Object.keys(change)} is detected`);
      }
    },
  }),
  runsCase({
    id: 'runs/changed-times-are-found',
    title: 'the chain covers the time of every commit once another one follows: verify and restore find a changed time',
    proves: ['RUN-19', 'RUN-17'],
    async run(bench) {
      const runId = bench.id('run');
      const { runs } = bench.tenant;
      const times = new Set<string>();
      while (times.size < 3) {
        const { runSeq } = await runs.appendEvent(runEvent(bench, { runId }));
        const [stored] = await runs.fetchEvents(runId, { afterSeq: runSeq - 1 });
        times.add(stored!.persistedAt);
        await bench.pass(2);
      }
      const parts = await all(runs.exportRun(runId));
      const events = parts.flatMap((part) => part.events);
      const formats = events.map(({ chainFormat }) => chainFormat);
      expect(
        formats.every((format) => format === 2),
        `a new store writes format 2: ${formats.join()}`,
      );
      // Moved to the time of the previous event, so that the times still never decrease.
      const moved = events.findIndex((event, at) => at > 0 && event.persistedAt !== events[at - 1]!.persistedAt);
      const time = events[moved - 1]!.persistedAt;
      const forged = parts.map((part) => ({
        ...part,
        events: part.events.map((event) => (event.runSeq === moved + 1 ? { ...event, persistedAt: time } : event)),
      }));
      await runs.deleteRun(runId);
      await expectCode('CORRUPT_EVENT', 'a changed time is refused', () =>
        runs.restoreRun(forged, { overDeleted: true }),
      );
      await runs.deleteRun(runId);
      await runs.restoreRun(parts, { overDeleted: true });
      expect((await runs.verify(runId)).ok, 'the run itself can be restored');
      const changed = bench.withRuns((engine) => ({
        fetch: async (run, afterSeq, limit, call) => {
          const page = await engine.fetch(run, afterSeq, limit, call);
          const change = (event: StoredRunEvent) =>
            event.runSeq === moved + 1 ? { ...event, persistedAt: Date.parse(time) } : event;
          return { ...page, events: page.events.map(change), lead: page.lead.map(change) };
        },
      }));
      if (!changed) return;
      const { ok, problem } = await changed.runs.verify(runId);
      expectEqual([ok, problem?.runSeq], [false, moved + 2], 'the commit after the changed time does not fit');
      await expectCode('CORRUPT_EVENT', 'readers find it too', () => changed.runs.fetchEvents(runId));
    },
  }),
  runsCase({
    id: 'runs/verify-beside-appends',
    title: 'verify succeeds on a run while others append to it',
    proves: ['RUN-17', 'RUN-2'],
    async run(bench) {
      const runId = bench.id('run');
      const peer = (await bench.peer()).forTenant(bench.tenantId);
      await appendNumbered(bench, runId, 20);
      const write = async () => {
        for (let n = 21; n <= 60; n++) await appendNumbered(bench, runId, n % 3 === 0 ? 3 : 1, n);
      };
      const seen: { events: number; head: string }[] = [];
      await whileWorking(write(), async () => {
        const { ok, problem, events, head } = await peer.runs.verify(runId);
        expectEqual([ok, problem], [true, undefined], 'a growing run is intact');
        seen.push({ events, head });
      });
      const links = (await all(peer.runs.exportRun(runId))).flatMap((part) => part.events.map((event) => event.link));
      for (const { events, head } of seen)
        expectEqual(head, links[events - 1], 'the reported head is the link of the reported event');
    },
  }),
  runsCase({
    id: 'runs/heads-differ-between-runs',
    title: 'two runs with the same events have different heads, so one history cannot be passed off as another',
    proves: ['RUN-17'],
    async run(bench) {
      const [one, two] = [bench.id('run'), bench.id('run')];
      const event = runEvent(bench, { runId: one, idempotencyKey: 'k' });
      await bench.tenant.runs.appendEvent(event);
      await bench.tenant.runs.appendEvent({ ...event, runId: two });
      const [a, b] = [await bench.tenant.runs.verify(one), await bench.tenant.runs.verify(two)];
      expect(a.ok && b.ok && a.head !== b.head, 'the run’s own id is part of the hash');
    },
  }),
];

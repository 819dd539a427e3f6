/** Runs that expire are deleted runs from the millisecond of their expiry on (RUN-21). */
import { EXPIRY_LABEL, type FeedItem, isTidemarkError, type NoticeItem, type RunStore } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { all } from '../iterate.ts';
import { appendTypes, runEvent } from './events.ts';

/** Longer than the expiry of the runs that expire in these cases. */
const SOON_MS = 30;
const SOON = '20ms';
const HOUR_MS = 3_600_000;
const MAX_HEARTBEATS = 50;

/** Appends events of these types to a new run with an expiry, and returns its id. */
async function runThatExpires(bench: Bench, expires: string, ...types: string[]): Promise<string> {
  const runId = bench.id('run');
  const labels = { [EXPIRY_LABEL]: expires };
  await bench.tenant.runs.appendEvents(types.map((eventType) => runEvent(bench, { runId, eventType, labels })));
  return runId;
}

/** Returns the ids of the listed runs, in order. */
async function listedIds({ tenant }: Bench): Promise<string[]> {
  return (await tenant.runs.listRuns({ order: 'oldest' })).items.map(({ runId }) => runId);
}

/** Deletes all expired runs in steps, and returns how many. A step may end early when its time runs out. */
async function deleteAll(runs: RunStore, limit = 100): Promise<number> {
  let deleted = 0;
  for (let cursor: string | undefined; ; ) {
    const step = await runs.deleteExpired({ limit, ...(cursor === undefined ? {} : { cursor }) });
    expect(step.deleted <= limit, `a step deletes at most ${limit} runs`);
    deleted += step.deleted;
    if (step.next === undefined) return deleted;
    cursor = step.next;
  }
}

export const EXPIRY_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/expired-run-is-unknown',
    title:
      'every reader and writer treats an expired run as deleted before it is removed, even if the clock is set back',
    proves: ['RUN-21', 'GEN-12'],
    async run(bench) {
      const { runs } = bench.tenant;
      const kept = await runThatExpires(bench, '1h', 'RunStarted', 'RunCompleted');
      const parts = [];
      const runId = await runThatExpires(bench, SOON, 'RunStarted', 'Progress', 'RunCompleted');
      await bench.pass(SOON_MS);
      await bench.setBack(HOUR_MS / 2);
      for (const reader of [runs, (await bench.peer()).forTenant(bench.tenantId).runs]) {
        for (const options of [{}, { afterSeq: 1 }, { order: 'newest' as const }])
          expectEqual(await reader.fetchEvents(runId, options), [], `no events with ${JSON.stringify(options)}`);
        expectEqual(await all(reader.readEvents(runId, { afterSeq: 2 })), [], 'nothing to read');
        expectEqual(
          [await reader.headSeq(runId), await reader.position(runId), await reader.getSnapshot(runId)],
          [0, null, null],
          'neither head nor snapshot',
        );
        const refused: Record<string, () => Promise<unknown>> = {
          projectSnapshot: () => reader.projectSnapshot(runId),
          refreshSnapshot: () => reader.refreshSnapshot(runId),
          verify: () => reader.verify(runId),
          exportRun: async () => {
            for await (const part of reader.exportRun(runId)) parts.push(part);
          },
        };
        for (const [name, call] of Object.entries(refused)) await expectCode('RUN_NOT_FOUND', name, call);
        const { items } = await reader.listRuns();
        expectEqual(
          items.map((run) => run.runId),
          [kept],
          'the list has only the other run',
        );
        expectEqual(await reader.countRuns(), { count: 1, exact: true }, 'as does the count');
      }
      const late = runEvent(bench, { runId, eventType: 'Progress' });
      const writes: Record<string, () => Promise<unknown>> = {
        'an append': () => runs.appendEvent(late),
        'a fenced append': () => runs.appendEvent(late, { expectedSeq: 3 }),
        'a batch': () => runs.appendEvents([late, runEvent(bench, { runId })]),
        'a retry of a stored event': () => runs.appendEvent(runEvent(bench, { runId, eventType: 'RunCompleted' })),
      };
      for (const [name, write] of Object.entries(writes)) await expectCode('RUN_DELETED', name, write);
      expectEqual(await runs.markStale(runId), false, 'there is no snapshot to mark');
      expectEqual(
        await runs.archiveRun(runId, { location: 'kit:expiry', expectedSeq: 3 }),
        false,
        'nothing to archive',
      );
      expectEqual(await runs.archiveLocation(runId), null, 'and no archive');
      expectEqual(await runs.deleteRun(runId), false, 'nothing to delete');
      expectEqual((await runs.fetchEvents(kept)).length, 2, 'the other run has all events');
    },
  }),
  runsCase({
    id: 'runs/expiry-spares-runs-that-have-not-ended',
    title: 'a run that has not ended expires only if its setting requires it',
    proves: ['RUN-21'],
    async run(bench) {
      const paths = [['Progress'], ['RunQueued'], ['RunStarted'], ['RunStarted', 'RunPaused']];
      const spared: string[] = [];
      for (const path of paths) spared.push(await runThatExpires(bench, '1ms', ...path));
      for (const path of paths) await runThatExpires(bench, '1ms any', ...path);
      for (const ended of ['RunCompleted', 'RunFailed', 'RunCancelled'])
        await runThatExpires(bench, '1ms', 'RunStarted', ended);
      await bench.pass(SOON_MS);
      expectEqual(await listedIds(bench), spared, 'exactly the runs that have not ended are listed');
      expectEqual(await deleteAll(bench.tenant.runs), paths.length + 3, 'the others are deleted');
      expectEqual(await listedIds(bench), spared, 'and no other');
      await appendTypes(bench, spared[2]!, 'RunCompleted');
      await bench.pass(SOON_MS);
      expectEqual(await listedIds(bench), spared.toSpliced(2, 1), 'a run expires once it has ended');
    },
  }),
  runsCase({
    id: 'runs/every-event-moves-the-expiry',
    title: 'the expiry counts from the last event, and only the first event can set it',
    proves: ['RUN-21'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = bench.id('run');
      const run = runs.handle(runId, {
        projectId: 'project',
        environmentId: 'test',
        expires: { after: '1h', status: 'any' },
      });
      const settings: (Record<string, string> | undefined)[] = [undefined, { [EXPIRY_LABEL]: '1ms any' }, {}];
      for (const [n, labels] of settings.entries()) {
        await bench.pass(5);
        const { persistedAt } = await run.append('Heartbeat', { n }, labels && { labels });
        const expected = new Date(Date.parse(persistedAt) + HOUR_MS).toISOString();
        const [summary] = (await runs.listRuns()).items;
        expectEqual(summary?.expiresAt, expected, `one hour after event ${n + 1}`);
      }
      await bench.pass(SOON_MS);
      expectEqual(await run.headSeq(), 3, 'the run is still there');
      const ended = runs.handle(bench.id('run'), { projectId: 'project', environmentId: 'test', expires: '1h' });
      await ended.append('RunStarted');
      const ofEnded = async () => (await runs.listRuns()).items.find((it) => it.runId === ended.runId)?.expiresAt;
      expectEqual(await ofEnded(), undefined, 'a run that has not ended has no expiry');
      await ended.append('RunCancelled');
      expect((await ofEnded()) !== undefined, 'an ended run has one');
    },
  }),
  runsCase({
    id: 'runs/expired-run-never-returns',
    title: 'a run whose expiry passed stays unknown, even if events are appended at that moment',
    proves: ['RUN-21', 'RUN-2'],
    async run(bench) {
      const { runs } = bench.tenant;
      const after = 40;
      const runId = await runThatExpires(bench, `${after}ms any`, 'RunStarted');
      const peer = (await bench.peer()).forTenant(bench.tenantId).runs;
      const times: string[] = [];
      // A reader looks between two appends: one that is in flight may still move the expiry.
      for (let isGone = false; ; ) {
        await bench.pass((times.length * 7) % 45);
        isGone ||= (await peer.headSeq(runId)) === 0;
        const late = runEvent(bench, { runId, eventType: 'Heartbeat' });
        const stored = await runs.appendEvent(late).catch((error: unknown) => {
          if (isTidemarkError(error, 'RUN_DELETED')) return null;
          throw error;
        });
        if (stored === null) break;
        expect(!isGone, 'no append brings the run back after a reader has missed it');
        times.push(stored.persistedAt);
        expect(times.length < MAX_HEARTBEATS, 'the run expires');
      }
      for (const reader of [peer, runs])
        for (let n = 0; n < 3; n++) expectEqual(await reader.headSeq(runId), 0, 'the run stays unknown');
      const late = times.findIndex((time, at) => at > 0 && Date.parse(time) >= Date.parse(times[at - 1]!) + after);
      expectEqual(late, -1, 'no event was acknowledged after the expiry');
      await expectCode('RUN_DELETED', 'a later append', () =>
        runs.appendEvent(runEvent(bench, { runId, eventType: 'Heartbeat' })),
      );
    },
  }),
  runsCase({
    id: 'runs/delete-expired-leaves-tombstones',
    title: 'deleteExpired deletes expired runs of its tenant in steps, with a tombstone and a notice each',
    proves: ['RUN-21', 'RUN-15', 'RUN-22', 'GEN-10'],
    needs: ['runs.notices', 'runs.feed'],
    async run(bench) {
      const { runs } = bench.tenant;
      const other = bench.store.forTenant(bench.id('tenant'));
      const kept = await runThatExpires(bench, '1h any', 'RunStarted');
      const expired: string[] = [];
      for (let n = 0; n < 3; n++) expired.push(await runThatExpires(bench, '1ms any', 'RunStarted'));
      await other.runs.appendEvent({
        ...runEvent(bench, { runId: expired[0]!, labels: { [EXPIRY_LABEL]: '1ms any' } }),
        tenantId: other.info.tenantId!,
      });
      await bench.pass(SOON_MS);
      expectEqual(await deleteAll(runs, 2), 3, 'all of them, in steps of two');
      expectEqual(await deleteAll(runs), 0, 'nothing is left');
      for (const runId of expired)
        await expectCode('RUN_DELETED', 'a late retry', () => runs.appendEvent(runEvent(bench, { runId })));
      expectEqual(await listedIds(bench), [kept], 'the other run stays');
      const notices: string[] = [];
      for (let cursor = bench.feedStart; ; ) {
        const page = await runs.feedPage({ ...(cursor === undefined ? {} : { cursor }), notices: true });
        for (const item of page.items as (FeedItem | NoticeItem)[])
          if ('notice' in item) notices.push(`${item.notice.kind} ${item.notice.runId}`);
        if (page.next === cursor) break;
        cursor = page.next;
      }
      expectEqual(
        [...new Set(notices)].sort(),
        expired.map((runId) => `deleted ${runId}`).sort(),
        'the feed reports each of them',
      );
      await expectCode('TENANT_MISMATCH', 'another tenant', () => runs.deleteExpired({ tenantId: 'other' }));
      await expectCode('INVALID_ARGUMENT', 'a limit of 0', () => runs.deleteExpired({ limit: 0 }));
      expectEqual(await deleteAll(other.runs), 1, 'the run of the other tenant was left to it');
    },
  }),
  runsCase({
    id: 'runs/expiry-sweep-is-fenced',
    title: 'a sweep that stalls, or whose clock is fast, never removes an event or a life that it has not read',
    proves: ['RUN-21', 'RUN-15', 'RUN-18'],
    async run(bench) {
      const { runs } = bench.tenant;
      const moved = await runThatExpires(bench, '1h any', 'RunStarted');
      const fast = bench.withRuns((engine) => ({
        now: async (tenantId, call) => (await engine.now(tenantId, call)) + 2 * HOUR_MS,
        async remove(run, tombstone, options) {
          await runs.appendEvent(runEvent(bench, { runId: moved, eventType: 'Heartbeat' }));
          return engine.remove(run, tombstone, options);
        },
      }));
      if (fast) expectEqual(await deleteAll(fast.runs), 0, 'the event arrives before the removal');
      expectEqual(await runs.headSeq(moved), fast ? 2 : 1, 'and keeps the run');

      const reborn = await runThatExpires(bench, '1ms any', 'RunStarted');
      await bench.pass(SOON_MS);
      const begin = () =>
        runs.appendEvent(runEvent(bench, { runId: reborn, eventType: 'RunStarted' }), { life: 'new' });
      const stalled = bench.withRuns((engine) => ({
        async remove(run, tombstone, options) {
          if (run.runId === reborn) await begin();
          return engine.remove(run, tombstone, options);
        },
      }));
      if (stalled) expectEqual(await deleteAll(stalled.runs), 0, 'the next life begins first');
      else await begin();
      expectEqual((await runs.position(reborn))?.life, 2, 'the next life stays');
    },
  }),
  runsCase({
    id: 'runs/new-life-after-expiry',
    title: 'an expired run begins its next life on purpose, before and after it is removed',
    proves: ['RUN-21', 'RUN-18'],
    async run(bench) {
      const { runs } = bench.tenant;
      const [before, after] = [
        await runThatExpires(bench, '1ms any', 'RunStarted', 'Progress'),
        await runThatExpires(bench, '1ms any', 'RunStarted', 'Progress'),
      ];
      await bench.pass(SOON_MS);
      const begin = (runId: string) => runs.appendEvent(runEvent(bench, { runId }), { life: 'new' });
      const early = await begin(before);
      await deleteAll(runs);
      const late = await begin(after);
      expectEqual([early.runSeq, early.life], [1, 2], 'before the removal');
      expectEqual([late.runSeq, late.life], [1, 2], 'after it');
      await bench.pass(SOON_MS);
      expectEqual(await deleteAll(runs), 0, 'the new lives have no setting');
      expectEqual([await runs.headSeq(before), await runs.headSeq(after)], [1, 1], 'and stay');
    },
  }),
  runsCase({
    id: 'runs/expired-run-is-not-restored',
    title: 'an export keeps its expiry: it is restored before that time, and rejected after it',
    proves: ['RUN-21'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = await runThatExpires(bench, '1h', 'RunStarted', 'RunCompleted');
      const parts = await all(runs.exportRun(runId));
      await runs.archiveRun(runId, { location: 'kit:expiry', expectedSeq: 2 });
      const later = bench.withRuns((engine) => ({
        now: async (tenantId, call) => (await engine.now(tenantId, call)) + HOUR_MS,
      }));
      if (later) await expectCode('RUN_DELETED', 'a restore after the expiry', () => later.runs.restoreRun(parts));
      await expectCode('RUN_ARCHIVED', 'nothing was written', () => runs.fetchEvents(runId));
      expectEqual((await runs.restoreRun(parts)).restored, true, 'before it the run is restored');
      const [summary] = (await runs.listRuns()).items;
      const ended = Date.parse(summary!.updatedAt);
      expectEqual(summary?.expiresAt, new Date(ended + HOUR_MS).toISOString(), 'with its expiry');
      if (later) expectEqual(await later.runs.headSeq(runId), 0, 'and expires then');
    },
  }),
  runsCase({
    id: 'runs/expiry-is-checked',
    title: 'an expiry that is not a duration is rejected',
    proves: ['RUN-21', 'GEN-1'],
    async run(bench) {
      const { runs } = bench.tenant;
      for (const expires of ['', 'soon', '1w', '0s', '-1s', '1h  any', '1h ANY', 'any']) {
        const error = await expectCode('INVALID_ARGUMENT', `the label ${JSON.stringify(expires)}`, () =>
          runThatExpires(bench, expires, 'RunStarted'),
        );
        expectEqual(error.field, `labels.${EXPIRY_LABEL}`, 'the error names the label');
      }
      for (const expires of ['soon', 0, Number.NaN, { after: '1h', status: 'RUNNING' as never }])
        await expectCode('INVALID_ARGUMENT', `the option ${JSON.stringify(expires)}`, async () =>
          runs.handle(bench.id('run'), { expires }).append('RunStarted'),
        );
      expectEqual(await listedIds(bench), [], 'nothing was stored');
    },
  }),
];

/** Stored snapshots: refreshed, marked stale, written back by readers, removed with their run (RUN-13, RUN-14). */

import type { RunSnapshot, Store } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { whileWorking } from '../iterate.ts';
import { appendNumbered, appendTypes, runEvent } from './events.ts';

const WAIT_MS = 5_000;

/**
 * Returns the stored snapshot once it satisfies `isWanted`, or its state after five seconds, because readers write back
 * in the background.
 */
async function storedWhen(store: Store, runId: string, isWanted: (it: RunSnapshot | null) => boolean) {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const snapshot = await store.runs.getSnapshot(runId);
    if (isWanted(snapshot) || Date.now() >= deadline) return snapshot;
    await sleep(10);
  }
}

export const REFRESH_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/refresh-folds-what-is-new',
    title: 'refreshSnapshot folds new events, stores the result for all clients and reports their number',
    proves: ['RUN-13', 'RUN-14'],
    async run(bench) {
      const runId = bench.id('run');
      const peer = (await bench.peer()).forTenant(bench.tenantId);
      await appendTypes(bench, runId, 'RunStarted', 'A', 'B');
      const first = await bench.tenant.runs.refreshSnapshot(runId);
      expectEqual([first.folded, first.snapshot.lastEventSeq], [3, 3], 'the first refresh folds all events');
      await appendTypes(bench, runId, 'C', 'RunCompleted');
      const second = await peer.runs.refreshSnapshot(runId);
      expectEqual([second.folded, second.snapshot.lastEventSeq], [2, 5], 'the next refresh folds the new events');
      expectEqual(
        await bench.tenant.runs.getSnapshot(runId),
        second.snapshot,
        'the returned snapshot is the stored one',
      );
      expectEqual(
        (await bench.tenant.runs.refreshSnapshot(runId)).folded,
        0,
        'a refresh without new events folds nothing',
      );
      await expectCode('RUN_NOT_FOUND', 'an unknown run cannot be refreshed', () =>
        bench.tenant.runs.refreshSnapshot(bench.id('run')),
      );
    },
  }),
  runsCase({
    id: 'runs/stale-until-refreshed',
    title: 'a snapshot marked stale is stale for all clients until it is refreshed; a projection is always fresh',
    proves: ['RUN-14', 'RUN-10'],
    async run(bench) {
      const runId = bench.id('run');
      const { runs } = bench.tenant;
      const peer = (await bench.peer()).forTenant(bench.tenantId);
      expectEqual(await runs.markStale(runId), false, 'an unknown run has no snapshot to mark');
      expectEqual(await bench.store.runs.markStale(runId), false, 'the operator’s view finds none either');
      await appendTypes(bench, runId, 'RunStarted', 'A');
      await runs.refreshSnapshot(runId);
      expectEqual(await runs.markStale(runId), true, 'the stored snapshot is marked');
      const marked = await peer.runs.getSnapshot(runId);
      expectEqual(
        [marked?.freshness, marked?.lastEventSeq, marked?.status],
        ['STALE', 2, 'RUNNING'],
        'nothing else is changed',
      );
      expectEqual((await peer.runs.projectSnapshot(runId)).freshness, 'FRESH', 'a projection is up to date');
      const { folded, snapshot } = await runs.refreshSnapshot(runId);
      expectEqual([folded, snapshot.freshness], [0, 'FRESH'], 'a refresh without new events makes it fresh');
      expectEqual(
        (await peer.runs.getSnapshot(runId))?.freshness,
        'FRESH',
        'the refreshed snapshot is fresh for all clients',
      );
      await runs.markStale(runId);
      await appendTypes(bench, runId, 'B');
      expectEqual(
        (await runs.refreshSnapshot(runId)).snapshot.freshness,
        'FRESH',
        'a refresh with new events makes it fresh',
      );
    },
  }),
  runsCase({
    id: 'runs/long-tails-are-written-back',
    title: 'a reader that has folded many events stores the snapshot for later readers',
    proves: ['RUN-13'],
    async run(bench) {
      const runId = bench.id('run');
      const peer = (await bench.peer()).forTenant(bench.tenantId);
      await appendNumbered(bench, runId, 1);
      await bench.tenant.runs.refreshSnapshot(runId);
      await appendNumbered(bench, runId, 600, 2);
      const projected = await bench.tenant.runs.projectSnapshot(runId);
      const stored = await storedWhen(peer, runId, (it) => it?.lastEventSeq === 601);
      expectEqual(stored, projected, 'the projected snapshot is stored without a refresh');
    },
  }),
  runsCase({
    id: 'runs/refreshers-never-go-back',
    title: 'concurrent refreshes never overwrite a later snapshot with an earlier one',
    proves: ['RUN-13', '001 §5.1'],
    async run(bench) {
      const runId = bench.id('run');
      const clients = [bench.tenant, (await bench.peer()).forTenant(bench.tenantId)];
      await appendNumbered(bench, runId, 1);
      const write = async () => {
        for (let n = 2; n <= 60; n++) {
          await bench.tenant.runs.appendEvent(runEvent(bench, { runId, payload: { n } }));
          if (n % 6 === 0) await sleep(3);
        }
      };
      let last = 0;
      await whileWorking(write(), async () => {
        await Promise.all([...clients, ...clients].map((client) => client.runs.refreshSnapshot(runId)));
        const stored = (await bench.tenant.runs.getSnapshot(runId))!.lastEventSeq;
        expect(stored >= last, `the stored snapshot went from ${last} back to ${stored}`);
        last = stored;
      });
      expectEqual(
        (await bench.tenant.runs.refreshSnapshot(runId)).snapshot.lastEventSeq,
        60,
        'the last snapshot has all events',
      );
    },
  }),
  runsCase({
    id: 'runs/snapshots-go-with-their-run',
    title: 'a snapshot created while its run is being deleted does not outlive the run',
    proves: ['RUN-15', 'RUN-13'],
    async run(bench) {
      const ids = Array.from({ length: 12 }, () => bench.id('run'));
      const { runs } = bench.tenant;
      for (const runId of ids) await appendNumbered(bench, runId, 300);
      await Promise.all(
        ids.flatMap((runId, at) => [
          runs.refreshSnapshot(runId).catch((error: { code?: string }) => {
            expectEqual(error.code, 'RUN_NOT_FOUND', 'a refresh after the delete finds no run');
          }),
          sleep(at).then(() => runs.deleteRun(runId)),
        ]),
      );
      for (const runId of ids) expectEqual(await runs.getSnapshot(runId), null, 'a deleted run has no snapshot');
    },
  }),
];

/** Snapshots that are kept: refreshed, marked stale, written back by readers, gone with their run (RUN-13, RUN-14). */

import type { RunSnapshot, Store } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { whileWorking } from '../iterate.ts';
import { appendNumbered, appendTypes, runEvent } from './events.ts';

const WAIT_MS = 5_000;

/** The stored snapshot as soon as it is as wanted, else as it is after five seconds: what readers write back comes beside. */
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
    title: 'refreshSnapshot folds what is new, stores it for all clients, and says how much it was',
    proves: ['RUN-13', 'RUN-14'],
    async run(bench) {
      const runId = bench.id('run');
      const peer = (await bench.peer()).forTenant(bench.tenantId);
      await appendTypes(bench, runId, 'RunStarted', 'A', 'B');
      const first = await bench.tenant.runs.refreshSnapshot(runId);
      expectEqual([first.folded, first.snapshot.lastEventSeq], [3, 3], 'the first refresh folds all');
      await appendTypes(bench, runId, 'C', 'RunCompleted');
      const second = await peer.runs.refreshSnapshot(runId);
      expectEqual([second.folded, second.snapshot.lastEventSeq], [2, 5], 'the next one folds what came since');
      expectEqual(await bench.tenant.runs.getSnapshot(runId), second.snapshot, 'what it gave is what is stored');
      expectEqual((await bench.tenant.runs.refreshSnapshot(runId)).folded, 0, 'and then there is nothing to fold');
      await expectCode('RUN_NOT_FOUND', 'there is nothing to refresh of an unknown run', () =>
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
      expectEqual(await runs.markStale(runId), false, 'of an unknown run nothing is stored that could be stale');
      expectEqual(await bench.store.runs.markStale(runId), false, 'whoever asks');
      await appendTypes(bench, runId, 'RunStarted', 'A');
      await runs.refreshSnapshot(runId);
      expectEqual(await runs.markStale(runId), true, 'the stored snapshot is marked');
      const marked = await peer.runs.getSnapshot(runId);
      expectEqual(
        [marked?.freshness, marked?.lastEventSeq, marked?.status],
        ['STALE', 2, 'RUNNING'],
        'and nothing else',
      );
      expectEqual((await peer.runs.projectSnapshot(runId)).freshness, 'FRESH', 'who reads the log is up to date');
      const { folded, snapshot } = await runs.refreshSnapshot(runId);
      expectEqual([folded, snapshot.freshness], [0, 'FRESH'], 'a refresh that finds nothing new still makes it fresh');
      expectEqual((await peer.runs.getSnapshot(runId))?.freshness, 'FRESH', 'for all clients');
      await runs.markStale(runId);
      await appendTypes(bench, runId, 'B');
      expectEqual((await runs.refreshSnapshot(runId)).snapshot.freshness, 'FRESH', 'as does one that finds something');
    },
  }),
  runsCase({
    id: 'runs/long-tails-are-written-back',
    title: 'a reader that folded a long tail stores the snapshot for the next one',
    proves: ['RUN-13'],
    async run(bench) {
      const runId = bench.id('run');
      const peer = (await bench.peer()).forTenant(bench.tenantId);
      await appendNumbered(bench, runId, 1);
      await bench.tenant.runs.refreshSnapshot(runId);
      await appendNumbered(bench, runId, 600, 2);
      const projected = await bench.tenant.runs.projectSnapshot(runId);
      const stored = await storedWhen(peer, runId, (it) => it?.lastEventSeq === 601);
      expectEqual(stored, projected, 'what was projected is stored, though nobody refreshed');
    },
  }),
  runsCase({
    id: 'runs/refreshers-never-go-back',
    title: 'of several that refresh at once, none overwrites a later snapshot with an earlier one',
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
      expectEqual((await bench.tenant.runs.refreshSnapshot(runId)).snapshot.lastEventSeq, 60, 'the last has all');
    },
  }),
  runsCase({
    id: 'runs/snapshots-go-with-their-run',
    title: 'a snapshot that is being made while its run is deleted does not outlive it',
    proves: ['RUN-15', 'RUN-13'],
    async run(bench) {
      const ids = Array.from({ length: 12 }, () => bench.id('run'));
      const { runs } = bench.tenant;
      for (const runId of ids) await appendNumbered(bench, runId, 300);
      await Promise.all(
        ids.flatMap((runId, at) => [
          runs.refreshSnapshot(runId).catch((error: { code?: string }) => {
            expectEqual(error.code, 'RUN_NOT_FOUND', 'a refresh that comes too late finds no run');
          }),
          sleep(at).then(() => runs.deleteRun(runId)),
        ]),
      );
      for (const runId of ids) expectEqual(await runs.getSnapshot(runId), null, 'a deleted run has no snapshot');
    },
  }),
];

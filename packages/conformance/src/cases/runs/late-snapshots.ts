/** Snapshots that a stalled writer stores late, after a redaction, a removal or a restore (RUN-13, RUN-15). */

import type { RunPart, RunStore, Store } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { whileWorking } from '../iterate.ts';
import { archive, exported } from './carried-runs.ts';
import { appendNumbered, numbersOf, runEvent, wholeLog } from './events.ts';

const ORDER = { by: 'dpo@example.org', reason: 'request 4711' };
const SECRET = 'secret';

/** A client that has folded a run and is stalled before it stores the snapshot. */
interface StalledRefresh {
  stalled: Promise<void>;
  /** Releases the client. Resolves when its call has settled. */
  resume(): Promise<void>;
}

/** Starts a refresh and stalls it before it stores, or returns `null` if the kit cannot reach the engine. */
async function stalledRefresh(bench: Bench, runId: string): Promise<StalledRefresh | null> {
  const stall = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const client = bench.withRuns((engine) => ({
    async saveSnapshot(run, snapshot, call, over) {
      stall.resolve();
      await gate.promise;
      return engine.saveSnapshot(run, snapshot, call, over);
    },
  }));
  if (!client) return null;
  const ended = client.runs.refreshSnapshot(runId, { timeoutMs: 30_000 }).then(
    () => undefined,
    () => undefined,
  );
  await stall.promise;
  const resume = () => {
    gate.resolve();
    return ended;
  };
  return { stalled: stall.promise, resume };
}

/** Appends a run that failed, with a reason that its snapshot copies from the payload. */
async function failedRun(bench: Bench): Promise<string> {
  const runId = bench.id('run');
  const payload = { errorCode: 'E1', errorMessage: SECRET };
  await bench.tenant.runs.appendEvents([
    runEvent(bench, { runId, eventType: 'RunStarted' }),
    runEvent(bench, { runId, eventType: 'RunFailed', payload }),
  ]);
  return runId;
}

async function expectNoSecret(runs: RunStore, runId: string): Promise<void> {
  const holds = (snapshot: unknown) => JSON.stringify(snapshot).includes(SECRET);
  expect(!holds(await runs.getSnapshot(runId)), 'the stored snapshot has nothing of a redacted payload');
  expect(!holds(await runs.projectSnapshot(runId)), 'a snapshot folded further has nothing of a redacted payload');
  expect(
    !holds((await runs.refreshSnapshot(runId)).snapshot),
    'a refreshed snapshot has nothing of a redacted payload',
  );
}

/** Reads snapshots in every way, whatever happens to the run. */
async function readSnapshots(clients: readonly Store[], runId: string): Promise<void> {
  const gone = (error: { code?: string }) =>
    expect(error.code === 'RUN_ARCHIVED' || error.code === 'RUN_NOT_FOUND', `a reader got ${error.code}`);
  await Promise.all(
    clients.flatMap(({ runs }) => [
      runs.refreshSnapshot(runId).then(() => undefined, gone),
      runs.getSnapshot(runId).then(() => undefined, gone),
    ]),
  );
}

export const LATE_SNAPSHOT_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/late-snapshot-keeps-the-newer',
    title: 'a snapshot that is stored late never replaces a newer one',
    proves: ['RUN-13'],
    async run(bench) {
      const runId = bench.id('run');
      const { runs } = bench.tenant;
      await appendNumbered(bench, runId, 3);
      const late = await stalledRefresh(bench, runId);
      await appendNumbered(bench, runId, 2, 4);
      await runs.refreshSnapshot(runId);
      await late?.resume();
      expectEqual((await runs.getSnapshot(runId))?.lastEventSeq, 5, 'the newer snapshot is kept');
      await runs.markStale(runId);
      const again = await stalledRefresh(bench, runId);
      await runs.refreshSnapshot(runId);
      await again?.resume();
      expectEqual(
        (await runs.getSnapshot(runId))?.freshness,
        'FRESH',
        'at the same sequence either snapshot may be kept',
      );
    },
  }),
  runsCase({
    id: 'runs/late-snapshot-knows-no-redaction',
    title: 'a snapshot folded before a redaction does not replace a later one and is not read',
    proves: ['RUN-15', 'RUN-13'],
    needs: ['runs.redaction'],
    async run(bench) {
      const { runs } = bench.tenant;
      const peer = (await bench.peer()).forTenant(bench.tenantId);
      const runId = await failedRun(bench);
      const late = await stalledRefresh(bench, runId);
      await runs.redactEvent(runId, 2, ORDER);
      await late?.resume();
      for (const client of [bench.tenant, peer]) await expectNoSecret(client.runs, runId);
      for (let round = 0; round < 8; round++) {
        const other = await failedRun(bench);
        const redacting = runs.redactEvent(other, 2, ORDER);
        const refreshing = [peer, bench.tenant, peer].map((client) => client.runs.refreshSnapshot(other));
        await Promise.all([redacting, ...refreshing]);
        await expectNoSecret(runs, other);
      }
    },
  }),
  runsCase({
    id: 'runs/late-snapshot-of-a-run-that-is-gone',
    title: 'a snapshot stored after its run was deleted or archived is not read and removes nothing',
    proves: ['RUN-15', 'RUN-13'],
    async run(bench) {
      const { runs } = bench.tenant;
      const [deleted, archived] = [await failedRun(bench), await failedRun(bench)];
      const late = [await stalledRefresh(bench, deleted), await stalledRefresh(bench, archived)];
      const parts = await exported(bench.tenant, archived);
      await runs.deleteRun(deleted);
      await archive(bench.tenant, archived);
      await late[0]?.resume();
      expectEqual(await runs.getSnapshot(deleted), null, 'a deleted run has no snapshot');
      await expectCode('RUN_ARCHIVED', 'an archived run reports its archive', () => runs.getSnapshot(archived));
      await runs.restoreRun(parts);
      const { runSeq } = await runs.appendEvent(runEvent(bench, { runId: archived }));
      await late[1]?.resume();
      expectEqual(
        (await wholeLog(bench.tenant, archived)).length,
        runSeq,
        'a restored run stays, with its later events',
      );
      expectEqual((await runs.refreshSnapshot(archived)).snapshot.lastEventSeq, runSeq, 'the snapshot follows the run');
    },
  }),
  runsCase({
    id: 'runs/late-snapshot-of-another-history',
    title: 'a snapshot of a replaced history is not read',
    proves: ['RUN-15', 'RUN-13'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = bench.id('run');
      await runs.appendEvent(runEvent(bench, { runId, eventType: 'RunStarted' }));
      const parts = await exported(bench.tenant, runId);
      await runs.appendEvent(runEvent(bench, { runId, eventType: 'RunFailed' }));
      const late = await stalledRefresh(bench, runId);
      await runs.deleteRun(runId);
      await runs.restoreRun(parts, { overDeleted: true });
      for (const eventType of ['RunPaused', 'RunResumed'])
        await runs.appendEvent(runEvent(bench, { runId, eventType }));
      await late?.resume();
      for (const snapshot of [await runs.projectSnapshot(runId), (await runs.refreshSnapshot(runId)).snapshot]) {
        const { status, lastEventSeq, consistency } = snapshot;
        expectEqual(
          [status, lastEventSeq, consistency],
          ['RUNNING', 3, 'CONSISTENT'],
          'the snapshot is that of the current run',
        );
      }
    },
  }),
  runsCase({
    id: 'runs/restored-runs-stay',
    title: 'snapshot readers concurrent with archiving and restoring never remove the run or its new events',
    proves: ['RUN-15'],
    async run(bench) {
      const { runs } = bench.tenant;
      const clients = [bench.tenant, (await bench.peer()).forTenant(bench.tenantId)];
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 1);
      const moveToAndFro = async () => {
        for (let n = 2; n <= 7; n++) {
          const parts: RunPart[] = await exported(bench.tenant, runId);
          await archive(bench.tenant, runId);
          await runs.restoreRun(parts);
          // Lets readers run in between, for stores that respond without I/O.
          await sleep(1);
          await appendNumbered(bench, runId, 1, n);
          await sleep(1);
        }
      };
      await whileWorking(moveToAndFro(), () => readSnapshots(clients, runId));
      expectEqual(numbersOf(await wholeLog(bench.tenant, runId)), [1, 2, 3, 4, 5, 6, 7], 'every event is stored');
    },
  }),
];

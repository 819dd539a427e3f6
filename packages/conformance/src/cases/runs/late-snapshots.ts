/** Snapshots that are stored late: by a writer that stalls, beside a redaction, a removal or a restore (RUN-13, RUN-15). */

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

/** A client that stalls where it has folded a run and is about to store the snapshot. */
interface StalledRefresh {
  stalled: Promise<void>;
  /** Lets it go on; resolves when its call has ended, however it ended. */
  goOn(): Promise<void>;
}

/** Begins a refresh and holds it up before it stores; `null` where the kit cannot reach the engine. */
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
  const goOn = () => {
    gate.resolve();
    return ended;
  };
  return { stalled: stall.promise, goOn };
}

/** A run that failed, and says why in a payload that its snapshot takes over. */
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
  expect(!holds(await runs.getSnapshot(runId)), 'the stored snapshot holds nothing of a redacted payload');
  expect(!holds(await runs.projectSnapshot(runId)), 'nor does one that is folded on from it');
  expect(!holds((await runs.refreshSnapshot(runId)).snapshot), 'nor one that is refreshed');
}

/** Reads snapshots in every way, whatever becomes of the run. */
async function readSnapshots(clients: readonly Store[], runId: string): Promise<void> {
  const gone = (error: { code?: string }) =>
    expect(error.code === 'RUN_ARCHIVED' || error.code === 'RUN_NOT_FOUND', `a reader met ${error.code}`);
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
    title: 'a snapshot that is stored late never takes the place of a newer one',
    proves: ['RUN-13'],
    async run(bench) {
      const runId = bench.id('run');
      const { runs } = bench.tenant;
      await appendNumbered(bench, runId, 3);
      const late = await stalledRefresh(bench, runId);
      await appendNumbered(bench, runId, 2, 4);
      await runs.refreshSnapshot(runId);
      await late?.goOn();
      expectEqual((await runs.getSnapshot(runId))?.lastEventSeq, 5, 'the newer one stands');
      await runs.markStale(runId);
      const again = await stalledRefresh(bench, runId);
      await runs.refreshSnapshot(runId);
      await again?.goOn();
      expectEqual((await runs.getSnapshot(runId))?.freshness, 'FRESH', 'at the same sequence either may stand');
    },
  }),
  runsCase({
    id: 'runs/late-snapshot-knows-no-redaction',
    title: 'a snapshot that was folded before a redaction is never stored over one that knows of it, nor read',
    proves: ['RUN-15', 'RUN-13'],
    needs: ['runs.redaction'],
    async run(bench) {
      const { runs } = bench.tenant;
      const peer = (await bench.peer()).forTenant(bench.tenantId);
      const runId = await failedRun(bench);
      const late = await stalledRefresh(bench, runId);
      await runs.redactEvent(runId, 2, ORDER);
      await late?.goOn();
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
    title: 'a snapshot that is stored after its run was deleted or archived is not read, and removes nothing',
    proves: ['RUN-15', 'RUN-13'],
    async run(bench) {
      const { runs } = bench.tenant;
      const [deleted, archived] = [await failedRun(bench), await failedRun(bench)];
      const late = [await stalledRefresh(bench, deleted), await stalledRefresh(bench, archived)];
      const parts = await exported(bench.tenant, archived);
      await runs.deleteRun(deleted);
      await archive(bench.tenant, archived);
      await late[0]?.goOn();
      expectEqual(await runs.getSnapshot(deleted), null, 'a deleted run has no snapshot');
      await expectCode('RUN_ARCHIVED', 'an archived run says where it is', () => runs.getSnapshot(archived));
      await runs.restoreRun(parts);
      const { runSeq } = await runs.appendEvent(runEvent(bench, { runId: archived }));
      await late[1]?.goOn();
      expectEqual(
        (await wholeLog(bench.tenant, archived)).length,
        runSeq,
        'a restored run stays, with what came since',
      );
      expectEqual((await runs.refreshSnapshot(archived)).snapshot.lastEventSeq, runSeq, 'and its snapshot follows');
    },
  }),
  runsCase({
    id: 'runs/late-snapshot-of-another-history',
    title: 'a snapshot of a history that was replaced by another one is not read',
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
      await late?.goOn();
      for (const snapshot of [await runs.projectSnapshot(runId), (await runs.refreshSnapshot(runId)).snapshot]) {
        const { status, lastEventSeq, consistency } = snapshot;
        expectEqual([status, lastEventSeq, consistency], ['RUNNING', 3, 'CONSISTENT'], 'it is that of the run now');
      }
    },
  }),
  runsCase({
    id: 'runs/restored-runs-stay',
    title: 'readers of snapshots beside archiving and restoring never remove the run, nor what was appended to it',
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
          // So that readers come in between on stores that answer at once.
          await sleep(1);
          await appendNumbered(bench, runId, 1, n);
          await sleep(1);
        }
      };
      await whileWorking(moveToAndFro(), () => readSnapshots(clients, runId));
      expectEqual(numbersOf(await wholeLog(bench.tenant, runId)), [1, 2, 3, 4, 5, 6, 7], 'every event is there');
    },
  }),
];

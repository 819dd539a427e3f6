/** Restored runs: exactly what was exported, completely or not at all (RUN-15, RUN-17). */
import type { RunPart, RunStore } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { upTo } from '../iterate.ts';
import { archive, carriedRun, cutAfter, exported, seenOf } from './carried-runs.ts';
import { appendNumbered, runEvent, wholeLog } from './events.ts';
import { feedMark } from './feed-pages.ts';

/** Returns a changed copy of the parts. */
function forged(parts: readonly RunPart[], change: (parts: RunPart[]) => void): RunPart[] {
  const copy = structuredClone(parts) as RunPart[];
  change(copy);
  return copy;
}

const FORGERIES: Record<string, (parts: RunPart[]) => void> = {
  'a payload': ([part]) => {
    part!.events[2]!.payload = '{"n":99}';
  },
  'a link': ([part]) => {
    part!.events[2]!.link = '0'.repeat(64);
  },
  'an event left out': ([part]) => {
    part!.events.splice(2, 1);
  },
  'events in another order': ([part]) => {
    part!.events.reverse();
  },
  'the last event left out': ([part]) => {
    part!.events.pop();
  },
  'a status': ([part]) => {
    part!.run.status = 'COMPLETED';
  },
  labels: ([part]) => {
    part!.run.labels = { team: 'others' };
  },
  'a head': ([part]) => {
    part!.run.head = '0'.repeat(64);
  },
  'times that decrease': ([part]) => {
    part!.events[3]!.persistedAt = '2001-01-01T00:00:00.000Z';
  },
  'a payload that is not JSON': ([part]) => {
    part!.events[1]!.payload = 'nonsense';
  },
  'another run id': ([part]) => {
    part!.run.runId = 'forged';
  },
};

/** Reads the feed up to an event. Returns the events on the way and the cursor after them. */
async function readTo(runs: RunStore, from: string, last: string): Promise<{ seen: string[]; after: string }> {
  const seen: string[] = [];
  for (let after = from; ; ) {
    // A stalled transaction of another case may hold up the feed for longer than the default timeout of a call.
    const page = await runs.feedPage({ cursor: after, limit: 500, wait: 30_000 });
    seen.push(...page.items.map(({ event }) => `${event.runId} ${event.runSeq}`));
    expect(page.next !== after, `the feed ends before ${last}`);
    after = page.next!;
    if (seen.includes(last)) return { seen, after };
  }
}

async function expectHidden(bench: Bench, runId: string): Promise<void> {
  const { runs } = bench.tenant;
  await expectCode('RUN_ARCHIVED', 'an unfinished run cannot be read', () => runs.fetchEvents(runId));
  await expectCode('RUN_ARCHIVED', 'the operator cannot read it', () => bench.store.runs.fetchEvents(runId));
  await expectCode('RUN_ARCHIVED', 'its head cannot be read', () => runs.headSeq(runId));
  await expectCode('RUN_ARCHIVED', 'its snapshot cannot be read', () => runs.getSnapshot(runId));
  const error = await expectCode('RUN_ARCHIVED', 'nothing can be appended to it', () =>
    runs.appendEvent(runEvent(bench, { runId })),
  );
  expect(/restored/.test(error.message), 'the error says why');
  const { items } = await runs.listRuns();
  expect(!items.some((run) => run.runId === runId), 'it is not listed');
}

export const RESTORE_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/restored-run-is-the-same',
    title: 'a restored run has the same sequences, times, links, labels, status and idempotency keys',
    proves: ['RUN-15', 'RUN-17', 'RUN-4', 'RUN-6'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = bench.id('run');
      const event = runEvent(bench, { runId, eventType: 'RunStarted', labels: { a: 'b' }, payload: { n: 1 } });
      const first = await runs.appendEvent(event);
      await bench.pass(20);
      for (const count of [3, 1, 2]) await appendNumbered(bench, runId, count);
      const before = await seenOf(bench.tenant, runId);
      const parts = await exported(bench.tenant, runId);
      await archive(bench.tenant, runId);
      await bench.pass(20);
      expectEqual(
        await runs.restoreRun(parts),
        { tenantId: bench.tenantId, runId, lastEventSeq: 7, restored: true },
        'the result describes the run',
      );
      expectEqual(await seenOf(bench.tenant, runId), before, 'the run is the same as before');
      const returned = await exported(bench.tenant, runId);
      const rewrites = returned[0]!.run.rewrites!;
      expect(rewrites > parts[0]!.run.rewrites!, 'its rewrites increased');
      const moved = parts.map((part) => ({ ...part, run: { ...part.run, rewrites } }));
      expectEqual(returned, moved, 'everything else is the same when it is exported again');
      const again = await runs.appendEvent(event);
      expectEqual(
        again,
        { ...first, idempotent: true, persisted: false, payloadMatches: true },
        'a stored key returns the original position',
      );
      const next = await runs.appendEvent(runEvent(bench, { runId, eventType: 'RunCompleted' }), { expectedSeq: 7 });
      expectEqual(next.runSeq, 8, 'the run continues at the next sequence');
      expectEqual((await runs.verify(runId)).ok, true, 'the chain verifies');
    },
  }),
  runsCase({
    id: 'runs/restored-and-redacted',
    title: 'redacted events stay redacted in a restored run, and the chain verifies',
    proves: ['RUN-15', 'RUN-17'],
    needs: ['runs.redaction'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = await carriedRun(bench);
      await runs.redactEvent(runId, 3, { by: 'admin', reason: 'asked for' });
      const before = await seenOf(bench.tenant, runId);
      const parts = await exported(bench.tenant, runId);
      expectEqual(parts[0]!.events[2]!.payload, null, 'the redacted payload is not exported');
      await archive(bench.tenant, runId);
      await runs.restoreRun(parts);
      expectEqual(await seenOf(bench.tenant, runId), before, 'the run is the same as before');
      expectEqual((await wholeLog(bench.tenant, runId))[2]!.redacted?.by, 'admin', 'the redaction has its name');
    },
  }),
  runsCase({
    id: 'runs/restored-behind-a-writer',
    title: 'a writer that knew the run before it was archived can continue after another client has restored it',
    proves: ['RUN-4', 'RUN-15'],
    async run(bench) {
      const { runs } = bench.tenant;
      const peer = (await bench.peer()).forTenant(bench.tenantId).runs;
      const runId = await carriedRun(bench, 'long');
      const event = runEvent(bench, { runId, payload: { by: 'peer' } });
      const first = await peer.appendEvent(event);
      const parts = await exported(bench.tenant, runId);
      await archive(bench.tenant, runId);
      await runs.restoreRun(parts);
      const again = { ...first, idempotent: true, persisted: false, payloadMatches: true };
      expectEqual(await peer.appendEvent(event), again, 'the writer’s own key returns the stored position');
      const early = await runs.fetchEvents(runId, { limit: 1 });
      const { runSeq, persistedAt, ...sent } = early[0]!;
      const found = await peer.appendEvent(sent);
      expectEqual(
        [found.idempotent, found.runSeq, found.persistedAt],
        [true, runSeq, persistedAt],
        'other keys return their stored positions',
      );
      const next = await peer.appendEvent(runEvent(bench, { runId }));
      expectEqual(next.runSeq, first.runSeq + 1, 'a new event gets the next sequence');
      expectEqual((await peer.fetchEvents(runId, { afterSeq: first.runSeq })).length, 1, 'the new event is read');
      expectEqual((await runs.verify(runId)).ok, true, 'the chain verifies');
    },
  }),
  runsCase({
    id: 'runs/restore-again-changes-nothing',
    title: 'a run restored twice, even concurrently, exists once',
    proves: ['GEN-8', 'RUN-15'],
    async run(bench) {
      const clients = [bench.tenant, (await bench.peer()).forTenant(bench.tenantId)];
      const runId = await carriedRun(bench, 'long');
      const before = await seenOf(bench.tenant, runId);
      const parts = await exported(bench.tenant, runId);
      expectEqual(
        (await bench.tenant.runs.restoreRun(parts)).restored,
        false,
        'restoring over the same run does nothing',
      );
      await archive(bench.tenant, runId);
      await Promise.all([...clients, ...clients].map((client) => client.runs.restoreRun(parts)));
      expectEqual(await seenOf(bench.tenant, runId), before, 'the run is the same as before');
      expectEqual((await clients[1]!.runs.restoreRun(parts)).restored, false, 'a further restore does nothing');
      expectEqual(await seenOf(clients[1]!, runId), before, 'every client sees the run');
    },
  }),
  runsCase({
    id: 'runs/restore-refuses-forgeries',
    title: 'an altered, truncated or reordered part is rejected, and none of it is written',
    proves: ['RUN-17', 'RUN-15', 'GEN-1'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = await carriedRun(bench);
      const before = await seenOf(bench.tenant, runId);
      const parts = await exported(bench.tenant, runId);
      await archive(bench.tenant, runId);
      for (const [what, change] of Object.entries(FORGERIES)) {
        const error = await runs.restoreRun(forged(parts, change)).catch((reason) => reason);
        expect(
          ['CORRUPT_EVENT', 'INVALID_ARGUMENT', 'INVALID_PAYLOAD'].includes(error?.code),
          `${what}: ${error?.code ?? 'accepted'}`,
        );
        expectEqual(await runs.archiveLocation(runId), 'somewhere', `after ${what} the run is still archived`);
      }
      await expectCode('INVALID_ARGUMENT', 'no parts', () => runs.restoreRun([]));
      await expectCode('INVALID_ARGUMENT', 'something else', () => runs.restoreRun([{} as RunPart]));
      await runs.restoreRun(parts);
      expectEqual(await seenOf(bench.tenant, runId), before, 'the genuine parts are accepted');
    },
  }),
  runsCase({
    id: 'runs/restore-is-whole-or-hidden',
    title: 'an unfinished restore is invisible and can be finished by restoring the same run again',
    proves: ['RUN-15', 'GEN-8'],
    async run(bench) {
      const { runs } = bench.tenant;
      const peer = (await bench.peer()).forTenant(bench.tenantId);
      const runId = await carriedRun(bench, 'long');
      const before = await seenOf(bench.tenant, runId);
      const parts = await exported(bench.tenant, runId);
      await archive(bench.tenant, runId);
      for (const client of [bench.tenant, peer]) {
        await client.runs.restoreRun(cutAfter(parts, 1)).catch(() => undefined);
        await expectHidden(bench, runId);
        expectEqual(await runs.archiveLocation(runId), 'somewhere', 'the location stays known');
      }
      await expectCode('INVALID_ARGUMENT', 'parts without the last one are refused', () =>
        runs.restoreRun(parts.slice(0, 1)),
      );
      expectEqual((await peer.runs.restoreRun(parts)).restored, true, 'another process finishes it');
      expectEqual(await seenOf(bench.tenant, runId), before, 'the run is the same as before');
      expectEqual(
        (await peer.runs.appendEvent(runEvent(bench, { runId }))).runSeq,
        before.head + 1,
        'the run continues',
      );
    },
  }),
  runsCase({
    id: 'runs/restore-given-up',
    title: 'deleting a run that is being restored removes the restored part',
    proves: ['RUN-15'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = await carriedRun(bench, 'long');
      const before = await seenOf(bench.tenant, runId);
      const parts = await exported(bench.tenant, runId);
      await runs.deleteRun(runId);
      await expectCode('RUN_DELETED', 'a deleted run is not restored by default', () => runs.restoreRun(parts));
      await runs.restoreRun(cutAfter(parts, 1), { overDeleted: true }).catch(() => undefined);
      await expectHidden(bench, runId);
      expectEqual(await runs.deleteRun(runId), true, 'there was something to delete');
      expectEqual(await runs.fetchEvents(runId), [], 'nothing of it is left');
      await expectCode('RUN_DELETED', 'the run stays deleted', () => runs.appendEvent(runEvent(bench, { runId })));
      await runs.restoreRun(parts, { overDeleted: true });
      expectEqual(await seenOf(bench.tenant, runId), before, 'the run is the same as before');
    },
  }),
  runsCase({
    id: 'runs/deletion-frees-the-id',
    title:
      'the operator’s view finds a run by id even if another tenant has a deleted or partly restored run with that id',
    proves: ['RUN-15', 'GEN-10'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = await carriedRun(bench, 'long');
      const parts = await exported(bench.tenant, runId);
      await bench.store.forTenant(bench.id('tenant')).runs.handle(runId).append('RunStarted');
      await expectCode('AMBIGUOUS_RUN', 'two tenants have the id', () => bench.store.runs.headSeq(runId));
      await runs.deleteRun(runId);
      expectEqual(await bench.store.runs.headSeq(runId), 1, 'after the deletion one tenant has it');
      await runs.restoreRun(cutAfter(parts, 1), { overDeleted: true }).catch(() => undefined);
      await runs.deleteRun(runId);
      expectEqual(await bench.store.runs.headSeq(runId), 1, 'after the restore was abandoned one tenant has it');
    },
  }),
  runsCase({
    id: 'runs/restore-spares-other-runs',
    title: 'a restore does not overwrite a different run, a run that has grown or a run of another tenant',
    proves: ['RUN-15', 'GEN-10'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = await carriedRun(bench);
      const parts = await exported(bench.tenant, runId);
      await runs.appendEvent(runEvent(bench, { runId }));
      const grown = await seenOf(bench.tenant, runId);
      await expectCode('CONFLICT', 'the run has grown since', () => runs.restoreRun(parts));
      expectEqual(await seenOf(bench.tenant, runId), grown, 'the run is unchanged');
      const other = bench.store.forTenant(bench.id('tenant'));
      await expectCode('TENANT_MISMATCH', 'a view restores only runs of its tenant', () =>
        other.runs.restoreRun(parts),
      );
      const longer = await exported(bench.tenant, await carriedRun(bench, 'long'));
      await archive(bench.tenant, longer[0]!.run.runId);
      await runs.restoreRun(cutAfter(longer, 1)).catch(() => undefined);
      const shorter = forged(longer, (all) => {
        all.splice(1);
        all[0]!.isLast = true;
        all[0]!.run = { ...all[0]!.run, lastEventSeq: 1_000, head: all[0]!.events.at(-1)!.link, status: 'RUNNING' };
        all[0]!.run.updatedAt = all[0]!.events.at(-1)!.persistedAt;
      });
      await expectCode('CONFLICT', 'another history is not mixed in', () => runs.restoreRun(shorter));
      expectEqual((await runs.restoreRun(longer)).restored, true, 'the restore that was started can be finished');
    },
  }),
  runsCase({
    id: 'runs/restored-events-pass-the-feed',
    title: 'the feed yields the events of a restored run again, in order, despite concurrent writes',
    proves: ['RUN-2', 'RUN-15'],
    needs: ['runs.feed'],
    async run(bench) {
      const { runs } = bench.tenant;
      const start = await feedMark(bench);
      const runId = await carriedRun(bench, 'long');
      const parts = await exported(bench.tenant, runId);
      const beside = bench.id('run');
      const mark = async () => {
        await bench.pass(5);
        return `${beside} ${(await runs.appendEvent(runEvent(bench, { runId: beside }))).runSeq}`;
      };
      let place = (await readTo(runs, start, await mark())).after;
      await archive(bench.tenant, runId);
      for (let cut = 0; cut < 2; cut++) {
        await runs.restoreRun(cutAfter(parts, 1)).catch(() => undefined);
        const last = await mark();
        const { seen, after } = await readTo(runs, place, last);
        expectEqual(seen, [last], 'a hidden run is not in the feed');
        place = after;
      }
      await runs.restoreRun(parts);
      const last = await mark();
      const whole = upTo(parts[0]!.run.lastEventSeq).map((seq) => `${runId} ${seq}`);
      expectEqual(
        (await readTo(runs, place, last)).seen,
        [...whole, last],
        'the feed yields all of its events, once and in order',
      );
      const { seen } = await readTo(runs, start, last);
      expectEqual(
        seen.filter((it) => it.startsWith(`${runId} `)),
        whole,
        'a reader that starts earlier gets them once as well',
      );
    },
  }),
];

/** A deleted run id begins again only on purpose, and no write of an earlier life reaches a later one (RUN-18). */
import { type FeedItem, isTidemarkError, type RunEventInput, type Store } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { runsCase } from '../define.ts';
import { all } from '../iterate.ts';
import { appendNumbered, numbersOf, runEvent, wholeLog } from './events.ts';

const NEW = { life: 'new' } as const;
const CALLERS = 8;

/** Appends `count` events to a run, deletes it, and begins its next life with one event. Returns that event. */
async function reborn(bench: Bench, runId: string, count = 3): Promise<RunEventInput> {
  await appendNumbered(bench, runId, count);
  await bench.tenant.runs.deleteRun(runId);
  const first = runEvent(bench, { runId, eventType: 'RunStarted', payload: { n: 'second life' } });
  await bench.tenant.runs.appendEvent(first, NEW);
  return first;
}

/** Returns the numbers of a run's events, and the life they belong to. */
async function stateOf(store: Store, runId: string): Promise<[unknown[], number]> {
  return [numbersOf(await wholeLog(store, runId)), (await store.runs.position(runId))?.life ?? 1];
}

export const LIFE_CASES: readonly ConformanceCase[] = [
  runsCase({
    id: 'runs/new-life-begins-at-one',
    title: 'a deleted run begins its next life at sequence 1, without anything of the earlier life',
    proves: ['RUN-18'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = bench.id('run');
      const events = [1, 2, 3].map((n) => runEvent(bench, { runId, payload: { n }, labels: { life: 'first' } }));
      await runs.appendEvents(events);
      await runs.deleteRun(runId);
      const [again, other] = [{ ...events[1]!, projectId: 'another', labels: { life: 'second' } }, events[0]!];
      const begun = await runs.appendEvents([again, { ...other, projectId: 'another' }], NEW);
      expectEqual(
        begun.map(({ runSeq, persisted, life }) => [runSeq, persisted, life]),
        [
          [1, true, 2],
          [2, true, 2],
        ],
        'keys of the first life are new again, and the results name life 2',
      );
      const peer = (await bench.peer()).forTenant(bench.tenantId);
      expectEqual(await stateOf(peer, runId), [[2, 1], 2], 'every client reads the new life only');
      const third = await runs.appendEvent(runEvent(bench, { runId, projectId: 'another' }), { life: 2 });
      expectEqual([third.runSeq, third.life], [3, 2], 'the life continues');
      const { items } = await runs.listRuns();
      expectEqual(
        items.map(({ projectId, labels, lastEventSeq, life }) => [projectId, labels, lastEventSeq, life]),
        [['another', { life: 'second' }, 3, 2]],
        'the list has the run once, with the scope and labels of the new life',
      );
      await runs.deleteRun(runId);
      const fresh = await runs.appendEvent(runEvent(bench, { runId }), NEW);
      expectEqual([fresh.runSeq, fresh.life], [1, 3], 'the next life is the third');
    },
  }),
  runsCase({
    id: 'runs/appends-name-their-life',
    title: 'from the second life on, an append without the current life stores nothing',
    proves: ['RUN-18', 'RUN-15'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = bench.id('run');
      const old = runEvent(bench, { runId, payload: { n: 'old' } });
      await runs.appendEvent(old);
      const first = await reborn(bench, runId, 0);
      const attempts: Record<string, () => Promise<unknown>> = {
        'a retry of the first life': () => runs.appendEvent(old),
        'a new event without a life': () => runs.appendEvent(runEvent(bench, { runId })),
        'a batch without a life': () => appendNumbered(bench, runId, 2),
        'a fenced append without a life': () => runs.appendEvent(runEvent(bench, { runId }), { expectedSeq: 1 }),
        'an append to life 1': () => runs.appendEvent(runEvent(bench, { runId }), { life: 1 }),
        'a key of the second life without its number': () => runs.appendEvent(first),
        'a checked append to life 1': () =>
          runs.appendEvent(runEvent(bench, { runId }), { rejectInvalidTransitions: true }),
      };
      for (const [name, attempt] of Object.entries(attempts)) await expectCode('RUN_DELETED', name, attempt);
      const error = await expectCode('CONFLICT', 'a life that has not begun', () =>
        runs.appendEvent(runEvent(bench, { runId }), { life: 3 }),
      );
      expectEqual(error.current, 2, 'the error has the current life');
      await expectCode('CONFLICT', 'a later life of an unknown run', () =>
        runs.appendEvent(runEvent(bench, { runId: bench.id('run') }), { life: 2 }),
      );
      expectEqual(await stateOf(bench.tenant, runId), [['second life'], 2], 'nothing was stored');
      const again = await runs.appendEvent(first, { life: 2 });
      expectEqual([again.runSeq, again.persisted, again.life], [1, false, 2], 'duplicates work within the life');
      await runs.deleteRun(runId);
      await expectCode('RUN_DELETED', 'an append to a deleted life', () => runs.appendEvent(first, { life: 2 }));
    },
  }),
  runsCase({
    id: 'runs/new-life-only-after-deletion',
    title: 'a new life is rejected for a live or archived run, and begins life 1 of an unknown one',
    proves: ['RUN-18'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = bench.id('run');
      const first = runEvent(bench, { runId, payload: { n: 1 } });
      const begun = await runs.appendEvent(first, NEW);
      expectEqual([begun.runSeq, begun.life], [1, undefined], 'an unknown run begins its first life');
      const again = await runs.appendEvent(first, NEW);
      expectEqual([again.runSeq, again.persisted], [1, false], 'the retry is a duplicate');
      await expectCode('CONFLICT', 'another event on a live run', () =>
        runs.appendEvent(runEvent(bench, { runId }), NEW),
      );
      await expectCode('CONFLICT', 'a batch with one new event', () =>
        runs.appendEvents([first, runEvent(bench, { runId })], NEW),
      );
      expectEqual(await stateOf(bench.tenant, runId), [[1], 1], 'nothing was added');
      await runs.archiveRun(runId, { location: 'kit:lives', expectedSeq: 1 });
      await expectCode('RUN_ARCHIVED', 'an archived run is not deleted', () =>
        runs.appendEvent(runEvent(bench, { runId }), NEW),
      );
      for (const life of [0, -1, 1.5, Number.NaN, 'old' as 'new', '1' as 'new', null as never])
        await expectCode('INVALID_ARGUMENT', `life ${life} is not a life`, () =>
          runs.appendEvent(runEvent(bench, { runId: bench.id('run') }), { life }),
        );
      const two = [bench.id('run'), bench.id('run')].map((id) => runEvent(bench, { runId: id }));
      await expectCode('INVALID_ARGUMENT', 'a life belongs to one run', () => runs.appendEvents(two, NEW));
    },
  }),
  runsCase({
    id: 'runs/one-caller-begins-a-life',
    title: 'of several callers that begin the next life at once, one does, and the others get a duplicate or CONFLICT',
    proves: ['RUN-18', 'RUN-2'],
    async run(bench) {
      const peer = (await bench.peer()).forTenant(bench.tenantId);
      const clients = [bench.tenant, peer];
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 2);
      await bench.tenant.runs.deleteRun(runId);
      const events = Array.from({ length: CALLERS }, (_, at) => runEvent(bench, { runId, payload: { n: at >> 1 } }));
      // Every event is sent by two clients: the pair of the winner gets its duplicate.
      for (const [at, event] of events.entries()) if (at % 2 === 1) Object.assign(event, events[at - 1]);
      const outcomes = await Promise.all(
        events.map((event, at) => clients[at % 2]!.runs.appendEvent(event, NEW).catch((error: unknown) => error)),
      );
      const codes = outcomes.map((it) => (it instanceof Error ? isTidemarkError(it, 'CONFLICT') && 'CONFLICT' : 'ok'));
      expectEqual(codes.filter((it) => it === 'ok').length, 2, 'one event is stored, and its twin is its duplicate');
      expectEqual(codes.filter((it) => it === 'CONFLICT').length, CALLERS - 2, 'all other callers get CONFLICT');
      const [numbers, life] = await stateOf(peer, runId);
      expectEqual([numbers.length, life], [1, 2], 'life 2 has one event');
    },
  }),
  runsCase({
    id: 'runs/retried-beginning-begins-once',
    title: 'a late retry of the append that began a life does not begin another after that life was deleted',
    proves: ['RUN-18', 'GEN-8'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = bench.id('run');
      const unknown = runEvent(bench, { runId });
      await runs.appendEvent(unknown, NEW);
      await runs.deleteRun(runId);
      await expectCode('RUN_DELETED', 'the append that began life 1', () => runs.appendEvent(unknown, NEW));
      const second = await reborn(bench, runId, 0);
      await runs.deleteRun(runId);
      await expectCode('RUN_DELETED', 'the append that began life 2', () => runs.appendEvent(second, NEW));
      expectEqual(await runs.headSeq(runId), 0, 'the run stays deleted');
      const third = await runs.appendEvent({ ...second, eventId: unknown.eventId }, NEW);
      expectEqual(third.life, 3, 'another event with the same key begins life 3');
    },
  }),
  runsCase({
    id: 'runs/lives-are-different-histories',
    title: 'a new life has other links, higher rewrites, its own snapshot and its own feed items',
    proves: ['RUN-18', 'RUN-17', 'RUN-13'],
    needs: ['runs.feed'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 3);
      const before = await runs.refreshSnapshot(runId);
      const first = { verified: await runs.verify(runId), position: (await runs.position(runId))! };
      await runs.deleteRun(runId);
      await appendTo(bench, runId);
      expectEqual((await runs.position(runId))!.rewrites > first.position.rewrites, true, 'rewrites is higher');
      const snapshot = (await runs.getSnapshot(runId))!;
      expectEqual([snapshot.lastEventSeq, snapshot.life], [1, 2], 'the snapshot is that of the new life');
      expectEqual(before.snapshot.life, undefined, 'a snapshot of the first life names no life');
      const verified = await runs.verify(runId);
      expectEqual([verified.ok, verified.events, verified.life], [true, 1, 2], 'verify checks the new life');
      expect(verified.head !== first.verified.head, 'its links differ');
      expectEqual(
        (await feedOf(bench)).map(({ event, life }) => [event.runSeq, life]),
        [[1, 2]],
        'the feed has the new life only, and names it',
      );
      const [part] = await all(runs.exportRun(runId));
      expectEqual([part!.run.life, part!.events[0]!.life], [2, 2], 'an export names the life');
    },
  }),
  runsCase({
    id: 'runs/life-is-part-of-the-first-link',
    title: 'exported events cannot be moved to another life',
    proves: ['RUN-18', 'RUN-17'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = bench.id('run');
      await reborn(bench, runId);
      const parts = await all(runs.exportRun(runId));
      await runs.deleteRun(runId);
      const moved = (life: number) =>
        parts.map((part) => ({
          ...part,
          run: { ...part.run, life },
          events: part.events.map((event) => ({ ...event, life })),
        }));
      await expectCode('CORRUPT_EVENT', 'the links are those of life 2', () => runs.restoreRun(moved(3)));
      await expectCode('INVALID_ARGUMENT', 'the events are of another life than the run', () =>
        runs.restoreRun(parts.map((part) => ({ ...part, run: { ...part.run, life: 3 } }))),
      );
      expectEqual(await runs.headSeq(runId), 0, 'nothing is restored');
    },
  }),
  runsCase({
    id: 'runs/lives-are-carried',
    title: 'a later life is archived, exported and restored with its number, and an ended one never returns',
    proves: ['RUN-18', 'RUN-15'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 2);
      const old = await all(runs.exportRun(runId));
      await reborn(bench, runId, 0);
      await expectCode('CONFLICT', 'the first life cannot replace the second', () =>
        runs.restoreRun(old, { overDeleted: true }),
      );
      const parts = await all(runs.exportRun(runId));
      await runs.archiveRun(runId, { location: 'kit:lives', expectedSeq: 1 });
      await expectCode('CONFLICT', 'the first life cannot replace the archived second', () =>
        runs.restoreRun(old, { overDeleted: true }),
      );
      expectEqual((await runs.restoreRun(parts)).restored, true, 'the second life is restored');
      expectEqual(await stateOf(bench.tenant, runId), [['second life'], 2], 'it is life 2 again');
      expectEqual((await runs.verify(runId)).ok, true, 'its chain is intact');
      await expectCode('RUN_DELETED', 'appends still name the life', () =>
        runs.appendEvent(runEvent(bench, { runId })),
      );
      expectEqual((await runs.appendEvent(runEvent(bench, { runId }), { life: 2 })).runSeq, 2, 'it continues');
      await runs.deleteRun(runId);
      await expectCode('RUN_DELETED', 'the deleted second life', () => runs.restoreRun(parts));
      await expectCode('CONFLICT', 'the first life, even over a deleted run', () =>
        runs.restoreRun(old, { overDeleted: true }),
      );
      const [removed] = (await bench.tenant.admin.listRemovedRuns()).items;
      expectEqual([removed?.kind, removed?.life], ['deleted', 2], 'the tombstone names the life');
      await runs.restoreRun(parts, { overDeleted: true });
      expectEqual(await stateOf(bench.tenant, runId), [['second life'], 2], 'only the last life can be restored');
    },
  }),
  runsCase({
    id: 'runs/handles-bind-a-life',
    title: 'a handle with a life appends to it, and reads any other life as unknown',
    proves: ['RUN-18'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = bench.id('run');
      await reborn(bench, runId);
      const scope = { projectId: 'project', environmentId: 'test' };
      const [first, second] = [runs.handle(runId, { life: 1, ...scope }), runs.handle(runId, { life: 2, ...scope })];
      expectEqual((await second.append('Progress', { n: 2 })).runSeq, 2, 'the second life takes the event');
      expectEqual(numbersOf(await all(second.events())), ['second life', 2], 'its events are read');
      expectEqual([await second.headSeq(), (await second.snapshot()).life], [2, 2], 'its head and snapshot are read');
      await expectCode('RUN_DELETED', 'the first life takes no event', () => first.append('Progress'));
      expectEqual(await all(first.events()), [], 'it has no events');
      expectEqual(await first.headSeq(), 0, 'it has no head');
      await expectCode('RUN_NOT_FOUND', 'it has no snapshot', () => first.snapshot());
      expectEqual(await runs.getSnapshot(runId, { life: 1 }), null, 'also not a stored one');
      expectEqual(await runs.deleteRun(runId, { life: 1 }), false, 'a late delete of the first life deletes nothing');
      expectEqual(await second.headSeq(), 2, 'the second life is still there');
      const parts = await all(runs.exportRun(runId));
      await runs.archiveRun(runId, { location: 'kit:lives', expectedSeq: 2 });
      expectEqual([await first.headSeq(), await all(first.events())], [0, []], 'an archive is of the second life only');
      await expectCode('RUN_ARCHIVED', 'the second life is archived', () => second.headSeq());
      await runs.restoreRun(parts);
      expectEqual(await runs.deleteRun(runId, { life: 2 }), true, 'its own number deletes it');
    },
  }),
  runsCase({
    id: 'runs/readers-stay-in-their-life',
    title: 'a reader that has read pages of a life never continues with events of the next one',
    proves: ['RUN-18'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 4);
      const read: unknown[] = [];
      for await (const event of runs.readEvents(runId, { limit: 2 })) {
        read.push(event.payload?.n);
        if (read.length === 2) {
          await runs.deleteRun(runId);
          await runs.appendEvents(
            [1, 2, 3, 4, 5].map((n) => runEvent(bench, { runId, payload: { n: -n } })),
            NEW,
          );
        }
      }
      expectEqual(read, [1, 2], 'the reader ends with the life it reads');
      expectEqual(numbersOf(await runs.fetchEvents(runId, { life: 1 })), [], 'life 1 is unknown');
      expectEqual(numbersOf(await runs.fetchEvents(runId, { life: 2, limit: 1 })), [-1], 'life 2 exists');
    },
  }),
  runsCase({
    id: 'runs/stalled-delete-spares-later-lives',
    title: 'a delete that stalls while the run is deleted and begins again removes nothing of the new life',
    proves: ['RUN-18', 'RUN-15'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 2);
      let interrupts = true;
      const stalled = bench.withRuns((engine) => ({
        async remove(run, tombstone, call) {
          if (interrupts) {
            interrupts = false;
            await runs.deleteRun(runId);
            await runs.appendEvent(runEvent(bench, { runId, payload: { n: 'second life' } }), NEW);
          }
          return engine.remove(run, tombstone, call);
        },
      }));
      if (!stalled) return;
      // It may delete the new life as a whole when it reads the run again, but only under that life's own tombstone.
      await stalled.runs.deleteRun(runId, { life: 1 });
      expectEqual(await stateOf(bench.tenant, runId), [['second life'], 2], 'the second life is whole');
      expectEqual((await runs.verify(runId)).ok, true, 'its chain is intact');
    },
  }),
  runsCase({
    id: 'runs/stalled-append-stays-in-its-life',
    title: 'an append that stalls while the run is deleted and begins again stores nothing',
    proves: ['RUN-18'],
    async run(bench) {
      const { runs } = bench.tenant;
      const runId = bench.id('run');
      await appendNumbered(bench, runId, 1);
      const stalled = bench.withRuns((engine) => ({
        async append(appends, call) {
          await runs.deleteRun(runId);
          await runs.appendEvent(runEvent(bench, { runId, payload: { n: 'second life' } }), NEW);
          return engine.append(appends, call);
        },
      }));
      if (!stalled) return;
      await expectCode('RUN_DELETED', 'a late append of the first life', () =>
        stalled.runs.appendEvent(runEvent(bench, { runId }), { expectedSeq: 1 }),
      );
      expectEqual(await stateOf(bench.tenant, runId), [['second life'], 2], 'the second life has its own events only');
    },
  }),
];

/** Begins the next life of a deleted run with one event. */
async function appendTo(bench: Bench, runId: string): Promise<void> {
  await bench.tenant.runs.appendEvent(runEvent(bench, { runId, payload: { n: 1 } }), NEW);
}

/** Returns what the feed has of the case's tenant. */
async function feedOf({ tenant, feedStart }: Bench): Promise<FeedItem[]> {
  const found: FeedItem[] = [];
  for (let cursor = feedStart; ; ) {
    const { items, next } = await tenant.runs.feedPage({ cursor });
    found.push(...items);
    if (next === cursor) return found;
    cursor = next;
  }
}

/**
 * Checks the guarantees of every engine after the stored form of one event was changed in storage: the other runs
 * continue, the damage is recorded and alerted once, and after a repair and a release nothing is missing. The tests of
 * each engine damage its own storage.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FeedItem, FetchOptions, Store, StoreAlert } from '@tidemark/core';
import { runEvent } from './run-event.ts';

export const SICK = { tenantId: 'default', runId: 'sick' };
export const DAMAGED_SEQ = 3;

const MAX_ALERT_MS = 1_000;

export interface Tools {
  /** The alerts that the store has raised so far. */
  alerts: readonly StoreAlert[];
  damage(): Promise<void> | void;
  /** Absent if the engine's storage cannot be repaired. */
  repair?(): Promise<void> | void;
}

/** Appends five events to each of two runs, of which one will be damaged at the third event. */
export async function fillRuns(store: Store): Promise<void> {
  for (let n = 1; n <= 5; n++) {
    await store.runs.appendEvent(runEvent(SICK.runId, `sick-${n}`, { n }));
    await store.runs.appendEvent(runEvent('well', `well-${n}`, { n }));
  }
}

/** Damages a filled store and returns one sentence for each broken guarantee. */
export async function checkDamage(store: Store, tools: Tools): Promise<string[]> {
  const problems: string[] = [];
  const same = (what: string, seen: unknown, wanted: unknown) => {
    if (JSON.stringify(seen) !== JSON.stringify(wanted))
      problems.push(`${what}: ${JSON.stringify(seen)} instead of ${JSON.stringify(wanted)}`);
  };
  await tools.damage();
  const before = await readUntil(store, undefined, (items) => seqsOf(items, 'well').length === 5);
  // The alert is raised before the page that finds the damage is returned.
  same(
    'the alerts',
    tools.alerts.map(({ code, runId }) => [code, runId]),
    [['RUN_QUARANTINED', SICK.runId]],
  );
  if (before.slowestMs > MAX_ALERT_MS) problems.push(`the alert took up to ${Math.round(before.slowestMs)} ms`);
  same('the other run', seqsOf(before.items, 'well'), [1, 2, 3, 4, 5]);
  same('the damaged run', seqsOf(before.items, SICK.runId), [1, 2]);
  const { items: entries } = await store.runs.listQuarantined();
  same(
    'the entries',
    entries.map(({ runId, fromSeq, state }) => [runId, fromSeq, state]),
    [[SICK.runId, DAMAGED_SEQ, 'quarantined']],
  );
  const { ok, problem } = await store.runs.verify(SICK.runId);
  same('verify', [ok, problem?.runSeq], [false, DAMAGED_SEQ]);
  same('events before the damage', (await store.runs.fetchEvents(SICK.runId, { limit: 2 })).length, 2);
  const refused = await store.runs.fetchEvents(SICK.runId).catch((error) => (error as { code: string }).code);
  same('a read of the damage', refused, 'CORRUPT_EVENT');
  const read = (options: FetchOptions) =>
    store.runs.fetchEvents(SICK.runId, options).then(
      (events) => events.map(({ runSeq }) => runSeq),
      (error) => (error as { code: string }).code,
    );
  same('the damage read backwards', await read({ order: 'newest' }), 'CORRUPT_EVENT');
  same('the damaged event alone', await read({ order: 'newest', beforeSeq: 4, limit: 1 }), 'CORRUPT_EVENT');
  same('earlier events read backwards', await read({ order: 'newest', beforeSeq: DAMAGED_SEQ }), [2, 1]);
  const later = await read({ afterSeq: DAMAGED_SEQ });
  const laterBackwards = await read({ order: 'newest', limit: 2 });
  same('later events read backwards', laterBackwards, Array.isArray(later) ? later.toReversed() : later);
  if (!tools.repair) return problems;
  await tools.repair();
  await store.runs.releaseRun(SICK.runId);
  const after = await readUntil(store, before.next, (items) => seqsOf(items, SICK.runId).length >= 3);
  same('the released run', seqsOf(after.items, SICK.runId), [3, 4, 5]);
  const again = await readUntil(store, undefined, (items) => items.length >= 10);
  same('a new reader', seqsOf(again.items, SICK.runId), [1, 2, 3, 4, 5]);
  return problems;
}

/** Reads the feed until a condition holds and the end is reached. On PostgreSQL the end may lag briefly. */
async function readUntil(store: Store, after: string | undefined, isEnough: (items: FeedItem[]) => boolean) {
  const items: FeedItem[] = [];
  let slowestMs = 0;
  const deadline = Date.now() + 10_000;
  for (let next = after; ; ) {
    const began = performance.now();
    const page = await store.runs.feedPage(next === undefined ? {} : { cursor: next });
    slowestMs = Math.max(slowestMs, performance.now() - began);
    items.push(...page.items);
    if (page.next === next && (isEnough(items) || Date.now() > deadline)) return { items, next, slowestMs };
    if (page.next === next) await sleep(50);
    next = page.next;
  }
}

function seqsOf(items: readonly FeedItem[], runId: string): number[] {
  return items.filter((item) => item.event.runId === runId).map((item) => item.event.runSeq);
}

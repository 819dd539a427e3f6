/**
 * Sample runs to export: several commits, labels, a parent, keys of every kind; and their parts in the form of a file.
 */
import type { RunPart, Store } from '@tidemark/core';
import type { Bench } from '../../kit.ts';
import { all } from '../iterate.ts';
import { appendNumbered, runEvent, wholeLog } from './events.ts';

/** Appends a run of many commits. A `long` one takes two parts to export. */
export async function carriedRun(bench: Bench, length: 'short' | 'long' = 'short'): Promise<string> {
  const runId = bench.id('run');
  const { runs } = bench.tenant;
  const start = { eventType: 'RunStarted', labels: { team: 'ops', über: '☂' }, parentRunId: bench.id('parent') };
  await runs.appendEvent(runEvent(bench, { runId, ...start, payload: { n: 0, text: 'é\u2028"\\' } }));
  await appendNumbered(bench, runId, 5);
  const step = { eventType: 'StepStarted', stepId: 's', traceparent: '00-1-2-03', extra: { kept: [1, 2.5, null] } };
  await runs.appendEvent(runEvent(bench, { runId, ...step }));
  if (length === 'long') for (const from of [0, 600]) await appendNumbered(bench, runId, 600, from);
  await runs.appendEvent(runEvent(bench, { runId, eventType: 'RunPaused', planVersion: '2' }));
  return runId;
}

/** Returns the parts of a run after a round trip through JSON text. */
export async function exported(store: Store, runId: string): Promise<RunPart[]> {
  return JSON.parse(JSON.stringify(await all(store.runs.exportRun(runId)))) as RunPart[];
}

/** Returns everything that can be read of a run. */
export async function seenOf(store: Store, runId: string) {
  const { projectedAt: _, version: __, ...snapshot } = await store.runs.projectSnapshot(runId);
  const { items } = await store.runs.listRuns();
  // Ignores whether a snapshot is already stored, which is not a property of the run.
  const { snapshot: ___, ...verified } = await store.runs.verify(runId);
  return {
    log: await wholeLog(store, runId),
    summary: items.find((run) => run.runId === runId),
    head: await store.runs.headSeq(runId),
    verified,
    snapshot,
  };
}

/** Removes a run as an archiver does. */
export async function archive(store: Store, runId: string, location = 'somewhere'): Promise<void> {
  await store.runs.archiveRun(runId, { location, expectedSeq: await store.runs.headSeq(runId) });
}

/** Yields the first parts of a run, then throws. */
export async function* cutAfter(parts: readonly RunPart[], count: number): AsyncGenerator<RunPart, void, undefined> {
  yield* parts.slice(0, count);
  throw new Error('cut');
}

/** Pages that do not match their chain are read again; all other failures are reported at once. */
import { expect, it, vi } from 'vitest';
import type { LogPage, RunHead, StoredRunEvent } from '../engine/runs.ts';
import { fetchChecked, fetchLive } from './checked-page.ts';

const RUN = { tenantId: 't', runId: 'r' };

/**
 * Reads a page whose first event is not the next one. The run's `rewrites` takes each of these values in turn, and then
 * keeps the last one.
 */
function read(rewrites: number[], events: unknown[] = [{ runSeq: 7, commitIndex: 1 }]) {
  const left = [...rewrites];
  const page = { events: events as StoredRunEvent[], lead: [], before: null } satisfies LogPage;
  const fetch = vi.fn(async () => page);
  const head = vi.fn(async () => ({ seq: 9, rewrites: left.length > 1 ? left.shift() : left[0] }) as RunHead);
  return { events: fetchChecked({ fetch, head }, RUN, 0, 10, {}), fetch, head };
}

it('reads a page three times before it reports the run as corrupt', async () => {
  const { events, fetch } = read([0]);
  await expect(events).rejects.toMatchObject({ code: 'CORRUPT_EVENT', runSeq: 1 });
  expect(fetch).toHaveBeenCalledTimes(3);
});

it('starts counting again if the run was rewritten', async () => {
  const { events, fetch } = read([0, 0, 1]);
  await expect(events).rejects.toMatchObject({ code: 'CORRUPT_EVENT' });
  expect(fetch).toHaveBeenCalledTimes(5);
});

it('does not retry a failure that is not damage', async () => {
  const { events, fetch, head } = read(
    [0],
    [{ runSeq: 1, commitIndex: 1, payload: null, redaction: null, labels: 7n }],
  );
  await expect(events).rejects.toThrow(TypeError);
  expect([fetch, head].map((it) => it.mock.calls.length)).toEqual([1, 0]);
});

/**
 * Reads an empty page of a run with nine events. The run's rewrites take each value of `rewrites` in turn, and then
 * keep the last one.
 */
function readEmpty(rewrites: number[], afterSeq: number) {
  const left = [...rewrites];
  const fetch = vi.fn(async () => ({ events: [], lead: [], before: null }) satisfies LogPage);
  const head = vi.fn(async () => ({ seq: 9, rewrites: left.length > 1 ? left.shift() : left[0] }) as RunHead);
  return { events: fetchLive({ fetch, head }, RUN, afterSeq, 10, {}), fetch };
}

it('reports events that stay missing while the run is not rewritten', async () => {
  const { events, fetch } = readEmpty([0], 8);
  await expect(events).rejects.toMatchObject({ code: 'CORRUPT_EVENT', runSeq: 9 });
  expect(fetch).toHaveBeenCalledTimes(2);
});

it('reads an empty page again each time the run was rewritten', async () => {
  const { events, fetch } = readEmpty([0, 1, 2], 8);
  await expect(events).rejects.toMatchObject({ code: 'CORRUPT_EVENT', runSeq: 9 });
  expect(fetch).toHaveBeenCalledTimes(4);
});

it.each([9, 10])('finds nothing after event %s, the last one being 9', async (afterSeq) => {
  const { events, fetch } = readEmpty([0], afterSeq);
  expect(await events).toEqual([]);
  expect(fetch).toHaveBeenCalledTimes(1);
});

/** Pages that do not fit their chain are read again; every other failure is reported at once. */
import { expect, it, vi } from 'vitest';
import type { LogPage, RunHead, StoredRunEvent } from '../engine/runs.ts';
import { FIRST_LINK } from './chain.ts';
import { fetchChecked } from './checked-page.ts';

const RUN = { tenantId: 't', runId: 'r' };

/** Reads a page whose first event is not the next one. The run has each of `rewrites` in turn, then the last one. */
function read(rewrites: number[], events: unknown[] = [{ runSeq: 7, commitIndex: 1 }]) {
  const left = [...rewrites];
  const page = { events: events as StoredRunEvent[], lead: [], linkBefore: FIRST_LINK } satisfies LogPage;
  const fetch = vi.fn(async () => page);
  const head = vi.fn(async () => ({ seq: 9, rewrites: left.length > 1 ? left.shift() : left[0] }) as RunHead);
  return { events: fetchChecked({ fetch, head }, RUN, 0, 10, {}), fetch, head };
}

it('reads a page three times before it reports the run as corrupt', async () => {
  const { events, fetch } = read([0]);
  await expect(events).rejects.toMatchObject({ code: 'CORRUPT_EVENT', runSeq: 1 });
  expect(fetch).toHaveBeenCalledTimes(3);
});

it('starts to count again when the run was rewritten', async () => {
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

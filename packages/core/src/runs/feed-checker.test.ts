/**
 * How the feed classifies an event that does not match its chain: by the run's own log, and by changes to the run in
 * the meantime.
 */
import { expect, it, vi } from 'vitest';
import { TidemarkError } from '../contracts/errors.ts';
import type { LogPage, RunEngine, RunHead, RunTombstone, StoredRunEvent } from '../engine/runs.ts';
import { missingEvent } from './chain.ts';
import { FeedChecker } from './feed-checker.ts';
import type { Quarantine } from './quarantine.ts';

const RUN = { tenantId: 't', runId: 'r' };
const DELETED: RunTombstone = { kind: 'deleted', at: 1 };
const HELD = { ...RUN, runSeq: 1, index: 0 };

const live = (rewrites: number) => ({ seq: 1, rewrites }) as RunHead;

/**
 * Checks a page with one damaged event. The run's head takes each of these values in turn, and then keeps the last one.
 */
function check(heads: (RunHead | RunTombstone | null | Error)[], { runSeq = 1, stored = [] as number[] } = {}) {
  const left = [...heads];
  const events = stored.map((seq) => ({ runSeq: seq }) as StoredRunEvent);
  const engine = {
    head: vi.fn(async () => {
      const head = left.length > 1 ? left.shift()! : left[0]!;
      if (head instanceof Error) throw head;
      return head;
    }),
    fetch: vi.fn(async () => ({ events, lead: [], before: null }) satisfies LogPage),
  };
  const note = vi.fn(async () => true);
  const checker = new FeedChecker(engine as unknown as RunEngine, { note } as unknown as Quarantine);
  const entries = [{ cursor: 'c', run: RUN, runSeq, damage: 'it is damaged' }];
  const page = { after: null, entries, quarantined: [], isLastRead: false };
  return { held: checker.check(page, { addEvent: () => {}, addNotice: () => {}, count: () => 0 }, {}), note, engine };
}

it.each([
  ['was deleted', [DELETED]],
  ['was erased', [null]],
  ['is deleted during the check', [live(0), DELETED]],
  ['is erased during the check', [live(0), null]],
])('records nothing about a run that %s', async (_, heads) => {
  const { held, note } = check(heads);
  expect(await held).toEqual([]);
  expect(note).not.toHaveBeenCalled();
});

it('records damage that is also in the log of the run', async () => {
  const { held, note } = check([live(0)]);
  expect(await held).toEqual([HELD]);
  expect(note).toHaveBeenCalledOnce();
});

it('records the first missing event when events before the damaged one are missing', async () => {
  const { held, note } = check([live(0)], { runSeq: 5, stored: [1, 2] });
  expect(await held).toEqual([{ ...HELD, runSeq: 3 }]);
  expect(note).toHaveBeenCalledWith(RUN, 3, 'the event is missing', {});
});

it('checks the log again if the run was rewritten during the check', async () => {
  const { held, engine } = check([live(0), live(1)]);
  expect(await held).toEqual([HELD]);
  expect(engine.head).toHaveBeenCalledTimes(4);
});

it('records damage of a run whose head cannot be decoded', async () => {
  const { held, note } = check([missingEvent(RUN, 1)]);
  expect(await held).toEqual([HELD]);
  expect(note).toHaveBeenCalledOnce();
});

it('fails when the head cannot be read', async () => {
  const { held, note } = check([new TidemarkError('UNAVAILABLE', 'not now')]);
  await expect(held).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(note).not.toHaveBeenCalled();
});

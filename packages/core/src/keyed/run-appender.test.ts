/** An append that loses a race is decided by the state that the refused commit returned, without reading again. */
import { expect, it } from 'vitest';
import type { Journal } from '../engine/journal.ts';
import { memoryJournal } from '../memory/journal.ts';
import { memoryRecords } from '../memory/records.ts';
import { Runs } from '../runs/store.ts';
import { StoreContext } from '../tools/context.ts';
import { KeyedRuns } from './runs.ts';

/** Opens two stores over one journal, like two processes, and counts the reads of the first. */
function setUp() {
  const context = new StoreContext();
  const journal: Journal = memoryJournal(context);
  const records = memoryRecords(context);
  const counts = { head: 0, find: 0, commit: 0 };
  const counted = new Proxy(journal, {
    get: (target, key) => {
      if (Object.hasOwn(counts, key)) counts[key as keyof typeof counts]++;
      return (Reflect.get(target, key, target) as () => void).bind(target);
    },
  });
  const open = (of: Journal) => new Runs(context, new KeyedRuns(of, records), { tenantId: 't' });
  return { own: open(counted), other: open(journal), counts };
}

it('rejects a fenced append after one rejected commit and no read', async () => {
  const { own, other, counts } = setUp();
  await own.appendEvent({ runId: 'r', eventType: 'Mine' });
  await other.appendEvent({ runId: 'r', eventType: 'Theirs' });
  Object.assign(counts, { head: 0, find: 0, commit: 0 });
  const fenced = own.appendEvents([{ runId: 'r', eventType: 'Late' }], { expectedSeq: 1 });
  await expect(fenced).rejects.toMatchObject({ code: 'SEQ_CONFLICT' });
  expect(counts).toEqual({ head: 0, find: 0, commit: 1 });
});

it('commits again on top of the other writer, without a read', async () => {
  const { own, other, counts } = setUp();
  await own.appendEvent({ runId: 'r', eventType: 'Mine' });
  await other.appendEvent({ runId: 'r', eventType: 'Theirs' });
  Object.assign(counts, { head: 0, find: 0, commit: 0 });
  expect(await own.appendEvent({ runId: 'r', eventType: 'Next' })).toMatchObject({ runSeq: 3 });
  expect(counts).toEqual({ head: 0, find: 0, commit: 2 });
});

/** Restores and removals in every state of a run: the events to write, and the refusals. */
import { describe, expect, it } from 'vitest';
import type { RestoredPart, RunHead, RunTombstone } from '../engine/runs.ts';
import { hexOf } from './event-forms.ts';
import { checkRemoval, planRestore } from './restore-plan.ts';

const RUN = { tenantId: 't', runId: 'r' };
const [LINK, OTHER] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const head = (change: object = {}) =>
  ({ ...RUN, seq: 4, link: LINK, life: 1, rewrites: 2, ...change }) as unknown as RunHead;
const PART = { head: head(), events: [3, 4].map((runSeq) => ({ runSeq })), isLast: true } as unknown as RestoredPart;
const RESTORING: RunTombstone = { kind: 'restoring', at: 5, head: hexOf(LINK as never) };
const DELETED: RunTombstone = { kind: 'deleted', at: 5 };
const ARCHIVED = { kind: 'archived', at: 5, archive: 'elsewhere' } as unknown as RunTombstone;

const plan = (stored: RunHead | RunTombstone | null, restored = 0, part = PART, overDeleted = false) =>
  planRestore(RUN, part, { head: stored, restored }, { now: 9, overDeleted });
const first = { ...PART, events: [{ runSeq: 1 }, { runSeq: 2 }] } as unknown as RestoredPart;

describe('a part of a restore', () => {
  it('needs nothing when the same run is stored', () => {
    const { link } = PART.head;
    expect(plan(head({ link }))).toBeNull();
  });

  it.each([
    ['another last event', { seq: 5 }],
    ['another history', { link: OTHER }],
  ])('is refused when a run with %s is stored', (_, change) => {
    expect(() => plan(head(change))).toThrow(expect.objectContaining({ code: 'CONFLICT', runId: 'r' }));
  });

  it('is rejected for a deleted run unless that is intended', () => {
    expect(() => plan(DELETED, 0, first)).toThrow(expect.objectContaining({ code: 'RUN_DELETED' }));
    expect(plan(DELETED, 0, first, true)!.tombstone).toEqual({ ...RESTORING, at: 9 });
  });

  it('begins with the first event, and keeps where the archive is', () => {
    expect(plan(null, 0, first)).toEqual({ tombstone: { ...RESTORING, at: 9 }, events: first.events });
    expect(plan(ARCHIVED, 0, first)!.tombstone).toEqual({ ...RESTORING, at: 9, archive: 'elsewhere' });
    for (const stored of [null, ARCHIVED])
      expect(() => plan(stored, 2)).toThrow(expect.objectContaining({ code: 'CONFLICT', current: 0 }));
  });

  it('continues a restore after the events that it has written', () => {
    const seqs = (restored: number) => plan(RESTORING, restored)!.events.map(({ runSeq }) => runSeq);
    expect([2, 3, 4].map(seqs)).toEqual([[3, 4], [4], []]);
    expect(plan(RESTORING, 2)!.tombstone).toBe(RESTORING);
    expect(() => plan(RESTORING, 1)).toThrow(expect.objectContaining({ code: 'CONFLICT', current: 1 }));
  });

  it('is rejected while another history is being restored', () => {
    const other = { ...RESTORING, head: hexOf(OTHER as never) };
    expect(() => plan(other, 2)).toThrow(expect.objectContaining({ code: 'CONFLICT', current: other.head }));
  });
});

describe('a removal', () => {
  const remove = (stored: RunHead | RunTombstone | null, tombstone = DELETED, expected = {}) =>
    checkRemoval(RUN, stored, tombstone, expected);

  it('has something to remove only where a run is, or a deletion ends a restore', () => {
    expect(remove(head())).toBe(true);
    expect(remove(head(), ARCHIVED)).toBe(true);
    expect(remove(null)).toBe(false);
    expect(remove(null, DELETED, { expectedSeq: 4, expectedRewrites: 2 })).toBe(false);
    expect(remove(RESTORING)).toBe(true);
    expect(remove(RESTORING, ARCHIVED)).toBe(false);
    expect(remove(RESTORING, DELETED, { expectedSeq: 4 })).toBe(false);
    for (const stored of [DELETED, ARCHIVED]) expect(remove(stored)).toBe(false);
  });

  it('is rejected when the run has other events or was rewritten', () => {
    expect(remove(head(), DELETED, { expectedSeq: 4, expectedRewrites: 2 })).toBe(true);
    expect(() => remove(head(), DELETED, { expectedSeq: 3 })).toThrow(
      expect.objectContaining({ code: 'SEQ_CONFLICT' }),
    );
    expect(() => remove(head(), DELETED, { expectedSeq: 4, expectedRewrites: 1 })).toThrow(
      expect.objectContaining({ code: 'CONFLICT' }),
    );
  });
});

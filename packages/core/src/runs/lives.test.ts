/** Which life an append belongs to, for every state of the run. */
import { describe, expect, it } from 'vitest';
import { checkAppendLife } from '../checks/life.ts';
import type { RunAppend, RunHead, RunTombstone } from '../engine/runs.ts';
import { isDeletedLife, lifeOfAppend } from './lives.ts';

const FIRST = '8f14e45f-ceea-467f-a9d8-2f1f5c1a3b7e';

const append = (life?: number | 'new') =>
  ({ run: { tenantId: 't', runId: 'r' }, events: [{ eventId: FIRST }], life }) as unknown as RunAppend;
const live = (life: number) => ({ life, seq: 3 }) as RunHead;
const deleted = (life?: number, begunBy?: string): RunTombstone => ({ kind: 'deleted', at: 5, life, begunBy });
const outcome = (of: RunAppend, head: RunHead | RunTombstone | null, format = 2): unknown => {
  try {
    return lifeOfAppend(of, head, format);
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe('the life of an append', () => {
  it.each([
    ['an unknown run', null, [1, 1, 'CONFLICT', 1]],
    ['a run in life 1', live(1), [1, 1, 'CONFLICT', 1]],
    ['a run in life 2', live(2), ['RUN_DELETED', 'RUN_DELETED', 2, 2]],
    ['a run in life 3', live(3), ['RUN_DELETED', 'RUN_DELETED', 'RUN_DELETED', 3]],
    ['a run deleted in life 1', deleted(), ['RUN_DELETED', 'RUN_DELETED', 'RUN_DELETED', 2]],
    ['a run deleted in life 4', deleted(4), ['RUN_DELETED', 'RUN_DELETED', 'RUN_DELETED', 5]],
    ['an archived run', { kind: 'archived', at: 5 }, Array(4).fill('RUN_ARCHIVED')],
    ['a run being restored', { kind: 'restoring', at: 5 }, Array(4).fill('RUN_ARCHIVED')],
  ] as const)('on %s', (_, head, expected) => {
    const lives = [undefined, 1, 2, 'new'] as const;
    expect(lives.map((life) => outcome(append(life), head))).toEqual(expected);
  });

  it('does not start for the append that started the deleted life', () => {
    expect(outcome(append('new'), deleted(2, FIRST))).toBe('RUN_DELETED');
    expect(outcome(append('new'), deleted(2, 'another event'))).toBe(3);
  });

  it('cannot be a later one in a store that older versions write to', () => {
    expect(outcome(append('new'), deleted(), 1)).toBe('UNSUPPORTED');
    expect(outcome(append('new'), null, 1)).toBe(1);
  });

  it.each([0, -1, 1.5, 2 ** 31, '2', 'old', null, {}])('is not %s', (life) => {
    expect(() => checkAppendLife(life)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', field: 'life' }));
  });
});

describe('a tombstone', () => {
  it('rejects its life and earlier ones', () => {
    expect([1, 2, 3].map((life) => isDeletedLife(deleted(2), life))).toEqual([true, true, false]);
    expect(isDeletedLife({ kind: 'archived', at: 5 }, 1)).toBe(false);
  });
});

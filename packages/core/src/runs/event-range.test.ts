/** The range after a page: `null` as soon as no event can be left. */
import { expect, it } from 'vitest';
import { type EventRange, rangeAfter } from './event-range.ts';

const events = (...seqs: number[]) => seqs.map((runSeq) => ({ runSeq }));

it.each([
  ['an empty page', {}, [], null],
  ['a page that is not full', {}, [1], null],
  ['a full page', {}, [1, 2], { afterSeq: 2 }],
  ['a full page before the last event', { beforeSeq: 4 }, [1, 2], { afterSeq: 2 }],
  ['the last full page', { beforeSeq: 3 }, [1, 2], null],
  ['a full page of newest events', { order: 'newest', beforeSeq: 5 }, [4, 3], { beforeSeq: 3 }],
  ['newest events down to the second', { order: 'newest' }, [3, 2], { beforeSeq: 2 }],
  ['newest events down to the first', { order: 'newest' }, [2, 1], null],
])('after %s', (_, change, seqs, next) => {
  const range = { afterSeq: 0, limit: 2, ...change } as EventRange;
  expect(rangeAfter(range, events(...seqs))).toEqual(next === null ? null : { ...range, ...next });
});

import { expect, it, vi } from 'vitest';
import { HeadMemory, headKey } from './head-memory.ts';

const run = headKey({ tenantId: 't', runId: 'r' });

it('counts a loss noticed by several readers as one incident', () => {
  const heads = new HeadMemory();
  expect(heads.isNewLoss(run, { knownSeq: 7, currentSeq: 3 })).toBe(true);
  // A snapshot that was behind, the projector with the same head, and the same reader a second time.
  expect(heads.isNewLoss(run, { knownSeq: 5, currentSeq: 3 })).toBe(false);
  expect(heads.isNewLoss(run, { knownSeq: 6, currentSeq: 4 })).toBe(false);
  expect(heads.isNewLoss(run, { knownSeq: 8, currentSeq: 3 })).toBe(false);
  expect(heads.isNewLoss(headKey({ tenantId: 't', runId: 'other' }), { knownSeq: 5, currentSeq: 3 })).toBe(true);
  expect(heads.isNewLoss(run, { knownSeq: 9, currentSeq: 8 })).toBe(true);
});

it('reports a later loss of the same run, and never the same one twice', () => {
  const heads = new HeadMemory();
  expect(heads.isNewLoss(run, { knownSeq: 7, currentSeq: 3 })).toBe(true);
  const now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockReturnValue(now + 61_000);
  expect(heads.isNewLoss(run, { knownSeq: 7, currentSeq: 3 })).toBe(false);
  expect(heads.isNewLoss(run, { knownSeq: 5, currentSeq: 4 })).toBe(true);
  clock.mockRestore();
});

import { describe, expect, it } from 'vitest';
import type { JobState } from '../contracts/jobs.ts';
import { checkClaim, isTerminal, mayMove } from './states.ts';

const STATES: JobState[] = ['pending', 'claimed', 'running', 'completed', 'failed', 'cancelled'];

describe('job states (KV-7)', () => {
  it.each(['completed', 'failed', 'cancelled'] as const)('keeps %s for good', (state) => {
    expect(isTerminal(state)).toBe(true);
    expect(STATES.filter((to) => mayMove(state, to))).toEqual([]);
  });

  it('claims only what is pending, and gives claimed and running jobs back', () => {
    expect(STATES.filter((from) => mayMove(from, 'claimed'))).toEqual(['pending']);
    expect(STATES.filter((from) => mayMove(from, 'pending'))).toEqual(['claimed', 'running']);
  });

  it('refuses a worker whose claim is not the current one, or whose job is over', () => {
    expect(() => checkClaim({ state: 'running', claim_id: 'mine' }, 'mine')).not.toThrow();
    const lost = expect.objectContaining({ code: 'CLAIM_LOST' });
    expect(() => checkClaim({ state: 'running', claim_id: 'theirs' }, 'mine')).toThrow(lost);
    expect(() => checkClaim({ state: 'completed', claim_id: 'mine' }, 'mine')).toThrow(lost);
  });
});

import { describe, expect, it } from 'vitest';
import type { JobState } from '../contracts/jobs.ts';
import { claimLost, isTerminal, mayMove } from './states.ts';

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

  it('tells a worker that lost its claim what became of the job', () => {
    expect(claimLost('completed')).toMatchObject({ code: 'CLAIM_LOST', field: 'claimId', current: 'completed' });
    expect(claimLost(null).message).toContain('no such job');
  });
});

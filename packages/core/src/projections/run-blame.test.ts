/** Blame of the built-in snapshot equals the result of comparing the snapshots before and after each event. */
import { describe, expect, it } from 'vitest';
import type { RunSnapshot } from '../contracts/run-state.ts';
import { memoryStore } from '../memory/store.ts';
import { blameRun } from './run-blame.ts';

const file = { uri: 's3://bucket/a', kind: 'csv' };
const EVENTS: [type: string, stepId?: string, payload?: Record<string, unknown>, attempt?: number][] = [
  ['RunQueued'],
  ['RunStarted'],
  ['Progress', 'c'],
  ['StepStarted', 'a'],
  ['StepStarted', 'b'],
  ['Progress', 'later'],
  ['Progress', 'never-a-step'],
  ['StepFailed', 'a', { errorCode: 'E1', errorMessage: 'no', artifacts: [file] }],
  ['RunResumed'],
  ['StepStarted', 'a', {}, 2],
  ['StepCompleted', 'b', { artifacts: [file, file] }],
  ['StepFailed', 'a', { errorCode: 'E2' }, 2],
  ['StepSkipped', 'c'],
  ['StepStarted', 'later'],
  ['StepCompleted', 'later', { artifacts: [file] }],
  ['RunFailed', undefined, { errorCode: 'E2', retryable: true }],
];

function leavesOf(value: unknown, path = '', leaves: Record<string, string> = {}): Record<string, string> {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0)
    leaves[path] = JSON.stringify(value);
  else for (const [key, member] of Object.entries(value)) leavesOf(member, `${path}/${key}`, leaves);
  return leaves;
}

function stateOf({ projectedAt: _, version: __, freshness: ___, lastEventSeq: ____, ...state }: RunSnapshot) {
  return leavesOf(state);
}

describe('blameRun', () => {
  it('names the last event that changed each path, at every sequence', async () => {
    const store = memoryStore();
    const run = store.runs.handle('r');
    const expected: Record<string, number> = {};
    let before: Record<string, string> = {};
    for (const [index, [type, stepId, payload, logicalAttemptId = 1]] of EVENTS.entries()) {
      const seq = index + 1;
      await run.append(type, payload, { stepId, logicalAttemptId, emittedAt: `2026-02-16T09:30:0${index % 10}.000Z` });
      const after = stateOf(await run.snapshot());
      for (const path of Object.keys(before)) if (!(path in after)) delete expected[path];
      for (const path of Object.keys(after)) if (before[path] !== after[path]) expected[path] = seq;
      before = after;
      const blame = await blameRun(store, 'r', { atSeq: seq });
      expect(Object.keys(blame).sort()).toEqual(Object.keys(after).sort());
      // A path may have been rewritten with the same value; it is never blamed on an earlier event.
      for (const path of Object.keys(after)) expect(blame[path]).toBeGreaterThanOrEqual(expected[path]!);
    }
    const blame = await blameRun(store, 'r');
    expect(blame).toMatchObject({
      '/status': 16,
      '/startedAt': 2,
      '/steps/0/status': 12,
      '/steps/0/stepId': 4,
      '/steps/0/error/code': 12,
      '/steps/1/status': 11,
      '/steps/2/status': 13,
      '/artifacts/0/uri': 8,
      '/artifacts/2/kind': 11,
      '/violations/0/reason': 9,
      '/consistency': 9,
      '/error/code': 16,
      '/tenantId': 1,
      '/steps/3/stepId': 14,
      '/steps/3/status': 15,
    });
  });

  it('throws RUN_NOT_FOUND for an unknown run', async () => {
    await expect(blameRun(memoryStore(), 'r')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });
});

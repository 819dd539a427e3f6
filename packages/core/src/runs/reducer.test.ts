import { describe, expect, it } from 'vitest';
import type { RunEventRecord } from '../contracts/run-events.ts';
import { RunFold, reduceRun } from './reducer.ts';
import { nextRunStatus } from './transitions.ts';

let seq = 0;
const at = (second: number) => `2026-02-16T09:00:${String(second).padStart(2, '0')}.000Z`;

function event(eventType: string, fields: Partial<RunEventRecord> = {}): RunEventRecord {
  seq += 1;
  return {
    eventId: `00000000-0000-4000-8000-${String(seq).padStart(12, '0')}`,
    eventType,
    emittedAt: at(seq % 60),
    runId: 'r',
    tenantId: 't',
    projectId: 'p',
    environmentId: 'e',
    planId: 'plan',
    planVersion: '1',
    engineAttemptId: 1,
    logicalAttemptId: 1,
    idempotencyKey: String(seq),
    runSeq: seq,
    persistedAt: at(seq % 60),
    ...fields,
  };
}

function log(...events: (() => RunEventRecord)[]): RunEventRecord[] {
  seq = 0;
  return events.map((make) => make());
}

describe('RunFold (RUN-10, RUN-11)', () => {
  it('folds a run with a retried step', () => {
    const events = log(
      () => event('RunQueued'),
      () => event('RunStarted'),
      () => event('StepStarted', { stepId: 'charge' }),
      () =>
        event('StepFailed', {
          stepId: 'charge',
          payload: { errorCode: 'DECLINED', errorMessage: 'no funds', retryable: true },
        }),
      () => event('StepStarted', { stepId: 'charge', logicalAttemptId: 2 }),
      () =>
        event('StepCompleted', {
          stepId: 'charge',
          logicalAttemptId: 2,
          payload: {
            artifacts: [
              { uri: 'a://1', kind: 'receipt' },
              'odd',
              { kind: 'receipt' },
              { uri: 'a://2' },
              { uri: 1, kind: 'receipt' },
            ],
          },
        }),
      () => event('StepSkipped', { stepId: 'mail' }),
      () => event('RunCompleted'),
    );
    expect(reduceRun(events, { now: 0 })).toMatchObject({
      status: 'COMPLETED',
      lastEventSeq: 8,
      startedAt: at(2),
      completedAt: at(8),
      totalDurationMs: 6_000,
      consistency: 'CONSISTENT',
      artifacts: [{ uri: 'a://1', kind: 'receipt' }],
      steps: [
        {
          stepId: 'charge',
          status: 'SUCCESS',
          logicalAttemptId: 2,
          startedAt: at(5),
          completedAt: at(6),
          durationMs: 1_000,
        },
        { stepId: 'mail', status: 'SKIPPED' },
      ],
      projectedAt: '1970-01-01T00:00:00.000Z',
      version: 1,
    });
  });

  it('produces the same state when it continues from a snapshot at any point', () => {
    const events = log(
      () => event('Custom'),
      () => event('RunQueued'),
      () => event('RunStarted'),
      () => event('StepStarted', { stepId: 'a' }),
      () => event('RunPaused'),
      () => event('StepCompleted', { stepId: 'a' }),
      () => event('RunResumed'),
      () => event('RunCancelled'),
    );
    const whole = reduceRun(events, { now: 0 });
    for (let cut = 1; cut < events.length; cut++) {
      const from = JSON.parse(JSON.stringify(reduceRun(events.slice(0, cut), { now: 0 })));
      expect({ ...reduceRun(events, { from, now: 0 }), version: 1 }).toEqual(whole);
    }
  });

  it('records an invalid transition, leaves the status unchanged and advances the sequence', () => {
    const snapshot = reduceRun(
      log(
        () => event('RunStarted'),
        () => event('RunCompleted'),
        () => event('RunPaused'),
      ),
      { now: 0 },
    );
    expect(snapshot).toMatchObject({ status: 'COMPLETED', lastEventSeq: 3, consistency: 'INCONSISTENT' });
    expect(snapshot.violations).toMatchObject([{ runSeq: 3, eventType: 'RunPaused', reason: 'the run is COMPLETED' }]);
  });

  it.each(['RunFailed', 'RunCancelled'])('knows no duration of a run that ended before it started: %s', (eventType) => {
    const ended = log(
      () => event('RunQueued'),
      () => event(eventType),
    );
    const snapshot = reduceRun(ended, { now: 0 });
    expect(snapshot).toMatchObject({ completedAt: ended[1]!.emittedAt, violations: [] });
    expect(snapshot).not.toHaveProperty('totalDurationMs');
    expect(snapshot).not.toHaveProperty('startedAt');
  });

  it('takes nothing from a run event that is invalid', () => {
    const events = log(
      () => event('RunCompleted', { payload: { artifacts: [{ uri: 's3://bucket/a', kind: 'csv' }] } }),
      () => event('RunStarted'),
      () => event('RunQueued'),
      () => event('RunResumed'),
    );
    const snapshot = reduceRun(events, { now: 0 });
    expect(snapshot).toMatchObject({ status: 'RUNNING', startedAt: events[1]!.emittedAt, artifacts: [] });
    expect(snapshot.violations.map(({ runSeq, reason }) => [runSeq, reason])).toEqual([
      [1, 'the run has not started'],
      [3, 'the run is RUNNING'],
      [4, 'the run is RUNNING'],
    ]);
    expect(snapshot).not.toHaveProperty('completedAt');
    expect(snapshot.queued).not.toBe(true);
  });

  it('reports an invalid event once', () => {
    const fold = new RunFold();
    const invalid = log(() => event('RunResumed'))[0]!;
    expect([fold.apply(invalid), fold.apply(invalid)]).toEqual([
      expect.objectContaining({ eventId: invalid.eventId }),
      null,
    ]);
  });

  it('is not affected by changes to a returned snapshot', () => {
    const [start, step] = log(
      () => event('RunStarted'),
      () => event('StepStarted', { stepId: 'a' }),
    );
    const fold = new RunFold();
    fold.apply(start!);
    fold
      .snapshot(0)
      .steps.push({ stepId: 'x', status: 'FAILED', logicalAttemptId: 1, engineAttemptId: 1, artifacts: [] });
    fold.apply(step!);
    expect(fold.snapshot(0).steps.map((it) => it.stepId)).toEqual(['a']);
  });
});

describe('nextRunStatus', () => {
  it('keeps the status for steps, unknown types and invalid transitions', () => {
    expect(['StepStarted', 'Custom', 'RunResumed'].map((type) => nextRunStatus('RUNNING', type))).toEqual([
      'RUNNING',
      'RUNNING',
      'RUNNING',
    ]);
  });
});

it('an event that was already folded changes nothing and is not a violation', () => {
  const fold = new RunFold();
  const [started, progress] = [event('RunStarted'), event('Progress')];
  for (const it of [started, progress]) fold.apply(it);
  const before = structuredClone(fold.state);
  expect([fold.apply(progress), fold.apply(started)]).toEqual([null, null]);
  expect(fold.state).toEqual(before);
});

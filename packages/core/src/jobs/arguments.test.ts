/** Arguments of job calls are accepted exactly up to their limits, and refused by name before anything is written. */
import { describe, expect, it } from 'vitest';
import {
  checkClaim,
  checkClaimId,
  checkDelay,
  checkJobRef,
  checkNewJob,
  checkOverdue,
  checkReference,
  checkStep,
  checkTaskType,
  DEFAULT_LEASE_MS,
  fitsReason,
  isHeldReason,
} from './arguments.ts';
import { jobKey } from './record.ts';
import { checkParkTime } from './times.ts';

const MOST = 1_000;
const JOB = { taskType: 'email', taskId: 'a' };
const refused = (field: string) => expect.objectContaining({ code: 'INVALID_ARGUMENT', field });

function fieldsOf(job: object): Record<string, string> {
  const { fields } = checkNewJob({ ...JOB, ...job }, MOST);
  return Object.fromEntries([...fields].map(([name, value]) => [name, Buffer.from(value!).toString()]));
}

describe('names of jobs', () => {
  it('are words of up to 100 characters', () => {
    for (const word of ['a', 'A-z_9', 'w'.repeat(100)]) expect(checkTaskType(word)).toBe(word);
    for (const word of ['', 'w'.repeat(101), 'a b', 'a.b', 'é', 7, null, undefined, ['a']]) {
      expect(() => checkTaskType(word)).toThrow(refused('taskType'));
      expect(() => checkClaimId(word)).toThrow(refused('claimId'));
    }
    expect(checkClaimId('claim-1')).toBe('claim-1');
  });

  it('have ids that fit the key of the job, counted in bytes', () => {
    const found = 512 - Buffer.byteLength(jobKey({ ...JOB, taskId: '' }));
    expect(checkJobRef({ ...JOB, taskId: 'x'.repeat(found) }).taskId).toHaveLength(found);
    expect(() => checkJobRef({ ...JOB, taskId: 'x'.repeat(found + 1) })).toThrow(
      expect.objectContaining({ field: 'taskId', rule: expect.stringContaining(`at most ${found} UTF-8 bytes`) }),
    );
    expect(() => checkJobRef({ ...JOB, taskId: 'é'.repeat(Math.floor(found / 2) + 1) })).toThrow(refused('taskId'));
    expect(checkJobRef({ ...JOB, taskId: 'é'.repeat(Math.floor(found / 2)) }).taskType).toBe('email');
  });

  it.each([[null], [[]], ['job']])('are members of an object, not %j', (value) => {
    expect(() => checkJobRef(value)).toThrow(refused('job'));
    expect(() => checkClaim(value)).toThrow(refused('claim'));
  });
});

describe('a new job', () => {
  it('has only the fields that are set', () => {
    const base = { state: 'pending', task_type: 'email', task_id: 'a', max_retries: '3' };
    expect(fieldsOf({})).toEqual(base);
    expect(fieldsOf({ priority: -5, stepCount: 0, maxRetries: 0, paramsRef: 'r', fields: { own: 'x' } })).toEqual({
      ...base,
      ...{ priority: '-5', step_count: '0', max_retries: '0', params_ref: 'r', own: 'x' },
    });
    expect(fieldsOf({ paramsRef: null })).toEqual(base);
  });

  it.each([
    ['priority', -1_000, -1_001],
    ['priority', 1_000, 1_001],
    ['stepCount', 0, -1],
    ['maxRetries', 0, -1],
    ['maxRetries', Number.MAX_SAFE_INTEGER, 2 ** 53],
    ['paramsRef', 'r', ''],
    ['paramsRef', 'r'.repeat(MOST), 'r'.repeat(MOST + 1)],
    ['delay', '1ms', -1],
    ['delay', 0, null],
  ])('has a %s such as %j, not %j', (name, good, bad) => {
    expect(() => checkNewJob({ ...JOB, [name]: good }, MOST)).not.toThrow();
    expect(() => checkNewJob({ ...JOB, [name]: bad }, MOST)).toThrow(expect.objectContaining({ field: name }));
  });

  it('has neither a TTL nor fields that jobs use themselves', () => {
    for (const ttl of ['1h', null, undefined]) expect(() => checkNewJob({ ...JOB, ttl }, MOST)).toThrow(refused('ttl'));
    for (const name of ['state', 'worker', 'ended_by', 'unannounced'])
      expect(() => checkNewJob({ ...JOB, fields: { [name]: 'x' } }, MOST)).toThrow(refused(`fields.${name}`));
    expect(() => checkNewJob({ ...JOB, fields: { toString: 'x' } }, MOST)).not.toThrow();
  });

  it('is delayed only by a duration', () => {
    expect([undefined, 0, 1, '1s'].map((value) => checkDelay(value as never))).toEqual([null, null, 1, 1_000]);
    expect(checkNewJob({ ...JOB, delay: 5 }, MOST).delayMs).toBe(5);
  });
});

describe('a claim', () => {
  it('has the usual lease unless it names one', () => {
    expect(checkClaim({ ...JOB, claimId: 'c' })).toEqual({ ...JOB, claimId: 'c', leaseMs: DEFAULT_LEASE_MS });
    expect(checkClaim({ ...JOB, claimId: 'c', lease: '5s' }).leaseMs).toBe(5_000);
    expect(() => checkClaim({ ...JOB, claimId: 'c', lease: 0 })).toThrow(refused('lease'));
    expect(() => checkClaim(JOB)).toThrow(refused('claimId'));
  });

  it('advances to a step from 0 on', () => {
    expect(checkStep({ currentStep: 0 })).toEqual({ currentStep: 0 });
    expect(checkStep({ currentStep: 1, stepCount: 0 })).toEqual({ currentStep: 1, stepCount: 0 });
    expect(() => checkStep({ currentStep: -1 })).toThrow(refused('currentStep'));
    expect(() => checkStep({ currentStep: 1, stepCount: -1 })).toThrow(refused('stepCount'));
    expect(() => checkStep(undefined)).toThrow(refused('step'));
  });

  it('refers to a result by text', () => {
    expect([undefined, null, 'r'].map((value) => checkReference(value, 'it', MOST))).toEqual([null, null, 'r']);
    for (const value of ['', 7, {}]) expect(() => checkReference(value, 'it', MOST)).toThrow(refused('it'));
  });

  it('parks a job until a time or for a duration, and not both', () => {
    expect(checkParkTime({ until: 0 })).toEqual({ untilMs: 0 });
    expect(checkParkTime({ until: 10 ** 15 - 1 })).toEqual({ untilMs: 10 ** 15 - 1 });
    expect(checkParkTime({ delay: '1s' })).toEqual({ delayMs: 1_000 });
    for (const when of [{}, { until: 1, delay: 1 }, { until: -1 }, { until: 10 ** 15 }])
      expect(() => checkParkTime(when)).toThrow(refused('until'));
    expect(() => checkParkTime({ delay: 0 })).toThrow(refused('delay'));
    expect(() => checkParkTime(null)).toThrow(refused('when'));
  });
});

describe('an overdue job', () => {
  const overdue = (reason: unknown, state: unknown, change: object = {}) =>
    checkOverdue({ job: { ...JOB, state, revision: 1, retryCount: 0, maxRetries: 3, ...change }, reason });
  const STATES = ['pending', 'claimed', 'running', 'completed', 'failed', 'cancelled'] as const;
  const FITTING = {
    'lease ended': ['claimed', 'running'],
    'not updated': ['claimed', 'running'],
    'not claimed': ['pending'],
    due: ['pending'],
    'not announced': ['failed'],
  } as const;

  it.each(Object.entries(FITTING))('%s is %j, or has ended in the meantime', (reason, states) => {
    for (const state of STATES) {
      const fits = (states as readonly string[]).includes(state);
      expect(fitsReason(state, reason as never)).toBe(fits);
      const hasEnded = ['completed', 'failed', 'cancelled'].includes(state);
      if (fits || hasEnded) expect(overdue(reason, state).reason).toBe(reason);
      else
        expect(() => overdue(reason, state)).toThrow(
          expect.objectContaining({
            field: 'overdue.job.state',
            rule: `${states.join(' or ')} for a job that is overdue so`,
          }),
        );
    }
    expect(isHeldReason(reason as never)).toBe(states.length === 2);
  });

  it('is rejected by name', () => {
    expect(() => checkOverdue(null)).toThrow(refused('overdue'));
    expect(() => overdue('late', 'pending')).toThrow(refused('overdue.reason'));
    expect(() => overdue('due', 'waiting')).toThrow(refused('overdue.job.state'));
    expect(() => overdue('due', 'pending', { revision: 0 })).toThrow(refused('overdue.job.revision'));
    expect(() => overdue('due', 'pending', { retryCount: 0.5 })).toThrow(refused('overdue.job.retryCount'));
    expect(() => overdue('due', 'pending', { maxRetries: null })).toThrow(refused('overdue.job.maxRetries'));
    expect(overdue('due', 'pending', { retryCount: -1, maxRetries: -1 }).job.retryCount).toBe(-1);
  });
});

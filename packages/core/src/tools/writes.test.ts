/** The form in which errors carry a write: what a retry needs, without options of one attempt and without secrets. */
import { describe, expect, it } from 'vitest';
import { factsOf } from '../contracts/calls.ts';
import { TidemarkError } from '../contracts/errors.ts';
import { carriedWrite, isSettled, withholdsFirst, withWrite, writeCall } from './writes.ts';

const put = (options?: object, tenantId: string | null = null) =>
  writeCall(tenantId, 'kv', 'put', ['key', { a: 1 }, options] as never);

describe('carriedWrite', () => {
  it('names the tenant of a view, and none for an operator', () => {
    expect(carriedWrite(put())).toEqual({ domain: 'kv', method: 'put', args: ['key', { a: 1 }] });
    expect(Object.keys(carriedWrite(put())!)).not.toContain('tenantId');
    expect(carriedWrite(put({}, 't'))).toMatchObject({ tenantId: 't' });
  });

  it('leaves out options of one attempt, and options without any other member', () => {
    const signal = new AbortController().signal;
    const attempt = { signal, timeoutMs: 5 };
    expect(carriedWrite(put(attempt))?.args).toEqual(['key', { a: 1 }]);
    expect(carriedWrite(put({ ...attempt, requestId: 'q', ttl: undefined }))?.args).toEqual([
      'key',
      { a: 1 },
      { requestId: 'q' },
    ]);
  });

  it('carries nothing of a write in a transaction, which only the caller can settle', () => {
    const write = writeCall(null, 'runs', 'appendEvent', [{}, { transaction: {} }] as never);
    expect(carriedWrite(write)).toBeUndefined();
  });

  it('withholds tokens, streams and iterators, but no array of parts', () => {
    const carried = (...args: [string, string, unknown[]]) =>
      carriedWrite({ domain: args[0] as never, method: args[1], args: args[2], tenantId: null })?.args[0];
    expect(carried('agents', 'savePlannerState', ['secret', {}])).toEqual({ withheld: 'token' });
    expect(carried('agents', 'savePlannerState', [{ pauseId: 'p' }, {}])).toEqual({ pauseId: 'p' });
    expect(carried('artifacts', 'putStream', [[], {}])).toEqual({ withheld: 'chunks' });
    expect(carried('runs', 'restoreRun', [new Set(), {}])).toEqual({ withheld: 'parts' });
    expect(carried('runs', 'restoreRun', [['part'], {}])).toEqual(['part']);
    expect(carried('kv', 'put', ['key', {}])).toBe('key');
  });
});

describe('withWrite', () => {
  it('adds the write to errors with an unknown outcome only', () => {
    const unknown = new TidemarkError('OUTCOME_UNKNOWN', 'lost', { runId: 'r', cause: 'why' });
    expect(withWrite(unknown, put())).toMatchObject({
      ...{ code: 'OUTCOME_UNKNOWN', message: 'lost', runId: 'r', cause: 'why', outcome: 'unknown', retryable: true },
      write: { domain: 'kv', method: 'put' },
    });
    for (const error of [new TidemarkError('CONFLICT' as never, 'x'), new Error('x'), undefined])
      expect(withWrite(error, put())).toBe(error);
  });
});

describe('whether a write can be retried', () => {
  const facts = (domain: string, method: string) => factsOf({ domain, method } as never);

  it('follows from its own keys or the id that its entry names', () => {
    expect(isSettled(facts('artifacts', 'putStream'), [[]])).toBe(true);
    expect(isSettled(facts('agents', 'savePlannerState'), ['t', {}])).toBe(true);
    expect(isSettled(facts('kv', 'put'), ['key', {}])).toBe(false);
    expect(isSettled(facts('kv', 'put'), ['key', {}, { requestId: undefined }])).toBe(false);
    expect(isSettled(facts('kv', 'put'), ['key', {}, { requestId: 'q' }])).toBe(true);
    expect(isSettled(facts('kv', 'get'), ['key', { requestId: 'q' }])).toBe(false);
  });

  it('needs its first argument', () => {
    expect(withholdsFirst(facts('kv', 'put'), ['key'])).toBe(false);
    expect(withholdsFirst(facts('kv', 'get'), ['key'])).toBe(false);
    expect(withholdsFirst(facts('artifacts', 'putStream'), [[]])).toBe(true);
    expect(withholdsFirst(facts('runs', 'restoreRun'), [[]])).toBe(false);
  });
});

/** The start and end of every call of a store: options that are not valid, closed stores, alerts and views. */
import { describe, expect, it, vi } from 'vitest';
import { TidemarkError } from '../contracts/errors.ts';
import { timeLimitOf } from './call-start.ts';
import { StoreContext } from './context.ts';
import { DeadlineWatch } from './deadlines.ts';
import { refusalOf, requireAll } from './outcomes.ts';
import { fieldsOf, numberField, textField } from './record-fields.ts';
import { withCalls } from './with-calls.ts';
import { writeCall } from './writes.ts';

const open = new AbortController().signal;

describe('timeLimitOf', () => {
  it('is the limit of the call, or else the limit of the store', () => {
    expect(timeLimitOf(undefined, open, 7)).toBe(7);
    expect(timeLimitOf({ timeoutMs: undefined }, open, 7)).toBe(7);
    expect(timeLimitOf({ timeoutMs: 1, signal: open }, open, 7)).toBe(1);
  });

  it.each([
    ['STORE_CLOSED', undefined, { timeoutMs: 0 }, AbortSignal.abort()],
    ['INVALID_ARGUMENT', 'signal', { signal: null, timeoutMs: 0 }, open],
    ['INVALID_ARGUMENT', 'signal', { signal: { aborted: true } }, open],
    ['ABORTED', undefined, { signal: AbortSignal.abort('why') }, open],
    ['INVALID_ARGUMENT', 'timeoutMs', { timeoutMs: 0 }, open],
    ['INVALID_ARGUMENT', 'timeoutMs', { timeoutMs: null }, open],
  ])('throws %s for %s', (code, field, options, closed) => {
    const refusal = expect.objectContaining({ code, ...(field === undefined ? {} : { field }) });
    expect(() => timeLimitOf(options as never, closed, 7)).toThrow(refusal);
  });

  it('keeps the reason of an abort', () => {
    expect(() => timeLimitOf({ signal: AbortSignal.abort('why') }, open, 7)).toThrow(
      expect.objectContaining({ cause: 'why' }),
    );
  });
});

describe('StoreContext', () => {
  it.each([
    ['codec', { codec: null }],
    ['codec', { codec: {} }],
    ['codec', { codec: { encode: () => '' } }],
    ['codec', { codec: { decode: () => '' } }],
    ['timeoutMs', { timeoutMs: 0 }],
    ['onAlert', { onAlert: 'log' }],
    ['onAlert', { onAlert: null }],
  ])('refuses %s of another kind', (field, options) => {
    expect(() => new StoreContext(options as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', field }),
    );
  });

  it('reports a loss of events once, and survives a listener that throws', () => {
    const onAlert = vi.fn(() => {
      throw new Error('listener');
    });
    const context = new StoreContext({ onAlert });
    const run = { tenantId: 't', runId: 'r' };
    context.reportWentBack(run, 7, 5);
    context.reportWentBack(run, 7, 5);
    expect(onAlert.mock.calls).toEqual([
      [{ code: 'HEAD_WENT_BACK', severity: 'P1', tenantId: 't', runId: 'r', knownSeq: 7, currentSeq: 5 }],
    ]);
    expect(() => new StoreContext().reportWentBack(run, 7, 5)).not.toThrow();
  });

  it('makes UUIDs of version 4 from its randomness', () => {
    const uuid = (byte: number) => new StoreContext({ random: (n) => new Uint8Array(n).fill(byte) }).uuid();
    expect(uuid(0)).toBe('00000000-0000-4000-8000-000000000000');
    expect(uuid(255)).toBe('ffffffff-ffff-4fff-bfff-ffffffffffff');
  });

  it('bounds a call by its own limit, and closes for all views', async () => {
    const context = new StoreContext({ timeoutMs: 60_000 });
    const began = Date.now();
    expect(context.startCall({ timeoutMs: 10 }).deadline! - began).toBeLessThan(1_000);
    expect(context.startCall(undefined).deadline! - began).toBeGreaterThanOrEqual(60_000);
    const view = context.confinedTo('t');
    expect([context.startCall({}).tenantId, view.startCall({}).tenantId]).toEqual([null, 't']);
    context.close();
    await expect(view.read(undefined, async () => 1)).rejects.toMatchObject({ code: 'STORE_CLOSED' });
  });
});

describe('DeadlineWatch', () => {
  const write = writeCall(null, 'kv', 'put', ['key', { a: 1 }]);
  const settle = (error: unknown, of: typeof write | null) =>
    new DeadlineWatch().race(Promise.reject(error), { deadline: Date.now() + 60_000 }, of).catch((it: unknown) => it);

  it('adds the write to an unknown outcome, unless the error carries one', async () => {
    const unknown = () => new TidemarkError('OUTCOME_UNKNOWN', 'lost');
    expect(await settle(unknown(), write)).toMatchObject({ write: { method: 'put' } });
    expect(await settle(unknown(), null)).toMatchObject({ write: undefined });
    const carrying = new TidemarkError('OUTCOME_UNKNOWN', 'lost', { write: { method: 'own' } as never });
    expect(await settle(carrying, write)).toBe(carrying);
    expect(await settle(carrying, null)).toBe(carrying);
  });

  it('listens to a signal only while the call is under way', async () => {
    const { signal } = new AbortController();
    const removed = vi.spyOn(signal, 'removeEventListener');
    await new DeadlineWatch().race(Promise.resolve(1), { signal, deadline: Date.now() + 60_000 }, null);
    expect(removed).toHaveBeenCalledOnce();
  });
});

describe('the outcome of a write in parts', () => {
  const refused = new TidemarkError('INVALID_ARGUMENT', 'wrong', { runId: 'r' });
  const lost = new TidemarkError('OUTCOME_UNKNOWN', 'lost');
  const foreign = new Error('socket');

  it('is rejected only if nothing was written', () => {
    expect(refusalOf([refused], false)).toBe(refused);
    expect(refusalOf([lost, foreign], false)).toBe(lost);
    for (const unknown of [
      refusalOf([refused], true),
      refusalOf([lost, refused], false),
      refusalOf([refused, foreign], false),
    ])
      expect(unknown).toMatchObject({ code: 'OUTCOME_UNKNOWN', outcome: 'unknown', cause: refused, runId: 'r' });
  });

  it('fails if a part failed', () => {
    const part = (reason: unknown) => ({ status: 'rejected', reason }) as const;
    const stored = { status: 'fulfilled', value: 1 } as const;
    expect(() => requireAll([stored])).not.toThrow();
    expect(() => requireAll([])).not.toThrow();
    expect(() => requireAll([part(refused), part(refused)])).toThrow('wrong');
    expect(() => requireAll([stored, part(refused)])).toThrow(expect.objectContaining({ code: 'OUTCOME_UNKNOWN' }));
  });
});

describe('fields of records', () => {
  it('are text, numbers, or removed', () => {
    const fields = fieldsOf({ a: 'ä', n: 7, gone: null });
    expect(fields.get('gone')).toBeNull();
    fields.delete('gone');
    const record = { fields: fields as Map<string, Uint8Array> };
    expect([textField(record, 'a'), textField(record, 'n'), textField(record, 'gone')]).toEqual(['ä', '7', null]);
    expect(numberField(record, 'n')).toBe(7);
    for (const name of ['gone', 'a']) expect(() => numberField(record, name)).toThrow(`lacks the number ${name}`);
  });
});

describe('withCalls', () => {
  class Engine {
    readonly name = 'engine';
    readonly #secret = 7;
    one() {
      return this.#secret;
    }
    two() {
      return this.one();
    }
  }

  it('replaces methods, and keeps the others with their own `this`', () => {
    const { one, two, name } = withCalls(new Engine(), { one: () => 1 });
    expect([one(), two(), name]).toEqual([1, 7, 'engine']);
    expect(withCalls(new Engine(), { one: undefined } as never).one).toBeUndefined();
  });
});

/** The faults of a refused event, listed in one error (GEN-11). */
import { describe, expect, it } from 'vitest';
import { isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import { memoryStore } from '../memory/store.ts';
import { withAllFaults } from './faults.ts';

async function refusalOf(event: object): Promise<TidemarkError> {
  const store = memoryStore();
  const error: unknown = await store.runs.appendEvent(event as never).catch((it: unknown) => it);
  if (!isTidemarkError(error)) throw new Error('the event was stored');
  return error;
}

const fieldsOf = ({ errors = [] }: TidemarkError) => errors.map(({ field }) => field);

describe('a rejected event', () => {
  it('has one entry for a single fault, and an unchanged message', async () => {
    const error = await refusalOf({ runId: 'r', eventType: 'Note', emittedAt: 'x' });
    expect(error.errors).toEqual([{ field: 'emittedAt', rule: error.rule }]);
    expect(error.message).toBe(`emittedAt must be ${error.rule}, not "x"`);
  });

  it('lists a missing run and type, but no fields that are filled in', async () => {
    expect(fieldsOf(await refusalOf({}))).toEqual(['runId', 'eventType']);
  });

  it('has at most 20 entries', async () => {
    const extras = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`extra${n}`, Number.NaN]));
    const error = await refusalOf({ runId: '', eventType: '', ...extras });
    expect(error.errors).toHaveLength(20);
    expect(fieldsOf(error).slice(0, 3)).toEqual(['runId', 'eventType', 'event.extra0']);
  });

  it('has every fault of the table, and one entry for each member', async () => {
    const event = {
      tenantId: '',
      runId: '',
      eventType: 'RunStarted',
      stepId: '',
      eventId: '',
      idempotencyKey: '',
      labels: { a: 1, b: 2 },
      parentRunId: '',
      persistedAt: 'now',
      payload: { a: Number.NaN, b: Number.NaN },
    };
    const fields = ['tenantId', 'runId', 'eventId', 'stepId', 'labels.a', 'parentRunId', 'persistedAt', 'payload.a'];
    expect(fieldsOf(await refusalOf(event))).toEqual([...fields, 'idempotencyKey']);
  });

  it('corrects a missing or forbidden step before looking for more faults', async () => {
    const more = { runId: 'r', idempotencyKey: '' };
    expect(fieldsOf(await refusalOf({ ...more, eventType: 'StepStarted' }))).toEqual(['stepId', 'idempotencyKey']);
    const withStep = { ...more, eventType: 'RunStarted', stepId: 's' };
    expect(fieldsOf(await refusalOf(withStep))).toEqual(['stepId', 'idempotencyKey']);
  });

  it('cuts long names, and finds members whose names contain dots', async () => {
    const name = `a.b[c] ${'x'.repeat(100)}`;
    const error = await refusalOf({ runId: 'r', eventType: 'Note', [name]: Number.NaN, idempotencyKey: '' });
    expect(fieldsOf(error)).toEqual([`${`event.${name}`.slice(0, 63)}…`, 'idempotencyKey']);
    expect(error.field, 'the first fault keeps its whole path').toBe(`event.${name}`);
  });

  it('ends at a fault of the whole event', async () => {
    const error = await refusalOf({ runId: 'r', eventType: '', extra: 'x'.repeat(70_000) });
    expect(error.code).toBe('INVALID_ARGUMENT');
    expect(fieldsOf(error)).toEqual(['eventType', 'event']);
    expect(fieldsOf(await refusalOf([]))).toEqual(['event']);
  });

  it('has no list of faults if the tenant is rejected', async () => {
    const view = memoryStore().forTenant('acme');
    const event = { tenantId: 'other', runId: '', eventType: '' };
    await expect(view.runs.appendEvent(event)).rejects.toMatchObject({ code: 'TENANT_MISMATCH', errors: undefined });
  });
});

it.each([
  ['without a rule', new TidemarkError('INVALID_ARGUMENT', 'x', { field: 'stepId' })],
  ['without a field', new TidemarkError('INVALID_ARGUMENT', 'x', { rule: 'y' })],
  ['with another code', new TidemarkError('RUN_NOT_FOUND', 'x', { field: 'runId', rule: 'y' })],
  ['of another kind', new Error('x')],
])('an error %s is thrown as it is', (_, error) => {
  expect(withAllFaults(error, {}, () => {})).toBe(error);
});

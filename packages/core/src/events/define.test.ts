/** Typed events: their types, the check before a write, and the parsing for readers. */
import { describe, expect, expectTypeOf, it } from 'vitest';
import type { SchemaIssue, StandardSchema } from '../contracts/schemas.ts';
import { memoryStore } from '../memory/store.ts';
import { defineEvents } from './define.ts';

/** Creates a Standard Schema by hand. `check` returns the output or a list of issues. */
function schema<Input, Output = Input>(
  check: (value: Input) => Output | SchemaIssue[],
  { slow = false } = {},
): StandardSchema<Input, Output> {
  const validate = (value: unknown) => {
    const checked = check(value as Input);
    return Array.isArray(checked) ? { issues: checked as SchemaIssue[] } : { value: checked as Output };
  };
  return {
    '~standard': {
      version: 1,
      vendor: 'by hand',
      validate: (value) => (slow ? new Promise((done) => setImmediate(done, validate(value))) : validate(value)),
    },
  };
}

const placed = schema<{ items: { cents: number }[]; at: string }, { items: { cents: number }[]; at: Date }>((value) => {
  const bad = value?.items?.findIndex((item) => !Number.isInteger(item.cents)) ?? -1;
  if (bad >= 0) return [{ message: 'a whole number of cents', path: ['items', bad, { key: 'cents' }] }];
  return { ...value, at: new Date(value.at) };
});
const shipped = schema<{ carrier: string }>(
  (value) => (typeof value?.carrier === 'string' ? value : [{ message: 'a carrier' }]),
  { slow: true },
);
const Order = defineEvents({ OrderPlaced: placed, OrderShipped: shipped });
const AT = '2026-02-16T09:30:00.000Z';

describe('defineEvents', () => {
  it('types names and payloads of a handle', () => {
    const run = memoryStore().runs.handle('order', { events: Order });
    const attempts = [
      () => run.append('OrderPlaced', { items: [{ cents: 1 }], at: AT }, { stepId: 'basket' }),
      () => run.append('RunStarted'),
      // @ts-expect-error a name that is not defined
      () => run.append('OrderPlacd', { items: [], at: AT }),
      // @ts-expect-error a payload of another event
      () => run.append('OrderPlaced', { carrier: 'post' }),
      // @ts-expect-error a payload is needed
      () => run.append('OrderShipped'),
    ];
    expect(attempts).toHaveLength(5);
  });

  it('types events for readers as a union discriminated by eventType', () => {
    const read = async () => {
      for await (const event of memoryStore().runs.handle('order', { events: Order }).events()) {
        expectTypeOf(event.runSeq).toEqualTypeOf<number>();
        if (event.eventType === 'OrderPlaced')
          expectTypeOf(event.payload).toEqualTypeOf<{ items: { cents: number }[]; at: Date }>();
        else if (event.eventType === 'OrderShipped') expectTypeOf(event.payload).toEqualTypeOf<{ carrier: string }>();
        else expectTypeOf(event.payload).toEqualTypeOf<Record<string, unknown> | undefined>();
      }
    };
    expect(read).toBeTypeOf('function');
  });

  it('rejects an invalid payload with its path before anything is written', async () => {
    const { runs } = memoryStore();
    const run = runs.handle('order', { events: Order });
    await expect(run.append('OrderPlaced', { items: [{ cents: 1 }, { cents: 1.5 }], at: AT })).rejects.toMatchObject({
      code: 'INVALID_PAYLOAD',
      field: 'payload.items[1].cents',
      rule: 'a whole number of cents',
    });
    await expect(run.append('OrderShipped', {} as never)).rejects.toMatchObject({
      code: 'INVALID_PAYLOAD',
      field: 'payload',
    });
    expect(await runs.headSeq('order')).toBe(0);
  });

  it('stores the payload as passed and returns the output of the schema to readers', async () => {
    const { runs } = memoryStore();
    const run = runs.handle('order', { events: Order });
    await run.append('OrderPlaced', { items: [{ cents: 5 }], at: AT });
    await run.append('OrderShipped', { carrier: 'post' });
    expect((await runs.fetchEvents('order'))[0]!.payload).toEqual({ items: [{ cents: 5 }], at: AT });
    const payloads: unknown[] = [];
    for await (const event of run.events()) payloads.push(event.payload);
    expect(payloads).toEqual([{ items: [{ cents: 5 }], at: new Date(AT) }, { carrier: 'post' }]);
  });

  it('parses the events of a tail', async () => {
    const run = memoryStore().runs.handle('order', { events: Order });
    await run.append('OrderPlaced', { items: [], at: AT });
    for await (const event of run.tail()) {
      expect(event.payload).toEqual({ items: [], at: new Date(AT) });
      break;
    }
  });

  it('leaves types without a schema unchanged, even if named like members of Object', async () => {
    const { runs } = memoryStore();
    const plain = runs.handle('order');
    for (const type of ['RunStarted', 'SomethingElse', 'constructor', '__proto__']) await plain.append(type, { n: 1 });
    const seen: [string, unknown][] = [];
    for await (const event of runs.handle('order', { events: Order }).events())
      seen.push([event.eventType, event.payload]);
    expect(seen).toEqual(['RunStarted', 'SomethingElse', 'constructor', '__proto__'].map((type) => [type, { n: 1 }]));
  });

  it('names a stored event that does not fit its schema', async () => {
    const { runs } = memoryStore();
    await runs.handle('order').append('RunStarted');
    await runs.handle('order').append('OrderShipped', { carrier: 7 });
    const read = async () => {
      for await (const _ of runs.handle('order', { events: Order }).events());
    };
    await expect(read()).rejects.toMatchObject({ code: 'INVALID_PAYLOAD', runId: 'order', runSeq: 2 });
  });

  it('rejects values that are not schemas', () => {
    expect(() => defineEvents({ A: {} as never })).toThrow(expect.objectContaining({ field: 'schemas.A' }));
    expect(() => defineEvents(null as never)).toThrow(expect.objectContaining({ field: 'schemas' }));
  });
});

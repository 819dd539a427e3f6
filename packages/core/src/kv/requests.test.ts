/** How long request ids are remembered, to the millisecond (GEN-8). */
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../memory/store.ts';
import { requestsAfter } from './requests.ts';

const KEPT_MS = 5 * 60_000;
const ids = (count: number) => Array.from({ length: count }, (_, n) => `r${n}`);

describe('requestsAfter', () => {
  it('holds up to 16 and drops the oldest', () => {
    expect(requestsAfter(ids(15), 'new', true)).toEqual({ held: [...ids(15), 'new'], left: [] });
    expect(requestsAfter(ids(16), 'new', true)).toEqual({ held: [...ids(16).slice(1), 'new'], left: ['r0'] });
    expect(requestsAfter(ids(3), undefined, true)).toEqual({ held: ids(3), left: [] });
  });

  it('drops all with their record', () => {
    expect(requestsAfter(ids(2), 'new', false)).toEqual({ held: [], left: ['r0', 'r1', 'new'] });
  });

  it('drops them in groups when more than 16 may be held', () => {
    expect(requestsAfter(ids(31), 'new', true, 32)).toMatchObject({ left: [] });
    const { held, left } = requestsAfter(ids(32), 'new', true, 32);
    expect([held.length, left.length]).toEqual([16, 17]);
  });
});

describe('a request', () => {
  function store() {
    let now = Date.now();
    const { kv } = memoryStore({ clock: () => now });
    const put = async (ttl?: number) => (await kv.put('k', { a: 1 }, { requestId: 'put', ttl })).written;
    const wasRepeated = async () => (await put()) && (await kv.get('k')) !== null;
    return { kv, put, wasRepeated, pass: (ms: number) => (now += ms) };
  }

  it('is remembered for five minutes after its record was deleted', async () => {
    const { kv, put, wasRepeated, pass } = store();
    await put();
    pass(KEPT_MS);
    await kv.delete('k');
    pass(KEPT_MS - 1);
    expect(await wasRepeated()).toBe(false);
    pass(1);
    expect(await wasRepeated()).toBe(true);
  });

  it('is remembered for five minutes after its record expired', async () => {
    const { put, wasRepeated, pass } = store();
    await put(1_000);
    pass(1_000 + KEPT_MS - 1);
    expect(await wasRepeated()).toBe(false);
    pass(1);
    expect(await wasRepeated()).toBe(true);
  });

  it('is remembered for five minutes after sixteen others followed', async () => {
    const { kv, put, pass } = store();
    await put();
    for (const requestId of ids(16)) await kv.setField('k', 'a', requestId, { requestId });
    pass(KEPT_MS - 1);
    await put();
    expect(Buffer.from((await kv.get('k'))!.fields.a!).toString()).toBe('r15');
    pass(1);
    await put();
    expect(Buffer.from((await kv.get('k'))!.fields.a!).toString()).toBe('1');
  });

  it('is remembered as one of the last sixteen for as long as its record lives', async () => {
    const { kv, put, pass } = store();
    await put();
    for (const requestId of ids(15)) await kv.setField('k', 'a', requestId, { requestId });
    pass(365 * 24 * 3_600_000);
    await put();
    expect(Buffer.from((await kv.get('k'))!.fields.a!).toString()).toBe('r14');
  });
});

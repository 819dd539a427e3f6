/** Request ids on NATS beyond the kit: which are in the record, which in a separate stream, and for how long. */
import { describe, expect, it } from 'vitest';
import { safeConfig, streamName, weaknessesOf } from '../src/streams/streams.ts';
import { askServer, WITHOUT_NATS } from './servers.ts';
import { newStreams, openStore } from './stores.ts';

describe.skipIf(WITHOUT_NATS)('request ids', () => {
  it('stay in their record up to the 32nd, then all but the last 16 move to a stream with expiry', async () => {
    const streams = newStreams();
    const { kv } = await openStore(streams);
    const kept = async () => {
      const name = streamName(streams.prefix, 'requests');
      const { state } = await askServer<{ state: { messages: number } }>(streams.url, `STREAM.INFO.${name}`);
      return state.messages;
    };
    const write = (n: number) => kv.setField('k', 'n', n, { requestId: `r${n}` });
    for (let n = 1; n <= 32; n++) await write(n);
    expect(await kept()).toBe(0);
    await write(33);
    expect(await kept()).toBe(17);
    expect((await kv.get('k'))!.revision).toBe((await write(1)).revision);
  });

  it('outlive their record in its delete marker, even when the cleaner of another process removed the record', async () => {
    const streams = newStreams();
    let now = Date.now();
    const store = await openStore({ ...streams, clock: () => now });
    await store.kv.put('k', { a: 1 }, { ttl: 1_000, requestId: 'put' });
    now += 1_000;
    const other = await openStore({ ...streams, clock: () => now });
    await expect.poll(() => messagesOf(streams), { timeout: 20_000, interval: 200 }).toBe(2);
    expect(await other.kv.put('k', { a: 2 }, { requestId: 'put' })).toEqual({ written: true, revision: null });
    expect(await store.kv.get('k')).toBeNull();
  });

  it('reject a stream that drops them early, and warn about one that keeps them for ever', () => {
    const safe = safeConfig('tidemark', 'requests', 1);
    const weak = (max_age: number) => weaknessesOf({ ...safe, max_age }, safe).map(({ loses }) => loses);
    expect([weak(safe.max_age), weak(safe.max_age / 2), weak(0), weak(2 * safe.max_age)]).toEqual([
      [],
      [true],
      [false],
      [false],
    ]);
    const runs = safeConfig('tidemark', 'runs', 1);
    expect(weaknessesOf({ ...runs, max_age: 1 }, runs)).toMatchObject([{ setting: 'max_age', loses: true }]);
  });
});

async function messagesOf({ url, prefix }: { url: string; prefix: string }): Promise<number> {
  const name = streamName(prefix, 'records');
  return (await askServer<{ state: { messages: number } }>(url, `STREAM.INFO.${name}`)).state.messages;
}

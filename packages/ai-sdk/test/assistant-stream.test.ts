/** `TidemarkStreamStore` compared with the in-memory store of assistant-stream, and used with its context. */
import type { Store } from '@tidemark/core';
import { memoryStore, OWNER_LABEL } from '@tidemark/core';
import {
  createInMemoryResumableStreamStore,
  createResumableStreamContext,
  type ResumableStreamLease,
  type ResumableStreamStore,
} from 'assistant-stream/resumable';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENGINES } from '../../../scripts/adapters/engines.ts';
import { sequencesOn } from '../../../scripts/adapters/sequences.ts';
import { TidemarkStreamStore } from '../src/assistant-stream.ts';

type Call =
  | { name: 'acquire' | 'acquireLease' | 'status' | 'delete'; id: number }
  /** With the latest lease of the id, with the first lease, or without a lease. */
  | { name: 'append'; id: number; chunk: Uint8Array; lease: 'latest' | 'first' | 'none' }
  | {
      name: 'finalize';
      id: number;
      status: 'done' | 'error';
      error: string | undefined;
      lease: 'latest' | 'first' | 'none';
    }
  | { name: 'read'; id: number; from: 'start' | 'second' | 'invalid' };

const id = fc.constantFrom(0, 0, 1);
const lease = fc.constantFrom('latest' as const, 'latest' as const, 'first' as const, 'none' as const);
const call: fc.Arbitrary<Call> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      name: fc.constantFrom('acquire' as const, 'acquireLease' as const, 'acquireLease' as const),
      id,
    }),
  },
  { weight: 3, arbitrary: fc.record({ name: fc.constantFrom('status' as const, 'delete' as const), id }) },
  {
    weight: 8,
    arbitrary: fc.record({ name: fc.constant('append' as const), id, chunk: fc.uint8Array({ maxLength: 30 }), lease }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      name: fc.constant('finalize' as const),
      id,
      status: fc.constantFrom('done' as const, 'error' as const),
      error: fc.constantFrom(undefined, 'the model failed'),
      lease,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      name: fc.constant('read' as const),
      id,
      from: fc.constantFrom('start' as const, 'second' as const, 'invalid' as const),
    }),
  },
);

describe.each(Object.keys(ENGINES))('on %s', (engine) => {
  let store: Store;
  beforeAll(async () => {
    store = await ENGINES[engine]!();
  });
  afterAll(() => store?.close());

  it('returns what the in-memory store returns', { timeout: 900_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 16 }), async (calls) => {
        const prefix = crypto.randomUUID();
        const ours = new Driver(new TidemarkStreamStore(store), prefix);
        const oracle = new Driver(createInMemoryResumableStreamStore(), prefix);
        for (const one of calls) expect(await ours.answer(one)).toEqual(await oracle.answer(one));
      }),
      { numRuns: sequencesOn(engine) },
    );
  });

  it('serves two tabs of the context while the stream is produced, and after it ended', async () => {
    const streamId = crypto.randomUUID();
    const context = () => createResumableStreamContext({ store: new TidemarkStreamStore(store) });
    const source = new TransformStream<Uint8Array, Uint8Array>();
    const writer = source.writable.getWriter();
    const first = readAll(await context().run(streamId, () => source.readable));
    await writer.write(Buffer.from('one '));
    const second = readAll((await context().resume(streamId))!);
    const third = readAll(
      await context().run(streamId, () => {
        throw new Error('there is a producer already');
      }),
    );
    await writer.write(Buffer.from('two'));
    await writer.close();
    expect(await Promise.all([first, second, third])).toEqual(['one two', 'one two', 'one two']);
    expect(await context().status(streamId)).toBe('done');
    expect(await readAll((await context().resume(streamId))!)).toBe('one two');
  });

  it('ends waiting readers when the stream expires, and lets it begin again', async () => {
    const streamId = crypto.randomUUID();
    const streams = new TidemarkStreamStore(store, { ttl: 500 });
    await streams.acquire(streamId);
    await streams.append(streamId, Buffer.from('a'));
    const reading = collect(streams.read(streamId, '', new AbortController().signal));
    expect(await reading).toEqual({ text: 'a', error: 'Stream expired' });
    expect(await streams.status(streamId)).toBe('missing');
    expect(await streams.acquire(streamId)).toBe('producer');
    await streams.append(streamId, Buffer.from('b'));
    await streams.finalize(streamId, 'done');
    expect(await collect(streams.read(streamId, '', new AbortController().signal))).toEqual({ text: 'b' });
  });

  it('ends waiting readers without an error when the stream is deleted', async () => {
    const streamId = crypto.randomUUID();
    const streams = new TidemarkStreamStore(store);
    await streams.acquire(streamId);
    await streams.append(streamId, Buffer.from('a'));
    const entries = streams.read(streamId, '', new AbortController().signal);
    expect((await entries.next()).value?.chunk).toEqual(new Uint8Array([97]));
    const rest = collect(entries);
    await new TidemarkStreamStore(store).delete(streamId);
    expect(await rest).toEqual({ text: '' });
  });

  it('stores chunks that are larger than a payload, and continues at a cursor', async () => {
    const streamId = crypto.randomUUID();
    const streams = new TidemarkStreamStore(store);
    await streams.acquire(streamId);
    const chunks = [Buffer.alloc(1_500_000, 'é'), Buffer.alloc(700_000, 0xff), Buffer.from('end')];
    for (const chunk of chunks) await streams.append(streamId, chunk);
    await streams.finalize(streamId, 'done');
    const entries = await Array.fromAsync(streams.read(streamId, '', new AbortController().signal));
    expect(entries.map(({ chunk }) => Buffer.from(chunk).equals(chunks.shift()!))).toEqual([true, true, true]);
    const rest = await collect(streams.read(streamId, entries[1]!.cursor, new AbortController().signal));
    expect(rest).toEqual({ text: 'end' });
  });
});

it('deletes what is left of expired streams, and nothing else', async () => {
  const store = memoryStore();
  const streams = new TidemarkStreamStore(store, { ttl: 50 });
  await streams.acquire('expired');
  await streams.append('expired', Buffer.from('a'));
  await streams.acquire('kept', { ttlMs: 3_600_000 });
  await streams.append('kept', Buffer.from('b'));
  await expect.poll(() => streams.status('expired')).toBe('missing');
  await expect.poll(() => streams.deleteExpired()).toBe(1);
  expect(await streams.status('kept')).toBe('streaming');
  const { items } = await store.runs.listRuns({ labels: { [OWNER_LABEL]: 'ai-sdk' } });
  expect(items.map(({ labels }) => labels['tidemark.name'])).toEqual(['kept']);
});

it('rejects bad input', async () => {
  const streams = new TidemarkStreamStore(memoryStore());
  await expect(streams.acquire('a b')).rejects.toMatchObject({ code: 'invalid-id' });
  await expect(streams.status('')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field: 'streamId' });
  expect(() => new TidemarkStreamStore({} as never)).toThrow('store must be an open Tidemark store');
  expect(() => new TidemarkStreamStore(memoryStore(), { ttl: 'soon' })).toThrow('ttl');
});

/** Drives a store and remembers its leases and cursors, so that two stores get the same calls. */
class Driver {
  readonly #leases = new Map<number, readonly (ResumableStreamLease | undefined)[]>();
  /** How many chunks each stream has. */
  readonly #counts = new Map<number, number>();
  readonly #store: ResumableStreamStore;
  readonly #prefix: string;

  constructor(store: ResumableStreamStore, prefix: string) {
    this.#store = store;
    this.#prefix = prefix;
  }

  async answer(one: Call): Promise<unknown> {
    const streamId = `${this.#prefix}:${one.id}`;
    const leases = this.#leases.get(one.id) ?? [];
    const leaseOf = (which: 'latest' | 'first' | 'none') =>
      which === 'none' ? undefined : which === 'first' ? leases[0] : leases.at(-1);
    try {
      switch (one.name) {
        case 'acquireLease': {
          const acquired = await this.#store.acquireLease!(streamId);
          if (acquired.role === 'producer') this.#begin(one.id, [...leases, acquired.lease]);
          return acquired.role;
        }
        case 'acquire': {
          const role = await this.#store.acquire(streamId);
          if (role === 'producer') this.#begin(one.id, leases);
          return role;
        }
        case 'status':
        case 'delete':
          return await this.#store[one.name](streamId);
        case 'append':
          await this.#store.append(streamId, one.chunk, leaseOf(one.lease));
          this.#counts.set(one.id, this.#countOf(one.id) + 1);
          return 'appended';
        case 'finalize':
          return await this.#store.finalize(streamId, one.status, one.error, leaseOf(one.lease));
        case 'read':
          return await this.#read(streamId, one);
      }
    } catch (error) {
      return { error: (error as Error).message };
    }
  }

  #begin(id: number, leases: readonly (ResumableStreamLease | undefined)[]): void {
    this.#leases.set(id, leases);
    this.#counts.set(id, 0);
  }

  #countOf(id: number): number {
    return this.#counts.get(id) ?? 0;
  }

  /** Reads a stream to its end, or an open one up to the last chunk that it has. */
  async #read(streamId: string, { id, from }: Extract<Call, { name: 'read' }>) {
    const isOpen = (await this.#store.status(streamId)) === 'streaming';
    let left = isOpen ? this.#countOf(id) : Number.POSITIVE_INFINITY;
    const chunks: string[] = [];
    const stop = new AbortController();
    const readFrom = async (cursor: string, most = Number.POSITIVE_INFINITY) => {
      if (left === 0) stop.abort();
      let last = cursor;
      for await (const entry of this.#store.read(streamId, cursor, stop.signal)) {
        chunks.push(Buffer.from(entry.chunk).toString('hex'));
        last = entry.cursor;
        left -= 1;
        if (left === 0) stop.abort();
        if (--most === 0) break;
      }
      return last;
    };
    try {
      if (from !== 'second') await readFrom(from === 'invalid' ? '!' : '');
      else await readFrom(await readFrom('', 1));
      return { chunks };
    } catch (error) {
      return { chunks, error: (error as Error).message };
    }
  }
}

async function collect(entries: AsyncIterable<{ chunk: Uint8Array }>): Promise<{ text: string; error?: string }> {
  let text = '';
  try {
    for await (const { chunk } of entries) text += Buffer.from(chunk).toString();
  } catch (error) {
    return { text, error: (error as Error).message };
  }
  return { text };
}

async function readAll(stream: ReadableStream<Uint8Array>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(stream)).toString();
}

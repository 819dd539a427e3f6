/** Compares the context with that of `resumable-stream`, and tests what a durable store adds. */
import { memoryStore, type Store } from '@tidemark/core';
import fc from 'fast-check';
import { createResumableStreamContext as createOriginal, type ResumableStreamContext } from 'resumable-stream/generic';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENGINES } from '../../../scripts/adapters/engines.ts';
import { sequencesOn } from '../../../scripts/adapters/sequences.ts';
import { createResumableStreamContext } from '../src/index.ts';
import { memoryBroker } from './broker.ts';

type Call =
  | { name: 'resumable' | 'existing'; id: number; skip: number | undefined }
  | { name: 'push'; id: number; text: string }
  | { name: 'close' | 'has'; id: number };

const id = fc.constantFrom(0, 0, 0, 1);
const skip = fc.oneof(fc.constant(undefined), fc.nat(12));
const call: fc.Arbitrary<Call> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ name: fc.constantFrom('resumable' as const, 'existing' as const), id, skip }) },
  {
    weight: 5,
    arbitrary: fc.record({
      name: fc.constant('push' as const),
      id,
      text: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ name: fc.constantFrom('close' as const, 'has' as const, 'has' as const), id }) },
);

describe.each(Object.keys(ENGINES))('on %s', (engine) => {
  let store: Store;
  beforeAll(async () => {
    store = await ENGINES[engine]!();
  });
  afterAll(() => store?.close());

  it('returns what resumable-stream returns', { timeout: 900_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 14 }), async (calls) => {
        const keyPrefix = crypto.randomUUID();
        const ours = new Driver(createResumableStreamContext(store, { keyPrefix }));
        const oracle = new Driver(createOriginal({ waitUntil: () => {}, ...memoryBroker() }));
        for (const one of calls) expect(await ours.answer(one)).toEqual(await oracle.answer(one));
        expect(await ours.finish()).toEqual(await oracle.finish());
      }),
      { numRuns: sequencesOn(engine) },
    );
  });

  it('replays a finished stream if it is asked to', async () => {
    const streamId = crypto.randomUUID();
    const streams = createResumableStreamContext(store, { replayFinished: true });
    // A surrogate pair may be divided between two chunks.
    const stream = await streams.resumableStream(streamId, () => streamOf('one ', '\ud834', '\udd1e two'));
    expect(await readAll(stream!)).toBe('one 𝄞 two');
    const elsewhere = createResumableStreamContext(store, { replayFinished: true });
    expect(await readAll((await elsewhere.resumeExistingStream(streamId, 2))!)).toBe('e 𝄞 two');
    expect(await elsewhere.hasExistingStream(streamId)).toBe('DONE');
    expect(await createResumableStreamContext(store).resumeExistingStream(streamId)).toBeNull();
  });

  it('stops a stream from another process', async () => {
    const streamId = crypto.randomUUID();
    const [producer, other] = [createResumableStreamContext(store), createResumableStreamContext(store)];
    let isCancelled = false;
    let push!: (text: string) => void;
    const source = new ReadableStream<string>({
      start: (controller) => {
        push = (text) => controller.enqueue(text);
      },
      cancel: () => {
        isCancelled = true;
      },
    });
    const reading = readAll((await producer.resumableStream(streamId, () => source))!);
    push('a');
    const tab = (await other.resumeExistingStream(streamId))!.getReader();
    expect((await tab.read()).value).toBe('a');
    expect(await other.stopStream(streamId)).toBe(true);
    expect(await other.stopStream(streamId)).toBe(false);
    expect(await reading).toBe('a');
    expect((await tab.read()).done).toBe(true);
    push('b');
    await expect.poll(() => isCancelled).toBe(true);
    expect(await other.resumeExistingStream(streamId)).toBeNull();
  });

  it('passes an error of the source to every reader', async () => {
    const streamId = crypto.randomUUID();
    const streams = createResumableStreamContext(store);
    let fail!: (error: Error) => void;
    const source = new ReadableStream<string>({
      start: (controller) => {
        fail = (error) => controller.error(error);
      },
    });
    const first = readAll((await streams.resumableStream(streamId, () => source))!);
    const second = readAll((await streams.resumeExistingStream(streamId))!);
    fail(new Error('the model is overloaded'));
    const outcomes = await Promise.allSettled([first, second]);
    expect(outcomes.map((outcome) => outcome.status === 'rejected' && String(outcome.reason))).toEqual(
      Array(2).fill('Error: the model is overloaded'),
    );
    expect(await streams.hasExistingStream(streamId)).toBe('DONE');
  });

  it('elects one producer among callers at once, and lets a new stream replace an old one', async () => {
    const streamId = crypto.randomUUID();
    let made = 0;
    const make = () => {
      made += 1;
      return streamOf('text');
    };
    const contexts = Array.from({ length: 5 }, () => createResumableStreamContext(store, { replayFinished: true }));
    const streams = await Promise.all(contexts.map((context) => context.resumableStream(streamId, make)));
    expect(await Promise.all(streams.map((stream) => readAll(stream!)))).toEqual(Array(5).fill('text'));
    expect(made).toBe(1);
    const again = await contexts[1]!.createNewResumableStream(streamId, () => streamOf('new'));
    expect(await readAll(again!)).toBe('new');
  });
});

it('cancels a source after a stop although it sends nothing', async () => {
  const streams = createResumableStreamContext(memoryStore(), { producerTimeout: 200 });
  let isCancelled = false;
  const source = new ReadableStream<string>({
    cancel: () => {
      isCancelled = true;
    },
  });
  await streams.resumableStream('silent', () => source);
  await streams.stopStream('silent');
  await expect.poll(() => isCancelled).toBe(true);
});

it('deletes a stream whose source cannot be made', async () => {
  const streams = createResumableStreamContext(memoryStore());
  const failing = streams.resumableStream('broken', () => {
    throw new Error('no model');
  });
  await expect(failing).rejects.toThrow('no model');
  expect(await streams.hasExistingStream('broken')).toBeNull();
  expect(await readAll((await streams.resumableStream('broken', () => streamOf('works')))!)).toBe('works');
});

it('rejects bad input', async () => {
  expect(() => createResumableStreamContext({} as never)).toThrow('store must be an open Tidemark store');
  expect(() => createResumableStreamContext(memoryStore(), { ttl: -1 })).toThrow('ttl');
  await expect(createResumableStreamContext(memoryStore()).hasExistingStream('')).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    field: 'streamId',
  });
});

/** Drives a context, with sources that are controlled from outside. */
class Driver {
  readonly #context: ResumableStreamContext;
  readonly #sources = new Map<number, ReadableStreamDefaultController<string>>();
  /** How many characters a stream has. A reader never skips more: it cannot have read more. */
  readonly #lengths = new Map<number, number>();
  readonly #readers: Promise<string>[] = [];

  constructor(context: ResumableStreamContext) {
    this.#context = context;
  }

  async answer(one: Call): Promise<unknown> {
    const streamId = `stream-${one.id}`;
    const source = this.#sources.get(one.id);
    const length = this.#lengths.get(one.id) ?? 0;
    const skipped = (wanted: number | undefined) => (wanted === undefined ? undefined : Math.min(wanted, length));
    switch (one.name) {
      case 'has':
        return this.#context.hasExistingStream(streamId);
      case 'push':
        if (source === undefined) return null;
        source.enqueue(one.text);
        this.#lengths.set(one.id, length + one.text.length);
        await this.#settle();
        return null;
      case 'close':
        if (source === undefined) return null;
        source.close();
        this.#sources.delete(one.id);
        await expect.poll(() => this.#context.hasExistingStream(streamId), { interval: 5 }).toBe('DONE');
        return null;
      case 'resumable':
        return this.#take(
          await this.#context.resumableStream(
            streamId,
            () =>
              new ReadableStream<string>({
                start: (controller) => void this.#sources.set(one.id, controller),
              }),
            skipped(one.skip),
          ),
        );
      case 'existing':
        return this.#take(await this.#context.resumeExistingStream(streamId, skipped(one.skip)));
    }
  }

  /** Closes all sources and returns what every reader got. */
  async finish(): Promise<string[]> {
    for (const [at, source] of this.#sources) {
      source.close();
      await expect.poll(() => this.#context.hasExistingStream(`stream-${at}`), { interval: 5 }).toBe('DONE');
    }
    return Promise.all(this.#readers);
  }

  #take(stream: ReadableStream<string> | null | undefined): unknown {
    if (!stream) return stream;
    this.#readers.push(readAll(stream));
    return 'stream';
  }

  /** Lets the source be read. */
  #settle(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, 2));
  }
}

function streamOf(...texts: string[]): ReadableStream<string> {
  return ReadableStream.from(texts) as ReadableStream<string>;
}

async function readAll(stream: ReadableStream<string>): Promise<string> {
  return (await Array.fromAsync(stream)).join('');
}

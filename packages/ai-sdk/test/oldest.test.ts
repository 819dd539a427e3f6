/** The oldest supported versions of both packages. The context of the older assistant-stream takes no leases. */
import { memoryStore } from '@tidemark/core';
import type * as Oldest from 'assistant-stream/resumable';
import { createResumableStreamContext as createAssistantContext } from 'assistant-stream-oldest/resumable';
import type { CreateResumableStreamContextOptions, ResumableStreamContext } from 'resumable-stream';
import { expect, it } from 'vitest';
import { TidemarkStreamStore } from '../src/assistant-stream.ts';
import { createResumableStreamContext } from '../src/index.ts';
import { memoryBroker } from './broker.ts';

// The entry points of the oldest version load a Redis driver; its logic does not.
const RUNTIME = new URL('../../../node_modules/resumable-stream-oldest/dist/runtime.js', import.meta.url).href;
const { createResumableStreamContextFactory } = (await import(RUNTIME)) as {
  createResumableStreamContextFactory(
    defaults: object,
  ): (options: CreateResumableStreamContextOptions) => ResumableStreamContext;
};

it('serves the context of the oldest assistant-stream', async () => {
  const store = new TidemarkStreamStore(memoryStore());
  const context = createAssistantContext({ store }) as Oldest.ResumableStreamContext;
  const make = () => ReadableStream.from([Buffer.from('a'), Buffer.from('b')]) as ReadableStream<Uint8Array>;
  expect(Buffer.concat(await Array.fromAsync(await context.run('one', make))).toString()).toBe('ab');
  expect(Buffer.concat(await Array.fromAsync((await context.resume('one'))!)).toString()).toBe('ab');
});

it('has the methods of the oldest resumable-stream', async () => {
  const oldest = createResumableStreamContextFactory({})({ waitUntil: () => {}, ...memoryBroker() });
  const ours = createResumableStreamContext(memoryStore());
  for (const name of Object.keys(oldest)) expect(ours).toHaveProperty(name, expect.any(Function));
  for (const context of [oldest, ours]) {
    const stream = await context.resumableStream(
      'one',
      () => ReadableStream.from(['a', 'b']) as ReadableStream<string>,
    );
    expect((await Array.fromAsync(stream!)).join('')).toBe('ab');
    await expect.poll(() => context.hasExistingStream('one')).toBe('DONE');
    expect(await context.resumeExistingStream('one')).toBeNull();
  }
});

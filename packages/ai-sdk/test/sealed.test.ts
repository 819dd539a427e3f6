/** Streams in a store that encrypts. */
import { testSealing } from '../../../scripts/adapters/sealed.ts';
import { TidemarkStreamStore } from '../src/assistant-stream.ts';
import { createResumableStreamContext } from '../src/index.ts';

const SECRETS = ['text-secret', 'chunk-secret', 'error-secret'];

testSealing(SECRETS, async (store) => {
  const streams = createResumableStreamContext(store, { replayFinished: true });
  const source = ReadableStream.from(['text-secret']) as ReadableStream<string>;
  await Array.fromAsync((await streams.resumableStream('one', () => source))!);
  const chunks = new TidemarkStreamStore(store);
  await chunks.acquire('two');
  await chunks.append('two', Buffer.from('chunk-secret'));
  await chunks.finalize('two', 'error', 'error-secret');
  return {
    async read() {
      const texts = await Array.fromAsync((await streams.resumeExistingStream('one'))!);
      const seen: string[] = [];
      try {
        const entries = new TidemarkStreamStore(store).read('two', '', new AbortController().signal);
        for await (const { chunk } of entries) seen.push(Buffer.from(chunk).toString());
      } catch (error) {
        seen.push(String(error));
      }
      return [...texts, ...seen].join(' ');
    },
  };
});

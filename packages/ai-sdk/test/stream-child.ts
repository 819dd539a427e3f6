/**
 * Produces a stream on a SQLite file and writes each chunk on a line once it can be read from the store. Arguments: the
 * file and the number of chunks. Does not end the stream before all are written.
 */
import { sqliteStore } from '@tidemark/sqlite';
import { createResumableStreamContext } from '../src/index.ts';
import { PRODUCER_TIMEOUT_MS, STREAM } from './stream.ts';

const [path, count] = process.argv.slice(2) as [string, string];
const store = await sqliteStore(path);
const streams = createResumableStreamContext(store, { producerTimeout: PRODUCER_TIMEOUT_MS });
async function* chunks() {
  for (let at = 0; at < Number(count); at++) {
    yield `chunk ${at}\n`;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
let isProducer = false;
const stream = await streams.resumableStream(STREAM, () => {
  isProducer = true;
  return ReadableStream.from(chunks()) as ReadableStream<string>;
});
process.stdout.write(isProducer ? 'producer\n' : 'consumer\n');
for await (const text of stream!) process.stdout.write(text);
await store.close();

/** Reads a source of text to its end and stores it, even if there are no readers. */
import type { Heartbeats } from './heartbeats.ts';
import type { OpenStream, StreamLogs } from './stream-logs.ts';

/**
 * Chunks that arrive while earlier chunks are being stored are joined into one event of up to about this many
 * characters.
 */
const MAX_JOINED = 64 * 1024;

/** Stores a source until it ends, fails, or the stream is stopped elsewhere. */
export async function produce(
  logs: StreamLogs,
  heartbeats: Heartbeats,
  id: string,
  stream: OpenStream,
  source: ReadableStream<string>,
): Promise<void> {
  const reader = source.getReader();
  let isStopped = false;
  const stop = async () => {
    isStopped = true;
    await reader.cancel(new Error('The stream was stopped')).catch(() => {});
  };
  heartbeats.start(id, stream, () => void stop());
  try {
    for await (const text of joined(reader)) {
      const outcome = await logs.append(id, stream, [{ text }]);
      if (outcome !== 'written') return await stop();
    }
    if (!isStopped) await logs.end(id, stream, { status: 'done' });
  } catch (error) {
    await stop();
    await logs.end(id, stream, { status: 'error', error: error instanceof Error ? error.message : String(error) });
  } finally {
    heartbeats.stop(stream.runId);
  }
}

/** Yields the text of a reader. Joins the chunks that arrived while the consumer was busy. */
async function* joined(reader: ReadableStreamDefaultReader<string>): AsyncGenerator<string> {
  const readNext = () => {
    const read = reader.read();
    // A failure of the read is reported after the preceding chunks have been stored.
    read.catch(() => {});
    return read;
  };
  let next = readNext();
  for (;;) {
    const first = await next;
    if (first.done) return;
    let text = first.value;
    next = readNext();
    while (text.length < MAX_JOINED) {
      const ready = await Promise.race([next, notReady()]);
      if (ready === null) break;
      if (ready.done) {
        if (text !== '') yield text;
        return;
      }
      text += ready.value;
      next = readNext();
    }
    if (text !== '') yield text;
  }
}

/** Resolves after all reads that are already complete have resolved. */
function notReady(): Promise<null> {
  return new Promise((resolve) => setImmediate(() => resolve(null)));
}

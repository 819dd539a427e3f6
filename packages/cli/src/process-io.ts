/** The input and output of a real process: its streams, environment and signals. */
import type { WriteStream } from 'node:tty';
import type { Io, Sink } from './io.ts';

const DEFAULT_COLUMNS = 80;

/** The first interrupt aborts the command; the second exits the process. */
export function processIo(): Io {
  const interrupted = new AbortController();
  const interrupt = () => {
    if (interrupted.signal.aborted) process.exit(130);
    interrupted.abort();
    // Closed, because no command reads stdin any more and an open terminal would keep the process alive.
    process.stdin.destroy();
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  return {
    stdout: toSink(process.stdout),
    stderr: toSink(process.stderr),
    stdin: {
      isTerminal: process.stdin.isTTY === true,
      [Symbol.asyncIterator]: () => process.stdin[Symbol.asyncIterator](),
    },
    env: process.env,
    signal: interrupted.signal,
  };
}

function toSink(stream: WriteStream): Sink {
  // The reader may close the pipe early: `tidemark runs list | head`.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  return {
    isTerminal: stream.isTTY === true,
    get columns() {
      return stream.columns || DEFAULT_COLUMNS;
    },
    async write(chunk) {
      if (!stream.write(chunk)) await new Promise<void>((done) => stream.once('drain', () => done()));
    },
  };
}

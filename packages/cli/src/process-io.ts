/** The surroundings of a real process: its streams, its environment, and Ctrl-C. */
import type { WriteStream } from 'node:tty';
import type { Io, Sink } from './io.ts';

const DEFAULT_COLUMNS = 80;

/** The first interrupt asks the command to end; the second ends the process. */
export function processIo(): Io {
  const interrupted = new AbortController();
  const interrupt = () => {
    if (interrupted.signal.aborted) process.exit(130);
    interrupted.abort();
    // Nobody waits for an answer any more, and an open terminal would keep the process alive.
    process.stdin.destroy();
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  return {
    stdout: sinkOf(process.stdout),
    stderr: sinkOf(process.stderr),
    stdin: {
      isTerminal: process.stdin.isTTY === true,
      [Symbol.asyncIterator]: () => process.stdin[Symbol.asyncIterator](),
    },
    env: process.env,
    signal: interrupted.signal,
  };
}

function sinkOf(stream: WriteStream): Sink {
  // Whoever reads us may have seen enough: `tidemark runs list | head`.
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

/** Runs the command line in a test and captures its exit code and output. */
import type { Io } from '../src/io.ts';
import { run } from '../src/main.ts';

export interface Typed {
  /** The text on stdin. With `never`, stdin stays open after it. */
  input?: string;
  /** Whether stdin, stdout and stderr are a terminal. */
  terminal?: boolean;
  columns?: number;
  env?: Record<string, string>;
  signal?: AbortSignal;
  /** Called with each chunk written to stdout. */
  onOutput?: (text: string) => void;
  /** Called after a question was printed. */
  onQuestion?: () => void;
}

export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs `tidemark <line>` in this process. */
export async function tidemark(line: string | readonly string[], typed: Typed = {}): Promise<Ended> {
  const printed = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  const sink = (name: 'stdout' | 'stderr') => ({
    isTerminal: typed.terminal === true,
    columns: typed.columns ?? 80,
    async write(chunk: string | Uint8Array) {
      printed[name].push(Buffer.from(chunk as Uint8Array));
      if (name === 'stdout') typed.onOutput?.(String(chunk));
      else if (String(chunk).endsWith(': ')) setTimeout(() => typed.onQuestion?.());
    },
  });
  const io: Io = {
    stdout: sink('stdout'),
    stderr: sink('stderr'),
    stdin: {
      isTerminal: typed.terminal === true,
      async *[Symbol.asyncIterator]() {
        yield Buffer.from(typed.input ?? '');
        if (typed.input === 'never') await new Promise(() => {});
      },
    },
    env: { XDG_CONFIG_HOME: 'config', ...typed.env },
    signal: typed.signal ?? new AbortController().signal,
  };
  const code = await run(typeof line === 'string' ? words(line) : line, io);
  return { code, stdout: Buffer.concat(printed.stdout).toString(), stderr: Buffer.concat(printed.stderr).toString() };
}

/** Splits a line into words as a shell does, with quotes and `$NAME` variables. */
export function words(line: string, env: Record<string, string> = {}): string[] {
  const found = line.match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g) ?? [];
  return found.map((word) =>
    word.startsWith('$')
      ? (env[word.slice(1)] ?? word)
      : word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_, one, two) => one ?? two),
  );
}

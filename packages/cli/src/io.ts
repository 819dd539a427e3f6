/** The command line's input and output as interfaces, so that tests can replace them. */

import { TidemarkError } from '@tidemark/core';

/** An output stream. */
export interface Sink {
  /**
   * Resolves when more data can be written, so that a slow reader slows down the writer instead of filling the memory.
   */
  write(chunk: string | Uint8Array): Promise<void>;
  readonly isTerminal: boolean;
  /** The width of the terminal. */
  readonly columns: number;
}

/** An input stream. */
export interface Source extends AsyncIterable<Uint8Array> {
  readonly isTerminal: boolean;
}

export interface Io {
  /** Contains only data. */
  readonly stdout: Sink;
  /** Contains notes, progress, questions and errors. */
  readonly stderr: Sink;
  readonly stdin: Source;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted when the user interrupts. */
  readonly signal: AbortSignal;
}

/** Returns whether to write colours to a sink. */
export function wantsColour(sink: Sink, env: Io['env']): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR && env.FORCE_COLOR !== '0') return true;
  return sink.isTerminal && env.TERM !== 'dumb';
}

/** Reads a source to its end, as text. */
export async function readAll(source: Source): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Reads the first line of stdin, without its line break. Throws `ABORTED` when the user interrupts. */
export async function readLine({ stdin, signal }: Pick<Io, 'stdin' | 'signal'>): Promise<string> {
  const interruption = () => new TidemarkError('ABORTED', 'Interrupted: nothing was changed');
  if (signal.aborted) throw interruption();
  const interrupted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(interruption()), { once: true });
  });
  return Promise.race([firstLine(stdin), interrupted]);
}

async function firstLine(source: Source): Promise<string> {
  let text = '';
  for await (const chunk of source) {
    text += Buffer.from(chunk).toString('utf8');
    if (text.includes('\n')) break;
  }
  return text.split(/\r?\n/, 1)[0]!;
}

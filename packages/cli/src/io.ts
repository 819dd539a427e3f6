/** What the command line knows of its surroundings, so that it runs in a test as it does in a terminal. */

import { TidemarkError } from '@tidemark/core';

/** Where text goes. */
export interface Sink {
  /** Resolves once more may be written: a slow reader holds the writer back instead of filling memory. */
  write(chunk: string | Uint8Array): Promise<void>;
  readonly isTerminal: boolean;
  /** How wide the terminal is. */
  readonly columns: number;
}

/** Where input comes from. */
export interface Source extends AsyncIterable<Uint8Array> {
  readonly isTerminal: boolean;
}

export interface Io {
  /** Data, and nothing else. */
  readonly stdout: Sink;
  /** Notes, progress, questions and errors. */
  readonly stderr: Sink;
  readonly stdin: Source;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted when the user interrupts. */
  readonly signal: AbortSignal;
}

/** Whether to colour what goes to a sink. */
export function wantsColour(sink: Sink, env: Io['env']): boolean {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR && env.FORCE_COLOR !== '0') return true;
  return sink.isTerminal && env.TERM !== 'dumb';
}

/** All of the input as text. */
export async function readAll(source: Source): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** The first line of the input, without its end; `ABORTED` when the user interrupts instead. */
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

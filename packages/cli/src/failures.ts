/** What went wrong, why, and what to do next: on stderr, in three lines. */
import { styleText } from 'node:util';
import { ERROR_CODES, isTidemarkError } from '@tidemark/core';
import { hideUrlSecrets } from '@tidemark/core/engine';
import { type Io, wantsColour } from './io.ts';
import { printable } from './table.ts';

export async function reportFailure(io: Io, error: unknown): Promise<void> {
  const colours = wantsColour(io.stderr, io.env);
  const label = colours ? styleText('red', 'error', { validateStream: false }) : 'error';
  // Drivers may quote the URL they were given.
  await io.stderr.write(`${label}: ${hideUrlSecrets(describe(error))}\n`);
}

function describe(error: unknown): string {
  if (isTidemarkError(error)) {
    const { meaning, remedy } = ERROR_CODES[error.code];
    const current = error.current === undefined ? '' : `\n  now:  ${printable(JSON.stringify(error.current))}`;
    return `${printable(error.message)}${current}\n  why:  ${error.code}: ${meaning}\n  next: ${remedy}`;
  }
  if (isSystemError(error))
    return `${printable(error.message)}\n  next: Check the name and who may read and write there.`;
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `${text}\n  next: This is a defect of tidemark: please report it with the lines above.`;
}

/** What the system says of a file that cannot be read or written. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === 'string';
}

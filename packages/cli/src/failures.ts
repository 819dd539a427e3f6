/** Prints an error to stderr: the message, the reason and what to do next. */
import { styleText } from 'node:util';
import { ERROR_CODES, isTidemarkError } from '@tidemark/core';
import { hideUrlSecrets } from '@tidemark/core/engine';
import { type Io, wantsColour } from './io.ts';
import { printable } from './table.ts';

export async function reportFailure(io: Io, error: unknown): Promise<void> {
  const colours = wantsColour(io.stderr, io.env);
  const label = colours ? styleText('red', 'error', { validateStream: false }) : 'error';
  // Drivers may quote the URL, with its password.
  await io.stderr.write(`${label}: ${hideUrlSecrets(describe(error))}\n`);
}

function describe(error: unknown): string {
  if (isTidemarkError(error)) {
    const { meaning, remedy } = ERROR_CODES[error.code];
    const current = error.current === undefined ? '' : `\n  now:  ${printable(JSON.stringify(error.current))}`;
    return `${printable(error.message)}${current}\n  why:  ${error.code}: ${meaning}\n  next: ${remedy}`;
  }
  if (isSystemError(error)) return `${printable(error.message)}\n  next: Check the path and its permissions.`;
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `${text}\n  next: This is a bug in tidemark: please report it with the lines above.`;
}

/** True for errors of the operating system, such as a missing file. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === 'string';
}

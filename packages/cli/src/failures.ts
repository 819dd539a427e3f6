/** Prints an error to stderr: the message, the reason and the next step for the user. */
import { styleText } from 'node:util';
import { ERROR_CODES, type ErrorDetails, isTidemarkError, TidemarkError } from '@tidemark/core';
import { hideUrlSecrets } from '@tidemark/core/engine';
import { type Io, wantsColour } from './io.ts';
import { printable } from './table.ts';

/** An error with its own advice, for cases where the advice for its code does not fit. */
export class AdvisedError extends TidemarkError {
  readonly advice: string;

  constructor(advice: string, ...error: ConstructorParameters<typeof TidemarkError>) {
    super(...error);
    this.advice = advice;
  }
}

/** Returns the error for a file that is missing or cannot be read. */
export function noFile(message: string, details?: ErrorDetails): AdvisedError {
  return new AdvisedError('Check the path and its permissions.', 'NOT_FOUND', message, details);
}

/** Maximum number of faults that are printed. */
const SHOWN_FAULTS = 20;

export async function reportFailure(io: Io, error: unknown): Promise<void> {
  const colours = wantsColour(io.stderr, io.env);
  const label = colours ? styleText('red', 'error', { validateStream: false }) : 'error';
  // Secrets are hidden, because drivers may quote the URL with its password.
  await io.stderr.write(`${label}: ${hideUrlSecrets(describe(error))}\n`);
}

function describe(error: unknown): string {
  if (isTidemarkError(error)) {
    const { meaning, remedy } = ERROR_CODES[error.code];
    const advice = error instanceof AdvisedError ? error.advice : remedy;
    const lines = [
      printable(error.message),
      ...faultLines(error),
      ...(error.current === undefined ? [] : [`  now:   ${printable(JSON.stringify(error.current))}`]),
      // The meaning of a code is printed unless the error has its own advice, because its message is then more
      // specific.
      `  why:   ${error.code}${error instanceof AdvisedError ? '' : `: ${meaning}`}`,
      `  next:  ${advice}`,
    ];
    return lines.join('\n');
  }
  if (isSystemError(error)) return `${printable(error.message)}\n  next:  Check the path and its permissions.`;
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return `${text}\n  next:  This is a bug in tidemark: please report it with the lines above.`;
}

/** Returns `field` and `rule` of an error, or of each fault if there are several. */
function faultLines({ field, rule, errors = [] }: TidemarkError): string[] {
  if (errors.length > 1)
    return errors.slice(0, SHOWN_FAULTS).map((it) => `  fault: ${printable(it.field)}: ${printable(it.rule)}`);
  return [
    ...(field === undefined ? [] : [`  field: ${printable(field)}`]),
    ...(rule === undefined ? [] : [`  rule:  ${printable(rule)}`]),
  ];
}

/** True for errors of the operating system, such as a missing file. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === 'string';
}

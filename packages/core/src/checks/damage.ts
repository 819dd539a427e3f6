/** Damaged values: the error that names a damaged value, and the collector that lets lists continue without it. */
import { isTidemarkError, TidemarkError } from '../contracts/errors.ts';

/** Returns the `CORRUPT_VALUE` error for a value that does not match its checksum. `field` is the name of the value. */
export function corruptValue(what: string, name: string, cause?: unknown): TidemarkError {
  return new TidemarkError(
    'CORRUPT_VALUE',
    `The stored ${what} ${JSON.stringify(name)} does not match its checksum; store it again or restore it from a backup`,
    { field: name, rule: 'what was stored', ...(cause === undefined ? {} : { cause }) },
  );
}

/**
 * Collects the damaged values that a list omitted. The list is read to its end before an error is thrown, so that one
 * damaged value does not make everything after it unreadable.
 */
export class Damage {
  readonly #errors: TidemarkError[] = [];

  /** Records a `CORRUPT_VALUE` error and rethrows every other error. */
  note(error: unknown): undefined {
    if (!isTidemarkError(error, 'CORRUPT_VALUE')) throw error;
    this.#errors.push(error);
  }

  /** Returns the result of `read`, or records the damage and returns `undefined`. */
  attempt<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      return this.note(error);
    }
  }

  get names(): string[] {
    return this.#errors.map((error) => error.field!);
  }

  /** Adds the names of the damaged values to `into`. Without `into`, throws the first error. */
  report(into?: string[]): void {
    const [first] = this.#errors;
    if (into) into.push(...this.names);
    else if (first) throw first;
  }
}

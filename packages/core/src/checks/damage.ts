/** Damaged values: the error that names one, and how lists go on without them. */
import { isTidemarkError, TidemarkError } from '../contracts/errors.ts';

/** The error of a value that is not what was stored. `field` names it for those who may know. */
export function corruptValue(what: string, name: string, cause?: unknown): TidemarkError {
  return new TidemarkError(
    'CORRUPT_VALUE',
    `The stored ${what} ${JSON.stringify(name)} does not match its checksum; store it again or restore it from a backup`,
    { field: name, rule: 'what was stored', ...(cause === undefined ? {} : { cause }) },
  );
}

/**
 * What a list left out because it is damaged. The rest is read first: one damaged value must not keep everything after it from
 * those who read.
 */
export class Damage {
  readonly #errors: TidemarkError[] = [];

  /** Notes a `CORRUPT_VALUE`; throws every other error. */
  note(error: unknown): undefined {
    if (!isTidemarkError(error, 'CORRUPT_VALUE')) throw error;
    this.#errors.push(error);
  }

  /** The value that `read` returns, or `undefined` when it is damaged. */
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

  /** Adds the names of what is damaged to a list; without one, throws the first error. */
  report(into?: string[]): void {
    const [first] = this.#errors;
    if (into) into.push(...this.names);
    else if (first) throw first;
  }
}

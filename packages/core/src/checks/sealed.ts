/** The option `sealed` of writes: true for all fields, or the names of some (KV-11). */
import { invalidArgument } from '../contracts/errors.ts';

/** Returns the option. Throws `INVALID_ARGUMENT` unless it is a boolean, or names that the write has. */
export function checkSealed(
  sealed: unknown,
  field: string,
  written: { has(name: string): boolean },
): boolean | readonly string[] | undefined {
  if (sealed === undefined || typeof sealed === 'boolean') return sealed;
  if (Array.isArray(sealed) && sealed.every((name) => typeof name === 'string' && written.has(name))) return sealed;
  throw invalidArgument(field, 'true or false, or names of fields that the write sets', sealed);
}

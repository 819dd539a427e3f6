/** The form of a write in errors (GEN-8). Does not import the table of calls, which clients do not need. */
import type { StoreDomain } from '../contracts/calls.ts';
import type { AttemptOption, StoreWrite } from '../contracts/writes.ts';

/** A write as it was called. Converted to the form used in errors only if it fails. */
export interface WriteCall {
  domain: StoreDomain;
  method: string;
  args: unknown[];
  /** The tenant of the view; `null` for the operator's view. */
  tenantId: string | null;
}

const ATTEMPT_OPTIONS: readonly string[] = [
  'signal',
  'timeoutMs',
  'onProgress',
  'transaction',
] satisfies AttemptOption[];

/**
 * Returns the form of a write in errors, or `undefined` if it joined a transaction, whose outcome only the caller can
 * determine. `optionsAt` is the index of the options. The caller must first replace arguments that errors must not
 * contain.
 */
export function writeForError(
  { domain, method, args, tenantId }: WriteCall,
  optionsAt: number,
): StoreWrite | undefined {
  if (Object(args[optionsAt]).transaction !== undefined) return undefined;
  const carried = args.map((it, index) => (index === optionsAt ? withoutAttempt(it) : it));
  while (carried.length > 0 && carried.at(-1) === undefined) carried.pop();
  return { domain, method, args: carried, ...(tenantId === null ? {} : { tenantId }) } as StoreWrite;
}

/** Removes the options that apply to a single attempt. Returns `undefined` if no others are set. */
function withoutAttempt(options: unknown): unknown {
  const members = Object.entries(Object(options)).filter(
    ([name, value]) => value !== undefined && !ATTEMPT_OPTIONS.includes(name),
  );
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

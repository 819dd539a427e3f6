/** Writes under way, and the form in which an error carries a write to retry (GEN-8). */
import { type CallArgs, type CallFacts, factsOf, type StoreDomain, type WriteMethod } from '../contracts/calls.ts';
import { isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import type { StoreWrite, WriteArgs } from '../contracts/writes.ts';
import { type WriteCall, writeForError } from './carried-writes.ts';

export type { WriteCall } from './carried-writes.ts';

/** Describes a write by its arguments, with the ids generated for this attempt and without secrets. */
export function writeCall<D extends StoreDomain, M extends WriteMethod<D>>(
  tenantId: string | null,
  domain: D,
  method: M,
  args: CallArgs<D, M> | WriteArgs<D, M>,
): WriteCall {
  return { domain, method, args, tenantId };
}

/**
 * Returns a write as an error carries it, or `undefined` when it joined a transaction that only the caller can settle.
 */
export function carriedWrite({ domain, method, args, tenantId }: WriteCall): StoreWrite | undefined {
  const facts = factsOf({ domain, method });
  const [first, ...others] = args;
  const carried = withholdsFirst(facts, args) ? [withheldOf(facts, first), ...others] : args;
  return writeForError({ domain, method, args: carried, tenantId }, facts.options!);
}

/** Attaches the write to retry to an error whose outcome is unknown. Returns any other error unchanged. */
export function withWrite(error: unknown, write: WriteCall): unknown {
  if (!isTidemarkError(error, 'OUTCOME_UNKNOWN')) return error;
  const { message, cause, runId } = error;
  return new TidemarkError('OUTCOME_UNKNOWN', message, { write: carriedWrite(write), cause, runId });
}

/** Whether a call cannot be retried with its first argument: a secret that must not be kept, or a stream. */
export function withholdsFirst(facts: CallFacts, args: readonly unknown[]): boolean {
  if (facts.kind !== 'write' || facts.withholds === undefined) return false;
  return facts.withholds !== 'parts' || !Array.isArray(args[0]);
}

/** Whether a write can be retried safely: it has its own keys, or the id that its table entry names. */
export function isSettled(facts: CallFacts, args: readonly unknown[]): boolean {
  if (facts.kind !== 'write') return false;
  const { settledBy, settledAt = facts.options } = facts;
  if (settledBy === 'itself' || settledBy === 'state') return true;
  return Object(args[settledAt])[settledBy] !== undefined;
}

function withheldOf(facts: CallFacts, argument: unknown): unknown {
  if (facts.kind === 'write' && facts.withholds === 'token' && typeof argument !== 'string') return argument;
  return { withheld: (facts as { withholds?: string }).withholds };
}

/** A write as an error carries it, so that it can be retried. */
import type { CALLS, CallArgs, MethodOf, StoreDomain, WithheldArgument, WriteMethod } from './calls.ts';
import type { RunPart } from './run-parts.ts';

/**
 * Replaces an argument that a write does not carry. The token of a pause is a secret and never part of an error; a
 * stream can be read only once.
 */
export interface Withheld<A extends WithheldArgument = WithheldArgument> {
  withheld: A;
  /** For a token: its SHA-256, which identifies the pause. Absent in errors of the HTTP client. */
  pauseId?: string;
}

/**
 * Options that belong to one attempt and not to the write: its signal, its timeout, its progress callback and the
 * caller's transaction.
 */
export type AttemptOption = 'signal' | 'timeoutMs' | 'onProgress' | 'transaction';

/** An argument of a call without the options that belong to one attempt. */
type Carried<Argument> = Argument extends object
  ? 'signal' extends keyof Argument
    ? Omit<Argument, AttemptOption>
    : Argument
  : Argument;

type CarriedAll<Args extends readonly unknown[]> = { [At in keyof Args]: Carried<Args[At]> };

type WithholdingOf<D extends StoreDomain, M extends MethodOf<D>> = M extends keyof (typeof CALLS)[D]
  ? (typeof CALLS)[D][M] extends { withholds: infer A extends WithheldArgument }
    ? A
    : never
  : never;

/** An array of run parts can be read again, so a write carries it. */
type FirstOf<A extends WithheldArgument> = Withheld<A> | (A extends 'parts' ? RunPart[] : never);

/** The arguments of a write as an error carries them. */
export type WriteArgs<D extends StoreDomain, M extends MethodOf<D>> = [WithholdingOf<D, M>] extends [never]
  ? CarriedAll<CallArgs<D, M>>
  : CallArgs<D, M> extends [unknown, ...infer Rest]
    ? [FirstOf<WithholdingOf<D, M>>, ...CarriedAll<Rest>]
    : never;

/** One write: the call to repeat, with every id that the first attempt generated. */
export interface WriteOf<D extends StoreDomain, M extends MethodOf<D>> {
  domain: D;
  method: M;
  args: WriteArgs<D, M>;
  /** The tenant of the view on which the write was called. Absent for the plain store. */
  tenantId?: string;
}

/**
 * A write that an error carries. `domain` and `method` name the call and `args` are its arguments, with these
 * exceptions:
 *
 * - Options that belong to one attempt are omitted: `signal`, `timeoutMs` and `onProgress`.
 * - An append that joined a transaction is not carried: only the owner of the transaction knows its outcome, and the
 *   append must not be stored outside of it.
 * - The token of a pause and streams are replaced by a `Withheld`. Pass them to `replay`.
 * - All other arguments are unchanged. Bytes and projections stay as they were passed, so a write with either is not
 *   plain JSON.
 */
export type StoreWrite = {
  [D in StoreDomain]: { [M in WriteMethod<D>]: WriteOf<D, M> }[WriteMethod<D>];
}[StoreDomain];

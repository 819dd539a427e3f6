/** A write as an error carries it, so that it can be sent again. */
import type { CALLS, CallArgs, MethodOf, StoreDomain, WithheldArgument, WriteMethod } from './calls.ts';
import type { RunPart } from './run-parts.ts';

/**
 * Stands in a write for the argument that it does not carry. The token of a pause is a secret and never part of an error; a
 * stream can be read only once.
 */
export interface Withheld<A extends WithheldArgument = WithheldArgument> {
  withheld: A;
  /** Of a token: the SHA-256 of it, by which the pause is known. Not known to the HTTP client. */
  pauseId?: string;
}

/**
 * Members of options that belong to one attempt and not to the write: its bounds, what it reports to, and the caller's
 * transaction.
 */
export type AttemptOption = 'signal' | 'timeoutMs' | 'onProgress' | 'transaction';

/** An argument of a call without what belongs to one attempt. */
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

/** Parts of a run that are an array can be read again, so they are carried. */
type FirstOf<A extends WithheldArgument> = Withheld<A> | (A extends 'parts' ? RunPart[] : never);

/** The arguments of a write as an error carries them. */
export type WriteArgs<D extends StoreDomain, M extends MethodOf<D>> = [WithholdingOf<D, M>] extends [never]
  ? CarriedAll<CallArgs<D, M>>
  : CallArgs<D, M> extends [unknown, ...infer Rest]
    ? [FirstOf<WithholdingOf<D, M>>, ...CarriedAll<Rest>]
    : never;

/** One write: the call to make again, with every id that the first attempt made for itself. */
export interface WriteOf<D extends StoreDomain, M extends MethodOf<D>> {
  domain: D;
  method: M;
  args: WriteArgs<D, M>;
  /** The tenant of the view it was made on; absent for the plain store. */
  tenantId?: string;
}

/**
 * A write that an error carries. `domain` and `method` name the call and `args` are its arguments, with these exceptions:
 *
 * - What belongs to one attempt is left out: `signal`, `timeoutMs` and `onProgress`.
 * - An append that joined a transaction is not carried at all: only the owner of the transaction can find out what became
 *   of it, and the append must not be stored outside of it.
 * - The token of a pause and streams are replaced by a `Withheld`; `replay` is given them.
 * - Other values are those that the call was given. Bytes stay bytes and projections stay what `defineProjection` returned,
 *   so a write with either is not plain JSON.
 */
export type StoreWrite = {
  [D in StoreDomain]: { [M in WriteMethod<D>]: WriteOf<D, M> }[WriteMethod<D>];
}[StoreDomain];

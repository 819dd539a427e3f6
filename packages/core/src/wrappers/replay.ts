/** `replay`: sends a write again whose outcome is unknown (GEN-8). */
import { isPlainObject } from '../checks/text.ts';
import { CALLS, type CallArgs, type CallFacts, factsOf, type MethodOf, type StoreDomain } from '../contracts/calls.ts';
import type { CallOptions } from '../contracts/common.ts';
import { invalidArgument, TidemarkError } from '../contracts/errors.ts';
import type { Store } from '../contracts/store.ts';
import type { StoreWrite, Withheld } from '../contracts/writes.ts';
import { isSettled } from '../tools/writes.ts';

/** Options of `replay`. */
export interface ReplayOptions extends CallOptions {
  /** The argument that the write does not carry: the token of a pause, the chunks of an artifact, the parts of a run. */
  withheld?: unknown;
}

/** What a write returns. */
export type ReplayResult<W extends StoreWrite> = W extends { domain: infer D; method: infer M }
  ? D extends StoreDomain
    ? M extends MethodOf<D>
      ? Store[D][M] extends (...args: never[]) => infer Result
        ? Awaited<Result>
        : never
      : never
    : never
  : never;

/** What `replay` takes besides the write: options that must hold the argument that is withheld, if one is. */
export type ReplayArguments<W extends StoreWrite> = W extends { domain: infer D; method: infer M; args: infer Args }
  ? Args extends [Withheld, ...unknown[]]
    ? D extends StoreDomain
      ? M extends MethodOf<D>
        ? [options: ReplayOptions & { withheld: CallArgs<D, M>[0] }]
        : never
      : never
    : [options?: ReplayOptions]
  : never;

/**
 * Sends a write again whose outcome is unknown and returns its result. However often it is replayed, the write is carried
 * out once; afterwards it is known to be stored, or the error says why it is not.
 *
 * Most writes return what they would have returned the first time. Some report what they find: `deleteRun` returns false when
 * the first attempt deleted the run. A write that was made on the view of a tenant is replayed on that view.
 *
 * @example
 * try { await store.kv.swap('counter', { expectedRevision: 3, set: { n: 4 }, requestId }) } catch (error) {
 *   if (!isTidemarkError(error, 'OUTCOME_UNKNOWN') || !error.write) throw error;
 *   await replay(store, error.write);
 * }
 *
 * @throws `INVALID_ARGUMENT` when nothing in the write settles it, such as a kv write without a `requestId`, and when it
 * needs an argument that errors do not carry and `withheld` is missing. `TENANT_MISMATCH` when the store is the view of
 * another tenant. Otherwise what the call throws; `OUTCOME_UNKNOWN` again when this reply is lost too.
 */
export async function replay<W extends StoreWrite>(
  store: Store,
  write: W,
  ...[options]: ReplayArguments<W>
): Promise<ReplayResult<W>> {
  const facts = checkWrite(write);
  if (!isReplayable(write)) throw invalidArgument('write', `one with a ${facts.settledBy}, which would settle it`);
  const args: unknown[] = [...write.args];
  const { signal, timeoutMs, withheld } = (options ?? {}) as ReplayOptions;
  if (isWithheld(args[0])) {
    if (withheld === undefined) throw invalidArgument('withheld', `the ${args[0].withheld}, which errors do not carry`);
    args[0] = withheld;
  }
  if (signal !== undefined || timeoutMs !== undefined)
    args[facts.options] = { ...Object(args[facts.options]), signal, timeoutMs };
  const domain = viewOf(store, write.tenantId)[write.domain] as unknown as Record<string, Method>;
  return domain[write.method]!(...args) as Promise<ReplayResult<W>>;
}

/** Whether a write carries what settles it, so that `replay` may send it again. */
export function isReplayable(write: StoreWrite): boolean {
  return isSettled(checkWrite(write), write.args);
}

type Method = (...args: unknown[]) => Promise<unknown>;

function checkWrite(write: unknown): Extract<CallFacts, { kind: 'write' }> {
  const { domain, method, args } = (isPlainObject(write) ? write : {}) as Partial<StoreWrite>;
  const isCall = typeof domain === 'string' && Object.hasOwn(CALLS, domain) && Object.hasOwn(CALLS[domain], method!);
  const facts = isCall ? factsOf({ domain, method: method! }) : undefined;
  if (facts?.kind !== 'write' || !Array.isArray(args)) throw invalidArgument('write', 'a write that an error carries');
  return facts;
}

function isWithheld(argument: unknown): argument is Withheld {
  return isPlainObject(argument) && Object.hasOwn(argument, 'withheld');
}

function viewOf(store: Store, tenantId: string | undefined): Store {
  const own = store.info.tenantId;
  if (tenantId === undefined || own === tenantId) return store;
  if (own === undefined) return store.forTenant(tenantId);
  throw new TidemarkError(
    'TENANT_MISMATCH',
    'The write was made on the view of another tenant; replay it there, or on the plain store',
    { field: 'write.tenantId', rule: 'the tenant of the view' },
  );
}

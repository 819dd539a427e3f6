/** `replay`: retries a write whose outcome is unknown (GEN-8). */
import { isPlainObject } from '../checks/text.ts';
import { CALLS, type CallArgs, type CallFacts, factsOf, type MethodOf, type StoreDomain } from '../contracts/calls.ts';
import type { CallOptions } from '../contracts/common.ts';
import { invalidArgument, TidemarkError } from '../contracts/errors.ts';
import type { Store } from '../contracts/store.ts';
import type { StoreWrite, Withheld } from '../contracts/writes.ts';
import { isSettled } from '../tools/writes.ts';

/** Options of `replay`. */
export interface ReplayOptions extends CallOptions {
  /** The argument that errors omit: the token of a pause, the chunks of an artifact, or the parts of a run. */
  withheld?: unknown;
}

/** The result of a write. */
export type ReplayResult<W extends StoreWrite> = W extends { domain: infer D; method: infer M }
  ? D extends StoreDomain
    ? M extends MethodOf<D>
      ? Store[D][M] extends (...args: never[]) => infer Result
        ? Awaited<Result>
        : never
      : never
    : never
  : never;

/** The further arguments of `replay`: options, with the withheld argument if the write has one. */
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
 * Retries a write whose outcome is unknown and returns its result. The write takes effect once, even if it is replayed
 * several times. When `replay` resolves, the write is stored; otherwise the error gives the reason.
 *
 * Most writes return the same result as the first attempt would have. Some depend on the current state: `deleteRun`
 * returns false when the first attempt deleted the run. A write that was made on the view of a tenant is replayed on
 * that view.
 *
 * @example
 * const change = { expectedRevision: 0, set: { n: 1 }, requestId: crypto.randomUUID() };
 * try {
 *   await store.kv.swap('counter', change);
 * } catch (error) {
 *   if (!isTidemarkError(error, 'OUTCOME_UNKNOWN') || !error.write) throw error;
 *   await replay(store, error.write);
 * }
 *
 * @throws `INVALID_ARGUMENT` when the write cannot be replayed safely, such as a kv write without a `requestId`, and
 * when it needs the `withheld` argument and that is missing. `TENANT_MISMATCH` when the store is the view of another
 * tenant. Otherwise the errors of the call; `OUTCOME_UNKNOWN` again when this reply is lost too.
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

/**
 * Whether `replay` can retry a write safely: it contains a key or a condition that keeps it from taking effect twice.
 *
 * @throws `INVALID_ARGUMENT` for a value that is not the `write` of an error.
 *
 * @example
 * console.log(isReplayable({ domain: 'kv', method: 'put', args: ['key', { a: 1 }, { requestId: 'r1' }] })); // true
 */
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

/** Wraps a store so that every call, including calls on the views of tenants, passes through an interceptor. */
import { factsOf, type MethodOf, type StoreDomain } from '../contracts/calls.ts';
import type { CallOptions } from '../contracts/common.ts';
import type { RunEventInput } from '../contracts/run-events.ts';
import type { Store } from '../contracts/store.ts';
import { filledEvent, filledEvents, type Stamps } from '../runs/envelope.ts';
import { createHandle, type HandleDefaults } from '../runs/handle.ts';

/** An intercepted call. */
export type StoreCall = {
  [D in StoreDomain]: {
    domain: D;
    method: MethodOf<D>;
    args: readonly unknown[];
    /** The tenant of the view that was called; absent for the operator's view. */
    tenantId: string | undefined;
  };
}[StoreDomain];

/** Handles each call of a store. `proceed` makes the call, with other arguments if given. */
export interface Interceptor {
  call(call: StoreCall, proceed: (args?: readonly unknown[]) => Promise<unknown>): Promise<unknown>;
  /** Handles calls that return an iterator. Without it, they are not intercepted. */
  iterate?(call: StoreCall, proceed: () => AsyncIterable<unknown>): AsyncIterable<unknown>;
}

export class InterceptedStore implements Store {
  readonly runs: Store['runs'];
  readonly kv: Store['kv'];
  readonly jobs: Store['jobs'];
  readonly agents: Store['agents'];
  readonly artifacts: Store['artifacts'];
  readonly admin: Store['admin'];
  protected readonly inner: Store;
  readonly #interceptor: Interceptor;

  constructor(inner: Store, interceptor: Interceptor) {
    this.inner = inner;
    this.#interceptor = interceptor;
    this.runs = this.#around('runs', { handle: (runId, defaults) => this.#handle(runId, defaults) });
    this.kv = this.#around('kv');
    this.jobs = this.#around('jobs');
    this.agents = this.#around('agents');
    this.artifacts = this.#around('artifacts');
    this.admin = this.#around('admin');
  }

  get info() {
    return this.inner.info;
  }

  forTenant(tenantId: string): Store {
    return new InterceptedStore(this.inner.forTenant(tenantId), this.#interceptor);
  }

  ping(options?: CallOptions) {
    return this.inner.ping(options);
  }

  doctor(options?: CallOptions) {
    return this.inner.doctor(options);
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Returns a handle whose calls pass through the interceptor too. */
  #handle(runId: string, defaults?: HandleDefaults) {
    return createHandle(this.runs, runId, { tenantId: this.inner.info.tenantId, ...defaults });
  }

  #around<D extends StoreDomain>(
    domain: D,
    own: { handle?: (runId: string, defaults?: HandleDefaults) => unknown } = {},
  ): Store[D] {
    const target = this.inner[domain];
    const tenantId = this.inner.info.tenantId;
    const methods = new Map<string, unknown>();
    return new Proxy(target, {
      get: (_, name) => {
        const method: unknown = Reflect.get(target, name, target);
        if (typeof method !== 'function' || typeof name !== 'string') return method;
        if (!methods.has(name))
          methods.set(
            name,
            own[name as 'handle'] ?? this.#intercepted(target, { domain, method: name, tenantId } as CallTarget),
          );
        return methods.get(name);
      },
    });
  }

  #intercepted(target: object, where: CallTarget): Method {
    const method = Reflect.get(target, where.method, target) as Method;
    const { call, iterate } = this.#interceptor;
    if (factsOf(where).kind === 'iterate') {
      if (!iterate) return (...args) => method.apply(target, args);
      return (...args) =>
        iterate.call(
          this.#interceptor,
          { ...where, args } as StoreCall,
          () => method.apply(target, args) as AsyncIterable<unknown>,
        );
    }
    const complete = completionOf(where);
    return (...given) => {
      const args = complete(given);
      return call.call(this.#interceptor, { ...where, args } as StoreCall, async (changed = args) =>
        method.apply(target, [...changed]),
      );
    };
  }
}

type Method = (...args: unknown[]) => unknown;

const STAMPS: Stamps = { uuid: () => globalThis.crypto.randomUUID(), clock: Date.now };

/** Returns the function that fills in the events of an append, so that each attempt sends the same ids (GEN-11). */
function completionOf({ domain, method, tenantId }: CallTarget): (args: unknown[]) => unknown[] {
  if (domain !== 'runs') return (args) => args;
  if (method === 'appendEvent')
    return ([event, ...rest]) => [filledEvent(event as RunEventInput, STAMPS, tenantId), ...rest];
  if (method === 'appendEvents')
    return ([events, ...rest]) => [filledEvents(events as RunEventInput[], STAMPS, tenantId), ...rest];
  return (args) => args;
}

/** A call without its arguments. */
type CallTarget = Omit<StoreCall, 'args'>;

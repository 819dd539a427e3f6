/**
 * Calls over `fetch`: limited by the caller's timeout and signal, with the errors that a local store would throw
 * (GEN-3, GEN-8).
 */
import {
  type CallArgs,
  type CallOptions,
  carriedWrite,
  checkDuration,
  type Duration,
  type StoreDomain,
  type StoreWrite,
  TidemarkError,
  timeLimitOf,
  type WriteArgs,
  type WriteMethod,
  writeCall,
} from '@tidemark/core/portable';
import {
  type AnswerTo,
  chunksOf,
  errorOfProblem,
  JSON_TYPE,
  jsonLinesOf,
  LINES,
  type Parameters,
  problemOfLine,
  type QueryTo,
  queryOf,
  type RouteName,
  segmentOf,
  type Target,
  TENANT_HEADER,
  TIMEOUT_HEADER,
  toOldNames,
} from '@tidemark/wire';
import { errorOfAnswer, errorOfConnection, errorOfGivingUp, NO_WRITE } from './failures.ts';

/** Extra time for the server, which enforces the time limit itself and returns a more precise error. */
const GRACE_MS = 500;
const LONGEST_MS = 600_000;

export interface TransportOptions {
  /** Without a trailing slash. */
  url: string;
  token: string | undefined;
  fetch: typeof globalThis.fetch;
  timeoutMs: number;
}

/** A request to a route. */
export interface Request<Name extends RouteName = RouteName> extends Target<Name> {
  query?: QueryTo<Name>;
  /** JSON text, or bytes of another type. */
  body?: string | Blob | ReadableStream<Uint8Array>;
  type?: string;
  accept?: string;
  headers?: Record<string, string>;
  /** Consists of many steps on the server, each with its own time limit. */
  isLong?: boolean;
  /** The write to carry in the error when the response is lost, so that the caller can retry it. */
  write?: StoreWrite;
}

/** A response whose body is read as it arrives. */
export interface OpenAnswer {
  response: Response;
  chunks: AsyncIterable<Uint8Array>;
}

/** The time limit and signal of a call. `end` releases both. */
interface Bounds {
  controller: AbortController;
  timeoutMs: number;
  /** Restarts the time limit. */
  renew(): void;
  end(): void;
  /** Why the call ended, or `null` if neither the limit nor the signal ended it. */
  why(): 'was aborted' | 'ran out of time' | null;
}

/** State shared by the store and all its views. */
class Lifetime {
  readonly closing = new AbortController();
  readonly pending = new Set<Promise<unknown>>();
}

export class Transport {
  readonly #options: TransportOptions;
  readonly #lifetime: Lifetime;
  readonly tenantId: string | null;
  /** Whether the server is version 0.1, which uses other names for some parameters and members. */
  usesOldNames = false;

  constructor(options: TransportOptions, tenantId: string | null = null, lifetime = new Lifetime()) {
    this.#options = options;
    this.tenantId = tenantId;
    this.#lifetime = lifetime;
  }

  /** Returns a transport over the same connection for one tenant. */
  forTenant(tenantId: string): Transport {
    const transport = new Transport(this.#options, tenantId, this.#lifetime);
    transport.usesOldNames = this.usesOldNames;
    return transport;
  }

  /** Describes a write for the error that carries it. */
  writeOf<D extends StoreDomain, M extends WriteMethod<D>>(
    domain: D,
    method: M,
    args: CallArgs<D, M> | WriteArgs<D, M>,
  ): StoreWrite | undefined {
    return carriedWrite(writeCall(this.tenantId, domain, method, args));
  }

  /** Returns parameters or members under the names that the server knows. */
  named<Members extends object>(route: RouteName, members: Members): Members {
    return this.usesOldNames ? toOldNames(route, members) : members;
  }

  /** Aborted when the store is closed. */
  get closed(): AbortSignal {
    return this.#lifetime.closing.signal;
  }

  /** Ends live reads, then waits for pending calls. */
  async close(): Promise<void> {
    this.#lifetime.closing.abort();
    await Promise.allSettled([...this.#lifetime.pending]);
  }

  /** Sends a request and returns the JSON of the response. */
  async call<Name extends RouteName>(
    request: Request<Name>,
    options: CallOptions | undefined,
  ): Promise<AnswerTo<Name>> {
    const response = this.#send(request, options, async (it) => (it.status === 204 ? null : await it.json()));
    return (await this.#settled(response)) as AnswerTo<Name>;
  }

  /** As `call`, but returns `null` for `NOT_FOUND`. */
  async find<Name extends RouteName>(
    request: Request<Name>,
    options: CallOptions | undefined,
  ): Promise<AnswerTo<Name> | null> {
    try {
      return await this.call(request, options);
    } catch (error) {
      if (error instanceof TidemarkError && error.code === 'NOT_FOUND') return null;
      throw error;
    }
  }

  /** Runs one step of a longer operation. `isDone` reports whether it was the last. */
  async step<Name extends RouteName>(
    request: Request<Name>,
    options: CallOptions | undefined,
  ): Promise<{ isDone: boolean; report: AnswerTo<Name> }> {
    const read = async (it: Response) => ({ isDone: it.status !== 202, report: (await it.json()) as AnswerTo<Name> });
    return this.#settled(this.#send(request, options, read));
  }

  /** Yields the lines of a response as they arrive. The time limit applies to each line. */
  async *lines<T>(request: Request, options: CallOptions | undefined): AsyncGenerator<T, void, undefined> {
    const { chunks } = await this.open({ accept: LINES, ...request }, options);
    for await (const item of jsonLinesOf(chunks)) {
      const problem = problemOfLine(item);
      if (problem) throw errorOfProblem(problem);
      yield item as T;
    }
  }

  /** Returns a response whose body the caller reads at its own speed. Only waits for more bytes are limited. */
  async open(request: Request, options: CallOptions | undefined): Promise<OpenAnswer> {
    const bounds = this.#bound(options);
    try {
      const response = await this.#fetch(request, bounds);
      return { response, chunks: bytesOf(response, bounds) };
    } catch (error) {
      bounds.end();
      throw failureOf(error, bounds, request.write ?? NO_WRITE);
    }
  }

  /** As `open`, but returns `null` for `NOT_FOUND`. */
  async openOrNull(request: Request, options: CallOptions | undefined): Promise<OpenAnswer | null> {
    try {
      return await this.open(request, options);
    } catch (error) {
      if (error instanceof TidemarkError && error.code === 'NOT_FOUND') return null;
      throw error;
    }
  }

  /** Opens a connection for live reads. Only the caller's signal and closing the store end it. */
  async connect(request: Request, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const response = await this.#options.fetch(this.#urlOf(request), this.#init(request, signal, null));
    if (!response.ok) throw await errorOfAnswer(response, NO_WRITE);
    return response.body!;
  }

  /**
   * Returns the time limit of a call. Throws if the store is closed, the signal is aborted, or an option is invalid.
   */
  startCall(options: CallOptions | undefined): number {
    return timeLimitOf(options, this.closed, this.#options.timeoutMs);
  }

  /** Returns the options for a call that the server may answer only after `wait`. */
  waiting(options: CallOptions, wait: Duration): CallOptions {
    return { ...options, timeoutMs: this.startCall(options) + checkDuration(wait, 'wait') };
  }

  #settled<T>(call: Promise<T>): Promise<T> {
    const { pending } = this.#lifetime;
    pending.add(call);
    const forget = () => pending.delete(call);
    call.then(forget, forget);
    return call;
  }

  async #send<T>(
    request: Request,
    options: CallOptions | undefined,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const bounds = this.#bound(options, request.isLong);
    try {
      return await read(await this.#fetch(request, bounds));
    } catch (error) {
      // The server may just have closed a kept-alive connection. A read can safely be retried.
      const isBroken = !(error instanceof TidemarkError) && bounds.why() === null;
      if (isBroken && request.write === undefined) return await this.#retry(request, bounds, read);
      throw failureOf(error, bounds, request.write ?? NO_WRITE);
    } finally {
      bounds.end();
    }
  }

  async #retry<T>(request: Request, bounds: Bounds, read: (response: Response) => Promise<T>): Promise<T> {
    try {
      return await read(await this.#fetch(request, bounds));
    } catch (error) {
      throw failureOf(error, bounds, NO_WRITE);
    }
  }

  async #fetch(request: Request, { controller, timeoutMs }: Bounds): Promise<Response> {
    const response = await this.#options.fetch(this.#urlOf(request), this.#init(request, controller.signal, timeoutMs));
    if (response.ok) return response;
    throw await errorOfAnswer(response, request.write ?? NO_WRITE);
  }

  #urlOf({ path, query }: Request): string {
    return `${this.#options.url}${path}${query ? queryOf(query as Parameters) : ''}`;
  }

  #init({ method, body, type, accept, headers }: Request, signal: AbortSignal, timeoutMs: number | null): RequestInit {
    const { token } = this.#options;
    return {
      method,
      signal,
      headers: {
        ...(body === undefined ? {} : { 'content-type': type ?? JSON_TYPE }),
        ...(accept === undefined ? {} : { accept }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(this.tenantId === null ? {} : { [TENANT_HEADER]: segmentOf(this.tenantId, 'tenantId') }),
        ...(timeoutMs === null ? {} : { [TIMEOUT_HEADER]: String(timeoutMs) }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
      ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
    } as RequestInit;
  }

  #bound(options: CallOptions | undefined, isLong = false): Bounds {
    const timeoutMs = this.startCall(options);
    const controller = new AbortController();
    const signal = options?.signal;
    let why: ReturnType<Bounds['why']> = null;
    const giveUp = (because: NonNullable<typeof why>) => {
      why ??= because;
      controller.abort();
    };
    const onTime = () => giveUp('ran out of time');
    const onAbort = () => giveUp('was aborted');
    const limitMs = isLong ? LONGEST_MS : timeoutMs + GRACE_MS;
    let timer = setTimeout(onTime, limitMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    const renew = () => {
      clearTimeout(timer);
      timer = setTimeout(onTime, limitMs);
    };
    return { controller, timeoutMs, renew, end, why: () => why };
  }
}

function failureOf(error: unknown, bounds: Bounds, write: StoreWrite | typeof NO_WRITE): TidemarkError {
  const why = bounds.why();
  if (why !== null) return errorOfGivingUp(why, write, error);
  return error instanceof TidemarkError ? error : errorOfConnection(error, write);
}

/** Yields the bytes of a response. The time limit runs only while waiting for more. */
async function* bytesOf(response: Response, bounds: Bounds): AsyncGenerator<Uint8Array> {
  try {
    yield* chunksOf(response.body!, { begin: bounds.renew, end: bounds.end });
  } catch (error) {
    throw failureOf(error, bounds, NO_WRITE);
  } finally {
    bounds.end();
  }
}

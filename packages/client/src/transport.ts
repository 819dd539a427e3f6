/**
 * Makes calls over `fetch`. The caller's timeout and signal limit each call, and its errors are the errors that a local
 * store would throw (GEN-3, GEN-8).
 */
import {
  type CallOptions,
  checkDuration,
  type Duration,
  type StoreDomain,
  type StoreWrite,
  TidemarkError,
  timeLimitOf,
  type WriteArgs,
  type WriteMethod,
  writeForError,
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
export const GRACE_MS = 500;
const LONGEST_MS = 600_000;

export interface TransportOptions {
  /** The URL of the server without a trailing slash. */
  url: string;
  token: string | undefined;
  fetch: typeof globalThis.fetch;
  timeoutMs: number;
}

/** A request to one of the server's routes. */
export interface Request<Name extends RouteName = RouteName> extends Target<Name> {
  query?: QueryTo<Name>;
  /** JSON text, or bytes of another type. */
  body?: string | Blob | ReadableStream<Uint8Array>;
  type?: string;
  accept?: string;
  headers?: Record<string, string>;
  /** Whether the server executes the request in many steps, each with its own timeout. */
  isLong?: boolean;
  /** The write that the error carries when the response is lost, so that the caller can retry it. */
  write?: StoreWrite;
}

/** The arguments of a call with no argument left out. */
type Complete<Args extends unknown[]> = OrUndefined<Required<Args>>;
type OrUndefined<Args extends unknown[]> = { [At in keyof Args]: Args[At] | undefined };

/** A response whose body is read as it arrives. */
export interface OpenAnswer {
  response: Response;
  chunks: AsyncIterable<Uint8Array>;
}

/** The time limit and signal of a call. `end` releases both. */
interface Bounds {
  /** The URL of the server, for errors. */
  url: string;
  controller: AbortController;
  timeoutMs: number;
  /** Restarts the time limit. */
  renew(): void;
  end(): void;
  /** Why the call was ended, or `null` if neither the timeout nor the signal ended it. */
  why(): 'was aborted' | 'ran out of time' | null;
}

/** State shared by the store and all its views. */
class Lifetime {
  readonly closing = new AbortController();
  readonly pending = new Set<Promise<unknown>>();
}

/** The time limit of a call, and the signal of its caller. */
interface Limits {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

export class Transport {
  readonly #options: TransportOptions;
  /** Identifies the store and all its views. */
  readonly lifetime: Lifetime;
  readonly tenantId: string | null;
  /** Whether the server is version 0.1, which uses other names for some parameters and members. */
  usesOldNames = false;

  constructor(options: TransportOptions, tenantId: string | null = null, lifetime = new Lifetime()) {
    this.#options = options;
    this.tenantId = tenantId;
    this.lifetime = lifetime;
  }

  /** Returns a transport over the same connection for one tenant. */
  forTenant(tenantId: string): Transport {
    const transport = new Transport(this.#options, tenantId, this.lifetime);
    transport.usesOldNames = this.usesOldNames;
    return transport;
  }

  /** Describes a write for the error that carries it. `args` are all arguments of the call, its options last. */
  writeOf<D extends StoreDomain, M extends WriteMethod<D>>(
    domain: D,
    method: M,
    args: Complete<WriteArgs<D, M>>,
  ): StoreWrite | undefined {
    const all = args as unknown[];
    return writeForError({ domain, method, args: all, tenantId: this.tenantId }, all.length - 1);
  }

  /** Returns parameters or members under the names that the server's version uses. */
  named<Members extends object>(route: RouteName, members: Members): Members {
    return this.usesOldNames ? toOldNames(route, members) : members;
  }

  /** Aborted when the store is closed. */
  get closed(): AbortSignal {
    return this.lifetime.closing.signal;
  }

  /** Ends live reads, then waits for pending calls. */
  async close(): Promise<void> {
    this.lifetime.closing.abort();
    await Promise.allSettled([...this.lifetime.pending]);
  }

  /** Sends a request and returns the JSON of the response. */
  async call<Name extends RouteName>(
    request: Request<Name>,
    options: CallOptions | undefined,
  ): Promise<AnswerTo<Name>> {
    return this.callWithin(request, this.startCall(options), options?.signal);
  }

  /** Like `call`, for a call that has already been accepted, so it is sent even if the store is being closed. */
  async callWithin<Name extends RouteName>(
    request: Request<Name>,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<AnswerTo<Name>> {
    const limits = { timeoutMs, signal };
    const response = this.#send(request, limits, async (it) => (it.status === 204 ? null : await it.json()));
    return (await this.settled(response)) as AnswerTo<Name>;
  }

  /** Like `call`, but returns `null` for `NOT_FOUND`. */
  async find<Name extends RouteName>(
    request: Request<Name>,
    options: CallOptions | undefined,
  ): Promise<AnswerTo<Name> | null> {
    return orNull(this.call(request, options));
  }

  /** Runs one step of a longer operation. `isDone` reports whether this step was the last. */
  async step<Name extends RouteName>(
    request: Request<Name>,
    options: CallOptions | undefined,
  ): Promise<{ isDone: boolean; report: AnswerTo<Name> }> {
    const read = async (it: Response) => ({ isDone: it.status !== 202, report: (await it.json()) as AnswerTo<Name> });
    return this.settled(this.#send(request, this.#limitsOf(options), read));
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

  /** Yields the lines of a response, problems included, for calls that have already been accepted. */
  async *linesWithin(request: Request, timeoutMs: number): AsyncGenerator<unknown, void, undefined> {
    const { chunks } = await this.#open(request, { timeoutMs });
    yield* jsonLinesOf(chunks);
  }

  /**
   * Returns a response whose body the caller reads at its own speed. The timeout applies only to waiting for more
   * bytes.
   */
  async open(request: Request, options: CallOptions | undefined): Promise<OpenAnswer> {
    return this.#open(request, this.#limitsOf(options));
  }

  async #open(request: Request, limits: Limits): Promise<OpenAnswer> {
    const bounds = this.#bound(limits);
    try {
      const response = await this.#fetch(request, bounds);
      return { response, chunks: bytesOf(response, bounds) };
    } catch (error) {
      bounds.end();
      throw failureOf(error, bounds, request.write ?? NO_WRITE);
    }
  }

  /** Like `open`, but returns `null` for `NOT_FOUND`. */
  async openOrNull(request: Request, options: CallOptions | undefined): Promise<OpenAnswer | null> {
    return orNull(this.open(request, options));
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

  /** Returns the options for a call that the server may answer up to `wait` later than usual. */
  waiting(options: CallOptions, wait: Duration): CallOptions {
    return { ...options, timeoutMs: this.startCall(options) + checkDuration(wait, 'wait') };
  }

  #limitsOf(options: CallOptions | undefined): Limits {
    return { timeoutMs: this.startCall(options), signal: options?.signal };
  }

  /** Makes `close` wait for a call. */
  settled<T>(call: Promise<T>): Promise<T> {
    const { pending } = this.lifetime;
    pending.add(call);
    const forget = () => pending.delete(call);
    call.then(forget, forget);
    return call;
  }

  async #send<T>(request: Request, limits: Limits, read: (response: Response) => Promise<T>): Promise<T> {
    const bounds = this.#bound(limits, request.isLong);
    const attempt = async () => read(await this.#fetch(request, bounds));
    try {
      return await attempt().catch((error) => {
        // The server may have just closed a connection that was kept alive. Reads can safely be retried.
        const isBroken = !(error instanceof TidemarkError) && bounds.why() === null;
        if (isBroken && request.write === undefined) return attempt();
        throw error;
      });
    } catch (error) {
      throw failureOf(error, bounds, request.write ?? NO_WRITE);
    } finally {
      bounds.end();
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

  #bound({ timeoutMs, signal }: Limits, isLong = false): Bounds {
    const controller = new AbortController();
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
    return { url: this.#options.url, controller, timeoutMs, renew, end, why: () => why };
  }
}

async function orNull<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof TidemarkError && error.code === 'NOT_FOUND') return null;
    throw error;
  }
}

function failureOf(error: unknown, bounds: Bounds, write: StoreWrite | typeof NO_WRITE): TidemarkError {
  const why = bounds.why();
  if (why !== null) return errorOfGivingUp(why, write, error);
  return error instanceof TidemarkError ? error : errorOfConnection(bounds.url, error, write);
}

/** Yields the bytes of a response. The time limit runs only while waiting for more bytes. */
async function* bytesOf(response: Response, bounds: Bounds): AsyncGenerator<Uint8Array> {
  try {
    yield* chunksOf(response.body!, { begin: bounds.renew, end: bounds.end });
  } catch (error) {
    throw failureOf(error, bounds, NO_WRITE);
  } finally {
    bounds.end();
  }
}

/**
 * Makes calls over `fetch`. The caller's timeout and signal limit each call, and its errors are the errors that a local
 * store would throw (GEN-3, GEN-8).
 */
import {
  type CallOptions,
  isTidemarkError,
  type StoreDomain,
  type StoreLimits,
  type StoreWrite,
  TidemarkError,
  timeLimitOf,
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
import { errorOfAnswer, errorOfConnection, errorOfGivingUp } from './failures.ts';

/** Extra time for the server, which enforces the time limit itself and returns a more precise error. */
export const GRACE_MS = 500;
const MAX_MS = 600_000;

export interface TransportOptions {
  /** The URL of the server without a trailing slash. */
  url: string;
  token: string | undefined;
  fetch: typeof globalThis.fetch;
  timeoutMs: number;
}

/** A request to one of the server's routes. */
export interface Request<Name extends RouteName = RouteName> extends Target<Name> {
  query?: QueryTo<Name> | Parameters;
  /** JSON text, or bytes of another type. */
  body?: string | Blob | ReadableStream<Uint8Array> | undefined;
  type?: string;
  accept?: string;
  headers?: Record<string, string>;
  /** Whether the server executes the request in many steps, each with its own timeout. */
  isLong?: boolean | undefined;
  /** The write that the error carries when the response is lost, so that the caller can retry it. */
  write?: StoreWrite | undefined;
}

/** A response whose body is read as it arrives. */
export interface OpenAnswer {
  response: Response;
  chunks: AsyncIterable<Uint8Array>;
}

/** The time limit and the signal of a call. */
interface Bounds {
  signal: AbortSignal;
  /** Starts or restarts the time limit. */
  begin(): void;
  /** Releases the time limit and the caller's signal. */
  end(): void;
  /** Why the call was ended, or `null` if neither the time limit nor the signal ended it. */
  why(): 'was aborted' | 'ran out of time' | null;
}

/** State shared by the store and all its views. */
function newLifetime() {
  return {
    closing: new AbortController(),
    pending: new Set<Promise<unknown>>(),
  };
}

export class Transport {
  readonly #options: TransportOptions;
  readonly #headers: Readonly<Record<string, string>>;
  /** Identifies the store and all its views. */
  readonly lifetime: ReturnType<typeof newLifetime>;
  readonly tenantId: string | null;
  /** Whether the server is version 0.1, which uses other names for some parameters and members. */
  usesOldNames = false;
  /** The limits of the server's store, known once it has described itself. */
  limits!: StoreLimits;

  constructor(options: TransportOptions, tenantId: string | null = null, lifetime = newLifetime()) {
    this.#options = options;
    this.tenantId = tenantId;
    this.lifetime = lifetime;
    const { token } = options;
    this.#headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(tenantId === null ? {} : { [TENANT_HEADER]: segmentOf(tenantId, 'tenantId') }),
    };
  }

  /** Returns a transport over the same connection for one tenant. */
  forTenant(tenantId: string): Transport {
    const { usesOldNames, limits } = this;
    return Object.assign(new Transport(this.#options, tenantId, this.lifetime), { usesOldNames, limits });
  }

  /** Describes a write for the error that carries it. `args` are all arguments of the call, its options last. */
  writeOf(domain: StoreDomain, method: string, args: unknown[]): StoreWrite | undefined {
    return writeForError({ domain, method, args, tenantId: this.tenantId }, args.length - 1);
  }

  /** Returns parameters or members under the names that the server's version uses. */
  named<Members extends Record<string, unknown>>(route: RouteName, members: Members): Members {
    return this.usesOldNames ? (toOldNames(route, members) as Members) : members;
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

  /**
   * Returns the time limit of a call. Throws if the store is closed, the signal is aborted, or an option is invalid.
   */
  startCall(options: CallOptions | undefined): number {
    return timeLimitOf(options, this.closed, this.#options.timeoutMs);
  }

  /**
   * Sends a request and returns the JSON of the response. A call that was accepted earlier passes its time limit, and
   * is sent even if the store is being closed.
   */
  async call<Name extends RouteName>(
    request: Request<Name>,
    options: CallOptions | undefined,
    timeoutMs?: number,
  ): Promise<AnswerTo<Name>> {
    return this.read(request, options, answerOf<AnswerTo<Name>>, timeoutMs);
  }

  /** Sends a request and returns what `read` returns for the response. */
  async read<T>(
    request: Request,
    options: CallOptions | undefined,
    read: (response: Response, bounds: Bounds) => T | Promise<T>,
    timeoutMs = this.startCall(options),
  ): Promise<T> {
    const bounds = boundsOf(options, request.isLong ? MAX_MS : timeoutMs + GRACE_MS);
    const attempt = async () => read(await this.#fetch(request, bounds.signal, timeoutMs), bounds);
    const result = attempt()
      .catch((error) => {
        // The server may have just closed a connection that was kept alive. Reads can safely be retried.
        const isBroken = !(error instanceof TidemarkError) && bounds.why() === null;
        if (isBroken && request.write === undefined) return attempt();
        throw error;
      })
      .catch((error) => {
        throw this.#failureOf(error, bounds, request);
      })
      .finally(bounds.end);
    return this.settled(result);
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

  /**
   * Returns a response whose body the caller reads at its own speed. The timeout applies only to waiting for more
   * bytes.
   */
  open(request: Request, options: CallOptions | undefined, timeoutMs?: number): Promise<OpenAnswer> {
    const read = (response: Response, bounds: Bounds) => ({
      response,
      chunks: this.#chunksOf(request, response, bounds),
    });
    return this.read(request, options, read, timeoutMs);
  }

  /** Opens a connection for live reads. Only the caller's signal and closing the store end it. */
  async connect(request: Request, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    return (await this.#fetch(request, signal)).body!;
  }

  /** Makes `close` wait for a call. */
  settled<T>(call: Promise<T>): Promise<T> {
    const { pending } = this.lifetime;
    pending.add(call);
    const forget = () => pending.delete(call);
    call.then(forget, forget);
    return call;
  }

  async #fetch(
    { method, path, query, body, type, accept, headers: own, write }: Request,
    signal: AbortSignal,
    timeoutMs?: number,
  ): Promise<Response> {
    const headers: Record<string, string> = { ...this.#headers, ...own };
    if (timeoutMs !== undefined) headers[TIMEOUT_HEADER] = String(timeoutMs);
    if (accept !== undefined) headers.accept = accept;
    const init: RequestInit & { duplex?: 'half' } = { method, signal, headers };
    if (body !== undefined) {
      headers['content-type'] = type ?? JSON_TYPE;
      init.body = body;
      if (body instanceof ReadableStream) init.duplex = 'half';
    }
    const { fetch, url } = this.#options;
    const response = await fetch(url + path + (query ? queryOf(query as Parameters) : ''), init);
    if (response.ok) return response;
    throw await errorOfAnswer(response, write);
  }

  /** Yields the bytes of a response. The time limit runs only while waiting for more bytes. */
  async *#chunksOf(request: Request, response: Response, bounds: Bounds): AsyncGenerator<Uint8Array> {
    try {
      yield* chunksOf(response.body!, bounds);
    } catch (error) {
      throw this.#failureOf(error, bounds, request);
    } finally {
      bounds.end();
    }
  }

  #failureOf(error: unknown, bounds: Bounds, { write }: Request): TidemarkError {
    const why = bounds.why();
    if (why !== null) return errorOfGivingUp(why, write, error);
    return error instanceof TidemarkError ? error : errorOfConnection(this.#options.url, error, write);
  }
}

/** Starts the time limit of a call. */
export function boundsOf(options: CallOptions | undefined, limitMs: number): Bounds {
  const controller = new AbortController();
  let why: ReturnType<Bounds['why']> = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const caller = options?.signal;
  const giveUp = (because: NonNullable<typeof why>) => {
    why ??= because;
    controller.abort();
  };
  const onAbort = () => giveUp('was aborted');
  const bounds: Bounds = {
    signal: controller.signal,
    begin() {
      bounds.end();
      timer = setTimeout(() => giveUp('ran out of time'), limitMs);
      if (caller?.aborted) onAbort();
      caller?.addEventListener('abort', onAbort, { once: true });
    },
    end() {
      clearTimeout(timer);
      caller?.removeEventListener('abort', onAbort);
    },
    why: () => why,
  };
  bounds.begin();
  return bounds;
}

async function answerOf<T>(response: Response): Promise<T> {
  return (response.status === 204 ? undefined : await response.json()) as T;
}

/** Returns the result of a call, or `null` if there is nothing to find. */
export async function orNull<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (isTidemarkError(error, 'NOT_FOUND', 'RUN_NOT_FOUND')) return null;
    throw error;
  }
}

/**
 * Appends that wait at the same time share one request with one outcome each. A lone append is sent at once, as a
 * separate request.
 */
import { type AppendResult, type CallOptions, type StoreWrite, sleep, TidemarkError } from '@tidemark/core/portable';
import { jsonLinesOf, LINES, type Problem, problemOfLine, targetOf } from '@tidemark/wire';
import { errorOf, errorOfGivingUp, lostAnswer } from './failures.ts';
import { boundsOf, GRACE_MS, type Transport } from './transport.ts';

/** Appends that may wait; more are refused. */
const MAX_WAITING = 10_000;
const MAX_EVENTS = 500;
/** The size of a request. Larger groups continue in the next one. */
const MAX_BYTES = 1024 * 1024;
/** Larger events are sent in separate requests. Servers limit lines more strictly than bodies. */
const MAX_EVENT_LENGTH = 64 * 1024;
/** Tenants whose appends are remembered. The appends of others still settle. */
const MAX_TENANTS = 1_000;
/** After this time without a response, the next group is sent too, so that a slow request does not block the others. */
const STALLED_MS = 100;

interface Append {
  body: string;
  write: StoreWrite | undefined;
  signal: AbortSignal | undefined;
  deadline: number;
  state: 'waiting' | 'sent' | 'given up';
  /** Ends the wait of this caller only. A request that has been sent continues for the others. */
  giveUp(why: 'was aborted' | 'ran out of time'): void;
  resolve(result: AppendResult): void;
  reject(error: unknown): void;
}

/** The shared appends of each store, by tenant. */
const byStore = new WeakMap<object, Map<string | null, SharedAppends>>();

export class SharedAppends {
  readonly #transport: Transport;
  #waiting: Append[] = [];
  #isSending = false;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Returns the appends that all views of a store for one tenant share. */
  static of(transport: Transport): SharedAppends {
    const { lifetime } = transport;
    const appends = byStore.get(lifetime) ?? new Map<string | null, SharedAppends>();
    byStore.set(lifetime, appends);
    const known = appends.get(transport.tenantId);
    if (known) return known;
    const shared = new SharedAppends(transport);
    appends.set(transport.tenantId, shared);
    if (appends.size > MAX_TENANTS) appends.delete(appends.keys().next().value!);
    return shared;
  }

  /** Whether an append of this size may share a request. */
  accepts(body: string): boolean {
    return body.length <= MAX_EVENT_LENGTH && !this.#transport.usesOldNames;
  }

  append(body: string, options: CallOptions | undefined, write: StoreWrite | undefined): Promise<AppendResult> {
    const timeoutMs = this.#transport.startCall(options);
    const signal = options?.signal;
    if (this.#waiting.length >= MAX_WAITING)
      throw new TidemarkError('OVERLOADED', `${MAX_WAITING} writes are waiting already; slow down and retry`);
    const { promise, resolve, reject } = Promise.withResolvers<AppendResult>();
    const append: Append = {
      ...{ body, write, signal, resolve, reject, state: 'waiting', deadline: Date.now() + timeoutMs },
      giveUp(why) {
        // Nothing was written if it was not sent.
        reject(errorOfGivingUp(why, append.state === 'sent' ? write : undefined, signal?.reason));
        if (append.state === 'waiting') append.state = 'given up';
      },
    };
    const bounds = boundsOf(options, timeoutMs + GRACE_MS);
    bounds.signal.addEventListener('abort', () => append.giveUp(bounds.why()!));
    promise.then(bounds.end, bounds.end);
    this.#waiting.push(append);
    if (!this.#isSending) void this.#sendAll();
    return this.#transport.settled(promise);
  }

  /** Sends groups until no append waits. Appends that are made in the same turn of the event loop share a group. */
  async #sendAll(): Promise<void> {
    this.#isSending = true;
    for (let sent = 1; this.#waiting.length > 0; ) {
      // The callers of the last group may append again. After a lone append no other caller is expected.
      await (sent > 1 ? turnEnd() : null);
      const group = this.#take();
      sent = group.length;
      const answered = new AbortController();
      void this.#sendGroup(group).then(() => answered.abort());
      await sleep(STALLED_MS, answered.signal);
    }
    this.#isSending = false;
  }

  /** Takes the appends of the next request. */
  #take(): Append[] {
    const group: Append[] = [];
    let bytes = 0;
    while (this.#waiting.length > 0 && group.length < MAX_EVENTS) {
      const append = this.#waiting[0]!;
      bytes += append.body.length;
      if (bytes > MAX_BYTES) break;
      this.#waiting.shift();
      if (append.deadline <= Date.now()) append.giveUp('ran out of time');
      if (append.state === 'given up') continue;
      append.state = 'sent';
      group.push(append);
    }
    return group;
  }

  async #sendGroup(appends: readonly Append[]): Promise<void> {
    const [first, ...others] = appends;
    if (first === undefined) return;
    const request = { ...targetOf('POST /v1/events'), body: first.body, write: first.write };
    // The latest deadline of the callers applies, so that a short one cannot end the other calls.
    const timeoutMs = Math.max(1, ...appends.map(({ deadline }) => deadline - Date.now()));
    if (others.length === 0)
      return this.#transport
        .call(request, { signal: first.signal }, timeoutMs)
        .then((result) => first.resolve(result as AppendResult), first.reject);
    const lines = { ...request, body: appends.map(({ body }) => `${body}\n`).join(''), type: LINES, accept: LINES };
    let answered = 0;
    let failure: unknown;
    try {
      const { chunks } = await this.#transport.open(lines, undefined, timeoutMs);
      for await (const line of jsonLinesOf(chunks)) {
        if (problemOfLine(line)) break;
        const { problem, status: _, ...result } = line as AppendResult & { status: number; problem?: Problem };
        const { resolve, reject, write } = appends[answered++]!;
        if (problem === undefined) resolve(result);
        else reject(errorOf(problem, write));
      }
    } catch (error) {
      failure = error;
    }
    // Each unknown outcome carries the caller's own write.
    const isRefused = failure instanceof TidemarkError && failure.outcome === 'rejected';
    for (const { reject, write } of appends.slice(answered)) reject(isRefused ? failure : lostAnswer(write, failure));
  }
}

/** Resolves at the end of the turn of the event loop. Browsers have no `setImmediate`. */
function turnEnd(): Promise<void> {
  return new Promise((resolve) => (globalThis.setImmediate ?? setTimeout)(resolve));
}

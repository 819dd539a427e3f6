/**
 * Appends that wait at the same time share one request with one outcome each. A lone append is sent at once, as a
 * request of its own.
 */
import {
  type AppendResult,
  type CallOptions,
  type EngineCall,
  GroupCommit,
  type StoreWrite,
  TidemarkError,
} from '@tidemark/core/portable';
import { LINES, type Problem, problemOfLine, targetOf } from '@tidemark/wire';
import { errorOf, errorOfGivingUp, NO_WRITE } from './failures.ts';
import { GRACE_MS, type Transport } from './transport.ts';

const MOST_EVENTS = 500;
/** Bytes after which a group continues in another request. */
const MOST_BYTES = 1024 * 1024;
/** Larger events have requests of their own. Servers limit lines more strictly than bodies. */
const MOST_EVENT_LENGTH = 64 * 1024;
/** Tenants whose appends are remembered. The appends of others still settle. */
const MOST_TENANTS = 1_000;
/** After this time without an answer, the next group is sent too, so that one slow request does not stop the others. */
const STALLED_MS = 100;

interface Append {
  body: string;
  write: StoreWrite | undefined;
  call: EngineCall;
}

/** The outcome of an append. A promise, because a group may be left before its outcomes arrive. */
interface Pending {
  result: Promise<AppendResult>;
}

/** The shared appends of each store, by tenant. */
const byStore = new WeakMap<object, Map<string | null, SharedAppends>>();

export class SharedAppends {
  readonly #transport: Transport;
  readonly #group: GroupCommit<Append, Pending>;

  private constructor(transport: Transport) {
    this.#transport = transport;
    this.#group = new GroupCommit((take) => this.#send(take()), { maxGroup: MOST_EVENTS });
  }

  /** Returns the appends that all views of a store for one tenant share. */
  static of(transport: Transport): SharedAppends {
    const { lifetime, tenantId } = transport;
    const appends = byStore.get(lifetime) ?? new Map<string | null, SharedAppends>();
    byStore.set(lifetime, appends);
    const known = appends.get(tenantId);
    if (known) return known;
    const shared = new SharedAppends(transport);
    appends.set(tenantId, shared);
    if (appends.size > MOST_TENANTS) appends.delete(appends.keys().next().value!);
    return shared;
  }

  /** Whether an append of this size may share a request. */
  accepts(body: string): boolean {
    return body.length <= MOST_EVENT_LENGTH && !this.#transport.usesOldNames;
  }

  append(body: string, options: CallOptions | undefined, write: StoreWrite | undefined): Promise<AppendResult> {
    const timeoutMs = this.#transport.startCall(options);
    const call: EngineCall = { deadline: Date.now() + timeoutMs };
    if (options?.signal) call.signal = options.signal;
    const result = this.#group.submit({ body, write, call }, call).then((pending) => pending.result);
    return this.#transport.settled(bounded(result, call, timeoutMs, write));
  }

  async #send(appends: readonly Append[]): Promise<Pending[]> {
    const parts = partsOf(appends);
    const results = parts.flatMap((part) => (part.length === 1 ? [this.#sendOne(part[0]!)] : this.#sendLines(part)));
    // Callers that have given up do not read their result.
    for (const result of results) result.catch(() => {});
    let timer: ReturnType<typeof setTimeout> | undefined;
    const stalled = new Promise((resolve) => {
      timer = setTimeout(resolve, STALLED_MS);
    });
    await Promise.race([stalled, Promise.allSettled(results)]);
    clearTimeout(timer);
    return results.map((result) => ({ result }));
  }

  #sendOne({ body, write, call }: Append): Promise<AppendResult> {
    const request = { ...targetOf('POST /v1/events'), body, write };
    return this.#transport.callWithin(request, leftOf([call]), call.signal) as Promise<AppendResult>;
  }

  /** Sends one event per line, and returns the outcome of each line. */
  #sendLines(appends: readonly Append[]): Promise<AppendResult>[] {
    const outcomes = appends.map(() => Promise.withResolvers<AppendResult>());
    void this.#readLines(appends, outcomes);
    return outcomes.map(({ promise }) => promise);
  }

  async #readLines(appends: readonly Append[], outcomes: readonly PromiseWithResolvers<AppendResult>[]): Promise<void> {
    const body = appends.map((append) => `${append.body}\n`).join('');
    // Each caller gets the error with its own write.
    const request = { ...targetOf('POST /v1/events'), body, type: LINES, accept: LINES, write: appends[0]!.write };
    let read = 0;
    let failure: unknown;
    try {
      // The latest deadline of the callers applies, so that a short one cannot end the other calls.
      for await (const line of this.#transport.linesWithin(request, leftOf(appends.map(({ call }) => call)))) {
        if (problemOfLine(line)) break;
        const { problem, status: _, ...result } = line as AppendResult & { status: number; problem?: Problem };
        const { resolve, reject } = outcomes[read]!;
        if (problem === undefined) resolve(result);
        else reject(errorOf(problem, appends[read]!.write ?? NO_WRITE));
        read++;
      }
    } catch (error) {
      failure = error;
    }
    const unanswered =
      failure instanceof TidemarkError
        ? failure
        : new TidemarkError('OUTCOME_UNKNOWN', 'The answer was lost; retry the same write to find out its outcome', {
            cause: failure,
          });
    for (; read < appends.length; read++) outcomes[read]!.reject(ofAppend(unanswered, appends[read]!));
  }
}

/** Returns the error of a request for one of its appends. An unknown outcome carries the write of that append. */
function ofAppend(error: TidemarkError, { write }: Append): TidemarkError {
  const { name: _, code, message, retryable: __, outcome, write: ___, ...details } = error;
  const carried = outcome === 'unknown' && write ? { write } : {};
  return new TidemarkError(code, message, { ...details, cause: error.cause, ...carried });
}

/** Returns the milliseconds until the latest deadline of some calls. */
function leftOf(calls: readonly EngineCall[]): number {
  return Math.max(1, ...calls.map(({ deadline }) => deadline! - Date.now()));
}

/** Divides a group so that no request has too many bytes. */
function partsOf(appends: readonly Append[]): Append[][] {
  const parts: Append[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const append of appends) {
    bytes += append.body.length;
    if (bytes > MOST_BYTES) {
      parts.push([]);
      bytes = append.body.length;
    }
    parts.at(-1)!.push(append);
  }
  return parts;
}

/** Ends the wait of one caller at its own time limit or signal. The request goes on for the others. */
function bounded(
  result: Promise<AppendResult>,
  call: EngineCall,
  timeoutMs: number,
  write: StoreWrite | undefined,
): Promise<AppendResult> {
  return new Promise((resolve, reject) => {
    const giveUp = (why: 'was aborted' | 'ran out of time') => {
      end();
      if (call.phase === 'begun') return reject(errorOfGivingUp(why, write ?? NO_WRITE, call.signal?.reason));
      call.phase = 'given up';
      const code = why === 'was aborted' ? 'ABORTED' : 'TIMEOUT';
      reject(new TidemarkError(code, `The append ${why} while it waited to be sent; nothing was written`));
    };
    const onAbort = () => giveUp('was aborted');
    const timer = setTimeout(() => giveUp('ran out of time'), timeoutMs + GRACE_MS);
    call.signal?.addEventListener('abort', onAbort, { once: true });
    const end = () => {
      clearTimeout(timer);
      call.signal?.removeEventListener('abort', onAbort);
    };
    result.then(
      (it) => {
        end();
        resolve(it);
      },
      (error) => {
        end();
        reject(error);
      },
    );
  });
}

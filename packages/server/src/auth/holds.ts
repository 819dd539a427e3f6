/**
 * Ends requests that outlive their credential: streams, long polls, downloads and uploads whose key was revoked, has
 * expired or was changed. One timer checks each credential once, regardless of how many requests use it.
 */
import type { ServerResponse } from 'node:http';
import { EVENT_STREAM, LINES } from '@tidemark/wire';
import type { Authenticator, Credential, Principal } from '../auth.ts';
import { problemOf } from '../http/problems.ts';
import { Refusal } from '../http/refusal.ts';
import { allows, type RouteScope } from './scopes.ts';

const CHECK_MS = 500;
/** How long a credential stays valid while it cannot be checked. */
const UNCHECKED_MS = 10_000;
/** The maximum number of requests that are ended per turn of the event loop. */
const ENDED_AT_ONCE = 100;

/** One long-lived request and its credential. */
export class Hold {
  readonly principal: Principal;
  /** All scopes that the request needs. */
  readonly scopes: RouteScope[];
  readonly #response: ServerResponse;
  readonly #controller = new AbortController();
  readonly #ended = Promise.withResolvers<never>();
  #reason: Refusal | null = null;

  constructor(principal: Principal, scope: RouteScope, response: ServerResponse) {
    this.principal = principal;
    this.scopes = [scope];
    this.#response = response;
    this.#ended.promise.catch(() => {});
  }

  /** Aborts when the credential ends. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Rejects when the credential ends. */
  get ended(): Promise<never> {
    return this.#ended.promise;
  }

  /** Throws once the credential has ended. */
  check(): void {
    if (this.#reason) throw this.#reason;
  }

  /**
   * Ends the response. Reports the reason as a status or as the last event or line of a stream, or else closes the
   * connection.
   */
  end(reason: Refusal): void {
    if (this.#reason) return;
    this.#reason = reason;
    if (this.#response.headersSent) endAnswer(this.#response, reason);
    this.#ended.reject(reason);
    this.#controller.abort();
  }
}

function endAnswer(response: ServerResponse, reason: Refusal): void {
  if (response.writableEnded) return;
  const type = response.getHeader('content-type');
  const problem = JSON.stringify(problemOf(reason));
  if (type === EVENT_STREAM) response.end(`event: problem\ndata: ${problem}\n\n`);
  else if (type === LINES) response.end(`{"problem":${problem}}\n`);
  else response.destroy();
}

/** Yields the items of a body until the credential of its sender ends. */
export async function* whileHeld<T>(hold: Hold | null, items: AsyncIterable<T>): AsyncGenerator<T> {
  for await (const item of items) {
    hold?.check();
    yield item;
  }
}

interface Held {
  credential: Credential;
  holds: Set<Hold>;
  checkedAt: number;
}

export class Holds {
  readonly #auth: Authenticator;
  readonly #onEnd: (principal: Principal, reason: Refusal, requests: number) => void;
  readonly #held = new Map<string, Held>();
  readonly #stopListening: (() => void) | undefined;
  #timer: NodeJS.Timeout | null = null;
  #isChecking = false;

  /** Calls `onEnd` once for each credential that ended while requests were using it. */
  constructor(
    auth: Authenticator,
    onEnd: (principal: Principal, reason: Refusal, requests: number) => void = () => {},
  ) {
    this.#auth = auth;
    this.#onEnd = onEnd;
    this.#stopListening = auth.onChange?.((id) => void this.#recheck([id]));
  }

  /** Watches the credential of a request until its response is sent. Returns `null` for credentials that never end. */
  hold(principal: Principal, scope: RouteScope, response: ServerResponse): Hold | null {
    const { credential } = principal;
    if (!credential) return null;
    // Node reports the type of a response after its head was written only if a header was set earlier.
    response.setHeader('x-content-type-options', 'nosniff');
    const hold = new Hold(principal, scope, response);
    const held = this.#held.get(credential.id) ?? { credential, holds: new Set<Hold>(), checkedAt: performance.now() };
    held.holds.add(hold);
    this.#held.set(credential.id, held);
    response.once('close', () => {
      held.holds.delete(hold);
      if (held.holds.size === 0 && this.#held.get(credential.id) === held) this.#held.delete(credential.id);
    });
    if (!this.#timer) {
      this.#timer = setInterval(() => this.#tick(), CHECK_MS);
      this.#timer.unref();
    }
    return hold;
  }

  close(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#stopListening?.();
  }

  #tick(): void {
    if (this.#held.size === 0) {
      clearInterval(this.#timer!);
      this.#timer = null;
      return;
    }
    const now = Date.now();
    for (const held of this.#held.values())
      if (held.credential.expiresAt !== undefined && held.credential.expiresAt <= now)
        void this.#endAll(held, held.holds, expired());
    if (this.#isChecking) return;
    this.#isChecking = true;
    const changing = [...this.#held.values()].filter(({ credential }) => credential.mayChange);
    void this.#recheck(changing.map(({ credential }) => credential.id)).finally(() => {
      this.#isChecking = false;
    });
  }

  async #recheck(ids: readonly string[]): Promise<void> {
    if (ids.length === 0 || !this.#auth.recheck) return;
    const known = await this.#auth.recheck(ids).catch(() => new Map<string, Principal | null>());
    const now = performance.now();
    for (const id of ids) {
      const held = this.#held.get(id);
      if (!held) continue;
      const principal = known.get(id);
      if (principal !== undefined) {
        held.checkedAt = now;
        this.#compare(held, principal);
      } else if (now - held.checkedAt > UNCHECKED_MS) void this.#endAll(held, held.holds, uncheckable());
    }
  }

  #compare(held: Held, now: Principal | null): void {
    if (!now) {
      void this.#endAll(held, held.holds, revoked());
      return;
    }
    const byReason = Map.groupBy(held.holds, ({ principal, scopes }) => lossOf(principal, now, scopes));
    for (const [reason, holds] of byReason)
      if (reason !== null) void this.#endAll(held, holds, new Refusal(403, 'FORBIDDEN', reason));
  }

  async #endAll(held: Held, ended: Iterable<Hold>, reason: Refusal): Promise<void> {
    const holds = [...ended];
    for (const hold of holds) held.holds.delete(hold);
    if (held.holds.size === 0 && this.#held.get(held.credential.id) === held) this.#held.delete(held.credential.id);
    if (holds.length > 0) this.#onEnd(holds[0]!.principal, reason, holds.length);
    for (const [at, hold] of holds.entries()) {
      hold.end(reason);
      if (at % ENDED_AT_ONCE === ENDED_AT_ONCE - 1) await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

/** Returns why a request that was admitted earlier would be refused now, or `null` if it would still be admitted. */
function lossOf(before: Principal, now: Principal, scopes: readonly RouteScope[]): string | null {
  if (now.tenantId !== before.tenantId) return 'This key is for another tenant now';
  if (now.sessionId !== before.sessionId) return 'This key is for another session now';
  const lost = scopes.find((scope) => !allows(now.scopes, scope));
  return lost === undefined ? null : `This key has lost the scope ${lost}`;
}

function revoked(): Refusal {
  return new Refusal(401, 'UNAUTHENTICATED', 'This key was revoked');
}

function expired(): Refusal {
  return new Refusal(401, 'UNAUTHENTICATED', 'This key or token has expired');
}

function uncheckable(): Refusal {
  return new Refusal(503, 'UNAVAILABLE', 'The key cannot be verified right now');
}

/** Admits or refuses a request. Checks host and origin, then the caller, the caller's rate, and its scope. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Authenticator, AuthRefusal, Principal } from '../auth.ts';
import { Refusal } from '../http/refusal.ts';
import type { Callers } from '../limits/callers.ts';
import { COST, type Shares } from '../limits/shares.ts';
import type { Logger } from '../logger.ts';
import type { SecurityLog } from '../security-log.ts';
import { allows, type RouteScope } from './scopes.ts';

/** The principal of open routes. */
export const NOBODY: Principal = { id: 'nobody', tenantId: null, scopes: [] };

export interface AdmissionParts {
  auth: Authenticator;
  /** Absent (`null`) without auth, because the server then cannot distinguish callers. */
  callers: Callers | null;
  shares: Shares;
  security: SecurityLog;
  logger: Logger;
}

export class Admission {
  readonly #parts: AdmissionParts;

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  /**
   * Refuses requests that are meant for another host name or come from a page of another origin, even on open routes.
   * Otherwise, any web page could reach a server that accepts any host name.
   */
  refuseForeignHosts(request: IncomingMessage): void {
    const refusal = this.#parts.auth.refuse?.(request);
    if (!refusal) return;
    this.#parts.security.note('refused_host', request, { reason: refusal.message });
    throw this.#refusalOf(refusal);
  }

  /**
   * Identifies the caller. Returns synchronously if the authenticator does, which saves each request a turn of the
   * event loop.
   */
  identify(request: IncomingMessage): Principal | Promise<Principal> {
    const known = this.#parts.auth.authenticate(request);
    if (known instanceof Promise) return known.then((it) => ('refused' in it ? this.#refuse(it, request) : it));
    return 'refused' in known ? this.#refuse(known, request) : known;
  }

  /**
   * Counts a request as in progress until its response is sent. Refuses the request if the caller exceeds its limits or
   * lacks the scope.
   */
  confine(principal: Principal, request: IncomingMessage, response: ServerResponse, scope: RouteScope): void {
    this.#parts.callers?.admit(principal, request, response);
    if (!allows(principal.scopes, scope)) throw scopeMissing(scope);
  }

  /**
   * All unauthenticated callers share one queue. On a busy server these callers wait for each other, and tenants do not
   * wait for them.
   */
  async #refuse(refusal: AuthRefusal, request: IncomingMessage): Promise<never> {
    const { credential, message } = refusal;
    if (credential !== undefined) {
      const kind = credential.kind === 'key' ? 'wrong_key' : 'refused_token';
      this.#parts.security.note(kind, request, { by: credential.id, reason: message });
    }
    const turn = this.#parts.shares.enter('unauthenticated', COST.request, true);
    if (turn) await turn;
    throw this.#refusalOf(refusal);
  }

  #refusalOf({ refused, message, cause }: AuthRefusal): Refusal {
    switch (refused) {
      case 'unknown':
        return new Refusal(401, 'UNAUTHENTICATED', message);
      case 'forbidden':
        return new Refusal(403, 'FORBIDDEN', message);
      case 'misdirected':
        return new Refusal(421, 'FORBIDDEN', message, { field: 'host', rule: 'allowed' });
      case 'limited':
        return new Refusal(429, 'OVERLOADED', message, { field: 'wrongKeys', rule: 'one wrong key a second' });
      case 'unavailable':
        this.#parts.logger.error({ event: 'auth_unavailable', error: cause });
        return new Refusal(503, 'UNAVAILABLE', message);
    }
  }
}

export function scopeMissing(scope: RouteScope): Refusal {
  return new Refusal(403, 'FORBIDDEN', `This needs the scope ${scope}`, { field: 'scope', rule: scope });
}

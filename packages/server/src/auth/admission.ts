/** Lets a request in as somebody, or says why not: host and origin first, then who asks, how often, and with which scope. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Authenticator, type AuthRefusal, allows, type Principal, type Scope } from '../auth.ts';
import { Refusal } from '../http/refusal.ts';
import type { Callers } from '../limits/callers.ts';
import { COST, type Shares } from '../limits/shares.ts';
import type { Logger } from '../logger.ts';

/** Who asks for an open route. */
const NOBODY: Principal = { id: 'nobody', tenantId: null, scopes: [] };

export class Admission {
  readonly #auth: Authenticator;
  readonly #callers: Callers | null;
  readonly #shares: Shares;
  readonly #logger: Logger;

  /** `callers` is `null` where all callers are one. */
  constructor(auth: Authenticator, callers: Callers | null, shares: Shares, logger: Logger) {
    this.#auth = auth;
    this.#callers = callers;
    this.#shares = shares;
    this.#logger = logger;
  }

  /** Most authenticators know at once; waiting for nothing would cost every request a turn. */
  admit(request: IncomingMessage, response: ServerResponse, scope: Scope | null): Principal | Promise<Principal> {
    // Open routes too: what answers to any name can be reached by any page.
    const stranger = this.#auth.refuse?.(request);
    if (stranger) throw this.#refusalOf(stranger);
    if (scope === null) return NOBODY;
    const admit = (known: Principal | AuthRefusal) =>
      'refused' in known ? this.#refuse(known) : this.#confine(known, request, response, scope);
    const known = this.#auth.authenticate(request);
    return known instanceof Promise ? known.then(admit) : admit(known);
  }

  /** Strangers are one account: while the server is busy they wait for their answer, and not the tenants for theirs. */
  #refuse(refusal: AuthRefusal): Promise<never> {
    const turn = this.#shares.enter('strangers', COST.request, true);
    const refused = () => Promise.reject(this.#refusalOf(refusal));
    return turn ? turn.then(refused) : refused();
  }

  #confine(known: Principal, request: IncomingMessage, response: ServerResponse, scope: Scope): Principal {
    this.#callers?.admit(known, request, response);
    if (allows(known.scopes, scope)) return known;
    throw new Refusal(403, 'FORBIDDEN', `This needs the scope ${scope}`, { field: 'scope', rule: scope });
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
        this.#logger.error({ event: 'auth_unavailable', error: cause });
        return new Refusal(503, 'UNAVAILABLE', message);
    }
  }
}

/**
 * The port for authentication, and `anonymous`, an authenticator that does not identify callers and serves loopback
 * addresses only.
 */
import type { IncomingMessage } from 'node:http';
import type { Scope } from './auth/scopes.ts';
import { OF_THE_API } from './static.ts';

/** The part of a caller's credential that the server watches during a request. */
export interface Credential {
  /** The id of the credential. Requests with the same id share one check. The id is never a secret. */
  id: string;
  /** Epoch milliseconds. */
  expiresAt?: number;
  /** Whether the credential can be revoked or changed before it expires. If so, `recheck` accepts its id. */
  mayChange: boolean;
}

/** An authenticated caller. */
export interface Principal {
  /** The id of the caller. It appears in logs and is never a secret. */
  id: string;
  /** The only tenant that the caller may access; `null` for an operator, who can select a tenant or see all tenants. */
  tenantId: string | null;
  scopes: readonly Scope[];
  /** The only session that the caller may access. Absent: all sessions of its tenant. */
  sessionId?: string;
  /** The credential to watch. If absent, the server does not end long-lived requests. */
  credential?: Credential;
}

/**
 * Why a request was not admitted: the caller is unknown or not allowed, the request is meant for another host or
 * exceeds a rate limit, or the credential cannot be verified at the moment.
 */
export interface AuthRefusal {
  refused: 'unknown' | 'forbidden' | 'misdirected' | 'limited' | 'unavailable';
  message: string;
  /** The credential that was sent, if any, for the security log. The id of an API key is not secret. */
  credential?: { kind: 'key' | 'token'; id?: string };
  /** The cause, for the log. */
  cause?: unknown;
}

/** Identifies the sender of a request. */
export interface Authenticator {
  /** Whether every client that can reach the port is admitted. The server then listens on loopback addresses only. */
  readonly loopbackOnly: boolean;
  /** Refuses requests that are meant for other hosts or come from pages of other origins, even on open routes. */
  refuse?(request: IncomingMessage): AuthRefusal | null;
  /** Returns the client address of a request. Default: the address of its socket. */
  addressOf?(request: IncomingMessage): string;
  authenticate(request: IncomingMessage): Principal | AuthRefusal | Promise<Principal | AuthRefusal>;
  /**
   * Returns the current principals of credentials, with `null` for credentials that would now be refused. Omits
   * credentials that cannot be checked.
   */
  recheck?(credentialIds: readonly string[]): Promise<ReadonlyMap<string, Principal | null>>;
  /**
   * Calls the listener with the id of a credential that was changed in this process. Returns a function that
   * unsubscribes.
   */
  onChange?(listener: (credentialId: string) => void): () => void;
}

const LOOPBACK_HOSTS = ['localhost', '127.0.0.1', '[::1]'];
const ANYBODY: Principal = { id: 'anonymous', tenantId: null, scopes: ['admin'] };

/**
 * Creates an authenticator that admits everyone on this machine as an operator. Web pages can also make a browser send
 * requests, so the `Host` must be a name of this machine (which blocks DNS rebinding), an `Origin` must be the origin
 * of the server itself, and `Sec-Fetch-Site` must not be cross-site.
 *
 * @example
 * const server = createServer({ store, auth: anonymous({ hosts: ['dev.internal'] }) });
 * await server.close();
 */
export function anonymous(options: { hosts?: readonly string[] } = {}): Authenticator {
  const hosts = new Set([...LOOPBACK_HOSTS, ...(options.hosts ?? [])]);
  return {
    loopbackOnly: true,
    refuse(request) {
      const { host, origin } = request.headers;
      if (host === undefined || !hosts.has(nameOf(host)))
        return { refused: 'misdirected', message: `This server answers to ${[...hosts].join(', ')} only` };
      const isEncrypted = 'encrypted' in request.socket;
      const isOwn = origin === undefined || origin === `${isEncrypted ? 'https' : 'http'}://${host}`;
      if (isOwn && !isOfAnotherSite(request)) return null;
      return { refused: 'forbidden', message: 'Pages of another origin may not ask this server' };
    },
    authenticate: () => ANYBODY,
  };
}

/**
 * Whether the browser reports that a page of another origin made the request. Also recognises images, forms and other
 * requests without an `Origin`. Links to inspector pages are allowed from anywhere, because the linking page cannot
 * read them.
 */
function isOfAnotherSite({ headers, method, url }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return false;
  const isVisit = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  return !(isVisit && method === 'GET' && !OF_THE_API.test(url!.split('?', 1)[0]!));
}

/** Returns the host without its port. */
export function nameOf(host: string): string {
  return host.replace(/:\d+$/, '').toLowerCase();
}

/** Whether a host name is reachable only from this machine. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

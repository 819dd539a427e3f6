/** Who asks: the port that authentication implements, and the one that needs none and therefore serves loopback only. */
import type { IncomingMessage } from 'node:http';
import type { Scope } from './auth/scopes.ts';
import { OF_THE_API } from './static.ts';

/** What a caller was let in with, as far as the server watches it while a request lasts. */
export interface Credential {
  /** Requests with the same id share one check. Never a secret. */
  id: string;
  /** Milliseconds since the epoch. */
  expiresAt?: number;
  /** Whether it can be revoked or changed before it expires: `recheck` then knows its id. */
  mayChange: boolean;
}

/** Somebody the server knows. */
export interface Principal {
  /** Shown in logs; never a secret. */
  id: string;
  /** The one tenant it may speak for; `null` is an operator, who names a tenant or sees all. */
  tenantId: string | null;
  scopes: readonly Scope[];
  /** The one session it may speak of; absent: all of its tenant. */
  sessionId?: string;
  /** Absent: lasting requests are not ended by the server. */
  credential?: Credential;
}

/**
 * Why a request is not let in: nobody knows who asks, it is not for them, it was meant for another host, it came too often,
 * or right now nobody can tell.
 */
export interface AuthRefusal {
  refused: 'unknown' | 'forbidden' | 'misdirected' | 'limited' | 'unavailable';
  message: string;
  /** What the caller sent, where it sent something: for the security log. The id of a key is not secret. */
  credential?: { kind: 'key' | 'token'; id?: string };
  /** For the log. */
  cause?: unknown;
}

/** Tells who sent a request. */
export interface Authenticator {
  /** True where whoever reaches the port is let in: the server then listens on loopback only. */
  readonly loopbackOnly: boolean;
  /** Refuses what may not even ask for routes that are open to everybody: other hosts, pages of other origins. */
  refuse?(request: IncomingMessage): AuthRefusal | null;
  /** Where a request came from; default the address of its socket. */
  addressOf?(request: IncomingMessage): string;
  authenticate(request: IncomingMessage): Principal | AuthRefusal | Promise<Principal | AuthRefusal>;
  /**
   * Returns whom these credentials stand for now, `null` for those that are refused now. Leaves out those it cannot tell.
   */
  recheck?(credentialIds: readonly string[]): Promise<ReadonlyMap<string, Principal | null>>;
  /** Calls the listener with the id of a credential that was changed in this process. Returns a function that stops it. */
  onChange?(listener: (credentialId: string) => void): () => void;
}

const LOOPBACK_HOSTS = ['localhost', '127.0.0.1', '[::1]'];
const ANYBODY: Principal = { id: 'anonymous', tenantId: null, scopes: ['admin'] };

/**
 * Lets everybody on this machine in, as an operator. A web page can make a browser ask too, so the `Host` must be one
 * of this machine (a name that an attacker points here is refused), an `Origin` must be the server itself, and a
 * `Sec-Fetch-Site` must not be another one.
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
 * Whether a browser says that a page of another origin made the request: also images, forms and other requests that carry no
 * `Origin`. A link to a page of the inspector may be followed from anywhere, since the page it came from sees nothing of it.
 */
function isOfAnotherSite({ headers, method, url }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return false;
  const isVisit = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  return !(isVisit && method === 'GET' && !OF_THE_API.test(url!.split('?', 1)[0]!));
}

/** The host without its port. */
export function nameOf(host: string): string {
  return host.replace(/:\d+$/, '').toLowerCase();
}

/** Whether a host name can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}

/**
 * Authenticates requests by the key or token in their `Authorization` header. Credentials that cannot be verified are
 * refused.
 */
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { invalidArgument } from '@tidemark/core';
import { type Authenticator, type AuthRefusal, nameOf, type Principal } from '../auth.ts';
import { WrongCredentials } from '../limits/wrong-credentials.ts';
import type { ApiKeys } from './api-keys.ts';
import { type JwtOptions, jwtVerifier, type TokenVerifier } from './jwt.ts';
import type { StoredKey } from './key-record.ts';
import { digestOf, hasDigest, parseKey } from './key-text.ts';

const BEARER = /^Bearer +([^\s]+) *$/i;
const MAX_TOKEN = 8_192;
/** Prefix of the ids of API key principals and credentials. */
const KEY_PREFIX = 'key:';
/** The digest that is compared for unknown ids, so that refusing them takes as long as refusing a wrong secret. */
const NO_DIGEST = createHash('sha256').digest();

/** The message has no word after "Bearer", because redaction would remove that word as a token. */
const UNKNOWN: AuthRefusal = {
  refused: 'unknown',
  message:
    'Send a valid key or token in the header Authorization, with the scheme Bearer; the tidemark command sends TIDEMARK_TOKEN',
};
const LIMITED: AuthRefusal = {
  refused: 'limited',
  message: 'This key or token is wrong, and too many wrong ones came from this address; wait a minute',
};
const UNAVAILABLE: AuthRefusal = { refused: 'unavailable', message: 'Who asks cannot be verified right now' };

/** Options of `bearer`. */
export interface BearerOptions {
  /** The API keys to accept. */
  keys?: ApiKeys;
  /** An additional admin key. See `bootstrapKey`. */
  bootstrapKey?: string;
  /** The JWTs to accept. */
  jwt?: JwtOptions;
  /** The host names that this server accepts. Default: all, because the proxy in front of the server decides. */
  hosts?: readonly string[];
  /**
   * Whether a proxy in front of the server adds the caller's address to `X-Forwarded-For`. Without this, all callers
   * have the proxy's address.
   */
  isBehindProxy?: boolean;
}

/**
 * Creates an authenticator for API keys, tokens, or both.
 *
 * @throws `INVALID_ARGUMENT` if neither keys, tokens nor a bootstrap key are configured, or an option is invalid.
 *
 * @example
 * createServer({ store, host: '0.0.0.0', auth: bearer({ keys: new ApiKeys(store), bootstrapKey: bootstrapKey() }) });
 */
export function bearer(options: BearerOptions): Authenticator {
  const { keys, jwt, hosts, isBehindProxy = false } = options;
  if (!keys && !jwt && options.bootstrapKey === undefined)
    throw invalidArgument('auth', 'keys, jwt or bootstrapKey: nobody could be known');
  const callers = new Callers(keys, jwt && jwtVerifier(jwt), options.bootstrapKey);
  const wrong = new WrongCredentials();
  const names = hosts && new Set(hosts.map((it) => it.toLowerCase()));
  return {
    loopbackOnly: false,
    addressOf: (request) => addressOf(request, isBehindProxy),
    refuse: (request) => strangerOf(request, names),
    async authenticate(request) {
      const token = BEARER.exec(request.headers.authorization ?? '')?.[1];
      if (token === undefined || token.length > MAX_TOKEN) return UNKNOWN;
      const address = addressOf(request, isBehindProxy);
      try {
        const principal = await callers.of(token);
        if (principal) return principal;
      } catch (error) {
        return { ...UNAVAILABLE, cause: error };
      }
      // Only failures are throttled, so a valid key is admitted even if wrong keys are sent from the same address.
      wrong.note(address);
      const id = parseKey(token)?.id;
      const credential = id === undefined ? { kind: 'token' as const } : { kind: 'key' as const, id: KEY_PREFIX + id };
      return { ...(wrong.isExhausted(address) ? LIMITED : UNKNOWN), credential };
    },
    recheck: (ids) => callers.recheck(ids),
    onChange: (listener) => keys?.onChange((id) => listener(KEY_PREFIX + id)) ?? (() => {}),
  };
}

/** Resolves tokens to principals. */
class Callers {
  readonly #keys: ApiKeys | undefined;
  readonly #verify: TokenVerifier | undefined;
  readonly #bootstrap: StoredKey | null;

  constructor(keys: ApiKeys | undefined, verify: TokenVerifier | undefined, bootstrap: string | undefined) {
    this.#keys = keys;
    this.#verify = verify;
    this.#bootstrap = bootstrap === undefined ? null : operatorOf(bootstrap);
  }

  async of(token: string): Promise<Principal | null> {
    const key = parseKey(token);
    if (!key) return this.#verify ? this.#verify(token) : null;
    const stored = key.id === this.#bootstrap?.info.id ? this.#bootstrap : await this.#keys?.find(key.id);
    const isRight = hasDigest(key.secret, stored?.digest ?? NO_DIGEST);
    return stored && isRight && isValid(stored) ? principalOf(stored) : null;
  }

  /** Returns the current principals of credentials that were admitted earlier. Needs no secrets. */
  async recheck(credentialIds: readonly string[]): Promise<Map<string, Principal | null>> {
    const bootstrap = this.#bootstrap?.info.id;
    const ids = credentialIds.map((it) => it.slice(KEY_PREFIX.length));
    const stored = await this.#keys?.refresh(ids.filter((id) => id !== bootstrap));
    const now = new Map<string, Principal | null>();
    for (const [id, key] of stored ?? []) now.set(KEY_PREFIX + id, key && isValid(key) ? principalOf(key) : null);
    if (this.#bootstrap) now.set(KEY_PREFIX + bootstrap, principalOf(this.#bootstrap));
    return now;
  }
}

function operatorOf(text: string): StoredKey {
  const key = parseKey(text);
  if (!key) throw invalidArgument('bootstrapKey', 'an API key');
  const createdAt = new Date().toISOString();
  const info = { id: key.id, name: 'bootstrap', tenantId: null, scopes: ['admin' as const], createdAt };
  return { info, digest: digestOf(key.secret) };
}

function isValid({ info: { revokedAt, expiresAt } }: StoredKey): boolean {
  return revokedAt === undefined && (expiresAt === undefined || Date.parse(expiresAt) > Date.now());
}

function principalOf({ info }: StoredKey): Principal {
  const { tenantId, scopes, sessionId, expiresAt } = info;
  const id = KEY_PREFIX + info.id;
  const ends = expiresAt === undefined ? {} : { expiresAt: Date.parse(expiresAt) };
  const credential = { id, mayChange: true, ...ends };
  return { id, tenantId, scopes, credential, ...(sessionId === undefined ? {} : { sessionId }) };
}

/**
 * Refuses requests for other hosts if host names are configured. Always refuses requests from pages of another origin,
 * because the user may not have intended them.
 */
function strangerOf({ headers }: IncomingMessage, names: ReadonlySet<string> | undefined): AuthRefusal | null {
  const { host, origin } = headers;
  if (names && (host === undefined || !names.has(nameOf(host))))
    return { refused: 'misdirected', message: 'This server answers to other names only' };
  if (origin === undefined || (host !== undefined && (origin === `https://${host}` || origin === `http://${host}`)))
    return null;
  return { refused: 'forbidden', message: 'Pages of another origin may not ask this server' };
}

/**
 * Returns the client address. Only the last forwarded address comes from the proxy; callers can set all other
 * addresses.
 */
function addressOf({ headers, socket }: IncomingMessage, isBehindProxy: boolean): string {
  const forwarded = isBehindProxy ? headers['x-forwarded-for'] : undefined;
  const last = (Array.isArray(forwarded) ? forwarded.join(',') : forwarded)?.split(',').at(-1)?.trim();
  return last || (socket.remoteAddress ?? 'unknown');
}

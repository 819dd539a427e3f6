/**
 * Verifies tokens of an identity provider (JWTs). A token must be signed by a key of the provider's key set, with an
 * allowed algorithm, for this audience. Key references in the token itself (`jku`, `x5u`, `jwk`) are ignored.
 */
import { readFile } from 'node:fs/promises';
import { invalidArgument } from '@tidemark/core';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose';
import { type Credential, isLoopback, type Principal } from '../auth.ts';
import { isScope } from './scopes.ts';
import { SYSTEM_TENANT } from './system-tenant.ts';

/** Asymmetric algorithms only, because with a shared secret every verifier could also sign tokens. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const SCOPE_PREFIX = 'tidemark:';
const KEYS_MS = 600_000;
const FILE_MS = 10_000;
const FETCH_MS = 5_000;
const DEFAULT_TOLERANCE_SECONDS = 5;
const MAX_SUBJECT = 200;
/** Codes of errors that the token causes. All other errors are failures of the server. */
const OF_THE_TOKEN = /^ERR_(JWT_|JWS_|JOSE_ALG_NOT_ALLOWED|JOSE_NOT_SUPPORTED|JWKS_NO_MATCHING_KEY|JWKS_MULTIPLE)/;

/** The JWTs that a server accepts, and the claims that it reads. */
export interface JwtOptions {
  issuer: string;
  audience: string;
  /** The location of the keys: an https URL or a file path. Keys are reloaded from time to time. */
  keys: string;
  /** The accepted algorithms, such as `['RS256']`. */
  algorithms: readonly string[];
  /** The claim that contains the tenant. Default `tenant`. */
  tenantClaim?: string;
  /**
   * The claim that contains the scopes, as a list or as text separated by spaces: `tidemark:read tidemark:append`.
   * Default `scope`.
   */
  scopesClaim?: string;
  /** The claim that contains the only session that the token may access. Default `session`. */
  sessionClaim?: string;
  /** The allowed clock difference in seconds. Default 5. */
  clockToleranceSeconds?: number;
}

/** Returns the principal of a token, or `null` if it is invalid. Rejects if the token cannot be verified now. */
export type TokenVerifier = (token: string) => Promise<Principal | null>;

export function jwtVerifier(options: JwtOptions): TokenVerifier {
  const { issuer, audience, algorithms, clockToleranceSeconds = DEFAULT_TOLERANCE_SECONDS } = options;
  for (const [name, value] of Object.entries({ issuer, audience }))
    if (typeof value !== 'string' || value === '') throw invalidArgument(name, 'given', value);
  if (algorithms.length === 0 || !algorithms.every((it) => ALGORITHMS.includes(it)))
    throw invalidArgument('algorithms', `some of ${ALGORITHMS.join(', ')}`, algorithms.join(' '));
  const keys = keySetOf(options.keys);
  const verifying = {
    issuer,
    audience,
    algorithms: [...algorithms],
    clockTolerance: clockToleranceSeconds,
    requiredClaims: ['exp'],
  };
  return async (token) => {
    try {
      const { payload } = await jwtVerify(token, keys, verifying);
      return principalOf(payload, options);
    } catch (error) {
      if (error instanceof errors.JOSEError && OF_THE_TOKEN.test(error.code)) return null;
      throw error;
    }
  };
}

function keySetOf(location: string): JWTVerifyGetKey {
  if (!/^https?:/.test(location)) return fileKeys(location);
  const url = new URL(location);
  if (url.protocol !== 'https:' && !isLoopback(url.hostname))
    throw invalidArgument(
      'keys',
      'an https address: anyone who alters the keys in transit could sign tokens',
      location,
    );
  return createRemoteJWKSet(url, { cacheMaxAge: KEYS_MS, timeoutDuration: FETCH_MS });
}

/** Reads keys from a file and reloads it regularly, so that keys can be changed without a restart. */
function fileKeys(path: string): JWTVerifyGetKey {
  let readAt = Number.NEGATIVE_INFINITY;
  let keys: Promise<JWTVerifyGetKey>;
  return async (header, token) => {
    if (performance.now() - readAt > FILE_MS) {
      readAt = performance.now();
      keys = readFile(path, 'utf8').then((text) => createLocalJWKSet(JSON.parse(text) as JSONWebKeySet));
      keys.catch(() => {
        readAt = Number.NEGATIVE_INFINITY;
      });
    }
    return (await keys)(header, token);
  };
}

/**
 * Returns the principal of a token. Every token is for a single tenant, because operators use keys, which can be
 * revoked.
 */
function principalOf(payload: JWTPayload, options: JwtOptions): Principal | null {
  const { tenantClaim = 'tenant', scopesClaim = 'scope', sessionClaim = 'session' } = options;
  const tenantId = payload[tenantClaim];
  const sessionId = payload[sessionClaim];
  if (typeof tenantId !== 'string' || tenantId === '' || tenantId === SYSTEM_TENANT) return null;
  if (sessionId !== undefined && (typeof sessionId !== 'string' || sessionId === '')) return null;
  const subject = typeof payload.sub === 'string' ? payload.sub.slice(0, MAX_SUBJECT) : 'nameless';
  const principal: Principal = {
    id: `jwt:${subject.toWellFormed().replaceAll('\0', '')}`,
    tenantId,
    scopes: scopesOf(payload[scopesClaim]),
    credential: credentialOf(payload, options),
  };
  return sessionId === undefined ? principal : { ...principal, sessionId };
}

/** Returns the credential of a token. Tokens that expire in the same second share a check. */
function credentialOf({ exp }: JWTPayload, options: JwtOptions): Credential {
  const { clockToleranceSeconds = DEFAULT_TOLERANCE_SECONDS } = options;
  const expiresAt = (exp! + clockToleranceSeconds) * 1_000;
  return { id: `jwt until ${expiresAt}`, expiresAt, mayChange: false };
}

function scopesOf(claim: unknown) {
  const named: unknown[] = typeof claim === 'string' ? claim.split(' ') : Array.isArray(claim) ? claim : [];
  return named
    .filter((it): it is string => typeof it === 'string' && it.startsWith(SCOPE_PREFIX))
    .map((it) => it.slice(SCOPE_PREFIX.length))
    .filter(isScope);
}

/** Key-pair authentication: signs the tokens that Snowflake accepts instead of a password. */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { invalidArgument } from '@tidemark/core';

/** Snowflake accepts tokens for at most an hour. */
const VALID_SECONDS = 3_540;
/** A token is replaced before it expires, so that it does not expire on its way. */
const RENEW_BEFORE_SECONDS = 300;

export interface KeyPairOptions {
  account: string;
  user: string;
  key: string | KeyObject;
  passphrase?: string;
}

export class KeyPair {
  readonly #key: KeyObject;
  /** The names of account and user as they appear in tokens. */
  readonly #subject: string;
  /** Identifies the public key: compare it with `RSA_PUBLIC_KEY_FP` of `DESC USER`. */
  readonly fingerprint: string;
  #token: { text: string; renewAt: number } | null = null;

  constructor({ account, user, key, passphrase }: KeyPairOptions) {
    this.#key = readKey(key, passphrase);
    this.fingerprint = fingerprintOf(this.#key);
    this.#subject = `${accountName(account)}.${user.toUpperCase()}`;
  }

  /** Returns a token that is valid for at least a few minutes. */
  token(now = Date.now()): string {
    const seconds = Math.floor(now / 1_000);
    if (this.#token && seconds < this.#token.renewAt) return this.#token.text;
    const claims = {
      iss: `${this.#subject}.${this.fingerprint}`,
      sub: this.#subject,
      iat: seconds,
      exp: seconds + VALID_SECONDS,
    };
    const unsigned = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode(claims)}`;
    const signature = sign('RSA-SHA256', Buffer.from(unsigned), this.#key).toString('base64url');
    this.#token = { text: `${unsigned}.${signature}`, renewAt: seconds + VALID_SECONDS - RENEW_BEFORE_SECONDS };
    return this.#token.text;
  }

  /** Forgets the token, because Snowflake refused it. */
  renew(): void {
    this.#token = null;
  }
}

function readKey(key: string | KeyObject, passphrase: string | undefined): KeyObject {
  const rule = 'a private RSA key of at least 2048 bits as PEM text';
  try {
    const object =
      typeof key === 'string' ? createPrivateKey({ key, ...(passphrase === undefined ? {} : { passphrase }) }) : key;
    if (object.type === 'private' && object.asymmetricKeyType === 'rsa') {
      if ((object.asymmetricKeyDetails?.modulusLength ?? 0) >= 2_048) return object;
    }
  } catch {
    // The reason may contain parts of the key.
    throw invalidArgument('key', `${rule}, with its passphrase if it is encrypted`);
  }
  throw invalidArgument('key', rule);
}

function fingerprintOf(key: KeyObject): string {
  const der = createPublicKey(key).export({ type: 'spki', format: 'der' });
  return `SHA256:${createHash('sha256').update(der).digest('base64')}`;
}

/** Tokens name an account without its region, with hyphens instead of dots, in upper case. */
function accountName(account: string): string {
  const name = account.toUpperCase();
  // A locator such as `xy12345.eu-central-1` contains its region after the first dot; `acme-analytics` has no dot.
  return name.split('.')[0]!;
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

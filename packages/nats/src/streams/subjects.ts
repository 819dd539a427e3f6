/**
 * Ids as subject tokens (GEN-5): letters, digits, `-` and `_` are unchanged; every other byte becomes an escape
 * character and two hex digits. The escape characters sort in the same positions as the bytes they replace, so encoded
 * tokens sort like the ids. Subjects never contain unencoded ids.
 */
import { sha256Hex } from '@tidemark/core/engine';

/**
 * Limits the length of the tokens, because a server refuses protocol lines over 4 096 bytes. A longer id is hashed, and
 * the message contains the full name.
 */
const MAX_TOKEN_LENGTH = 1_500;
const EMPTY = '!';
/** Starts a hashed part. No encoded id contains this character. */
const HASHED = '=';

const ENCODED = Array.from({ length: 256 }, (_, byte) => {
  const text = String.fromCharCode(byte);
  return /[A-Za-z0-9_-]/.test(text) ? text : escapeFor(byte) + byte.toString(16).toUpperCase().padStart(2, '0');
});

function escapeFor(byte: number): string {
  if (byte < 0x2d) return '!';
  if (byte < 0x30) return '/';
  if (byte < 0x41) return ':';
  if (byte < 0x5f) return '[';
  return byte < 0x61 ? '`' : '~';
}

/** Encodes one id as one token. */
export function encodeToken(id: string): string {
  if (id === '') return EMPTY;
  if (/^[A-Za-z0-9_-]+$/.test(id)) return id;
  let token = '';
  for (const byte of Buffer.from(id)) token += ENCODED[byte];
  return token;
}

function decodeToken(token: string): string {
  if (token === EMPTY) return '';
  const text = token.replace(/[!/:[`~]([0-9A-F]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(text, 'latin1').toString();
}

/** The name that a subject encodes. */
export interface SubjectName {
  space: string;
  tenantId: string;
  name: string;
}

export interface Subject {
  text: string;
  /** Whether a part is hashed, in which case its message must contain the full name. */
  hashed: boolean;
}

/**
 * Returns the subject of a name under the subject of its stream, such as `tidemark.records`. With `dotted`, dots in the
 * name stay unencoded, so that keys can be filtered by their first tokens.
 */
export function subjectOf(stream: string, { space, tenantId, name }: SubjectName, dotted = false): Subject {
  const tenant = shortened(encodeToken(tenantId), tenantId);
  const tokens = dotted ? name.split('.').map(encodeToken).join('.') : encodeToken(name);
  const rest = shortened(tokens, name);
  return { text: `${stream}.${space}.${tenant}.${rest}`, hashed: tenant.startsWith(HASHED) || rest.startsWith(HASHED) };
}

/** Matches every name of a tenant in a space. */
export function tenantFilter(stream: string, space: string, tenantId: string): string {
  return `${stream}.${space}.${shortened(encodeToken(tenantId), tenantId)}.>`;
}

/** Decodes the name in a subject of a stream. If a part is hashed, the message contains the full name. */
export function nameOfSubject(stream: string, subject: string, inMessage: string | undefined): SubjectName {
  const [space, tenant, ...rest] = subject.slice(stream.length + 1).split('.');
  if (inMessage === undefined) {
    return { space: space!, tenantId: decodeToken(tenant!), name: rest.map(decodeToken).join('.') };
  }
  const [tenantId, name] = JSON.parse(inMessage) as [string, string];
  return { space: space!, tenantId, name };
}

function shortened(tokens: string, id: string): string {
  return tokens.length <= MAX_TOKEN_LENGTH ? tokens : HASHED + sha256Hex(id);
}

/**
 * Builds JSON request bodies from call arguments. Values that JSON would change or lose are rejected before sending
 * (GEN-4).
 */
import { encodeJson, invalidArgument, isPlainObject } from '@tidemark/core/portable';

/** Members that hold JSON of the caller. Errors in them are reported as `INVALID_PAYLOAD`. */
const PAYLOADS = new Set([
  'payload',
  'state',
  'trajectory',
  'content',
  'result',
  'error',
  'progress',
  'contextSnapshot',
  'extra',
  'source',
  'metadata',
]);

/** Returns the JSON text of an arguments object. `path` prefixes member names in errors. */
export function bodyOf(members: object, maxBytes: number, path = ''): string {
  const texts: string[] = [];
  for (const [name, value] of Object.entries(members)) {
    if (value === undefined) continue;
    const field = `${path}${name}`;
    if (!PAYLOADS.has(name) && !isJsonType(value)) throw invalidArgument(field, 'a JSON value', value);
    texts.push(`${JSON.stringify(name)}:${exact(encodeJson(value, field, maxBytes))}`);
  }
  return `{${texts.join()}}`;
}

function isJsonType(value: unknown): boolean {
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value);
    case 'object':
      return value === null || Array.isArray(value) || isPlainObject(value);
    case 'bigint':
    case 'function':
    case 'symbol':
      return false;
    default:
      return true;
  }
}

const LONG_NUMBER = /\d{16}/;
/**
 * The closing quote is optional, because otherwise an unterminated string would be scanned again from every quote
 * inside it.
 */
const STRING_OR_LONG_INTEGER = /"[^"\\]*(?:\\.[^"\\]*)*"?|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

/**
 * Writes long integers with an exponent. Servers reject long integers in JSON, because a double usually cannot
 * represent all their digits. The numbers in this text are doubles, so the exponent form loses nothing.
 */
function exact(json: string): string {
  if (!LONG_NUMBER.test(json)) return json;
  return json.replace(STRING_OR_LONG_INTEGER, (part) => {
    return part.startsWith('"') || Number.isSafeInteger(Number(part)) ? part : Number(part).toExponential();
  });
}

/** JSON bodies from call arguments: what JSON would change or lose is refused before anything is sent (GEN-4). */
import { encodeJson, invalidArgument, isPlainObject } from '@tidemark/core/portable';

/** Members that hold the caller's own JSON: what is wrong in them is a payload that is wrong. */
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
]);

/** The JSON text of an object of arguments; `path` is put before the names of its members in errors. */
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
/** The quote at the end is optional: a string without one would be looked at again from every quote inside it. */
const STRING_OR_LONG_INTEGER = /"[^"\\]*(?:\\.[^"\\]*)*"?|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

/**
 * Servers refuse long integers in JSON, since most who send them mean digits that a double does not hold. Ours are
 * doubles already: written with an exponent they say so.
 */
function exact(json: string): string {
  if (!LONG_NUMBER.test(json)) return json;
  return json.replace(STRING_OR_LONG_INTEGER, (part) => {
    return part.startsWith('"') || Number.isSafeInteger(Number(part)) ? part : Number(part).toExponential();
  });
}

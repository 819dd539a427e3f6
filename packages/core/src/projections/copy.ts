/** Copies JSON values, so that no object occurs twice in a state. Rejects values that are not JSON. */
import { MAX_JSON_DEPTH } from '../checks/json.ts';
import { isPlainObject } from '../checks/text.ts';

export type Container = Record<string, unknown> | unknown[];

export function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null;
}

/** Returns a copy of a value. `unwrap` returns the object behind a draft. Throws `TypeError` if it is not JSON. */
export function copyJson(value: unknown, unwrap: (value: unknown) => unknown = (it) => it, depth = 1): unknown {
  const source = unwrap(value);
  if (!isContainer(source)) return checkScalar(source);
  if (depth > MAX_JSON_DEPTH) throw new TypeError(`State is nested more than ${MAX_JSON_DEPTH} levels deep`);
  if (Array.isArray(source)) return Array.from(source, (item) => copyJson(item, unwrap, depth + 1));
  if (!isPlainObject(source)) throw new TypeError(`State is plain JSON, not a ${Object(source).constructor?.name}`);
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(source))
    if (source[key] !== undefined) writeMember(copy, key, copyJson(source[key], unwrap, depth + 1));
  return copy;
}

/** Returns a string, boolean, finite number or null, else throws `TypeError`. Converts −0 to 0, as JSON does. */
export function checkScalar(value: unknown): unknown {
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value === 0 ? 0 : value;
    throw new TypeError(`State is plain JSON: ${value} is not a finite number`);
  }
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  throw new TypeError(`State is plain JSON, not a value of type ${typeof value}`);
}

/** Writes a member, even one named `__proto__`. */
export function writeMember(target: Container, key: string, value: unknown): void {
  if (key !== '__proto__') (target as Record<string, unknown>)[key] = value;
  else Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Returns an own member of the object, or `undefined`. */
export function memberOf(target: Container, key: string): unknown {
  return Object.hasOwn(target, key) ? (target as Record<string, unknown>)[key] : undefined;
}

/** Copies of JSON values, so that no two places of a state share an object; what is not JSON is refused. */
import { MAX_JSON_DEPTH } from '../checks/json.ts';
import { isPlainObject } from '../checks/text.ts';

export type Container = Record<string, unknown> | unknown[];

export function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null;
}

/** A copy of a value; `reveal` gives what stands behind a draft. */
export function copyJson(value: unknown, reveal: (value: unknown) => unknown = (it) => it, depth = 1): unknown {
  const it = reveal(value);
  if (!isContainer(it)) return checkScalar(it);
  if (depth > MAX_JSON_DEPTH) throw new TypeError(`State is nested more than ${MAX_JSON_DEPTH} levels deep`);
  if (Array.isArray(it)) return Array.from(it, (item) => copyJson(item, reveal, depth + 1));
  if (!isPlainObject(it)) throw new TypeError(`State is plain JSON, not a ${Object(it).constructor?.name}`);
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(it))
    if (it[key] !== undefined) writeMember(copy, key, copyJson(it[key], reveal, depth + 1));
  return copy;
}

/** A text, boolean, finite number or null; −0 is 0, as it would be when it is read again. */
export function checkScalar(value: unknown): unknown {
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value === 0 ? 0 : value;
    throw new TypeError(`State is plain JSON: ${value} is not a finite number`);
  }
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value;
  throw new TypeError(`State is plain JSON, not a value of type ${typeof value}`);
}

/** Writes a member, also one named `__proto__`. */
export function writeMember(target: Container, key: string, value: unknown): void {
  if (key !== '__proto__') (target as Record<string, unknown>)[key] = value;
  else Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}

/** A member of the object's own. */
export function memberOf(target: Container, key: string): unknown {
  return Object.hasOwn(target, key) ? (target as Record<string, unknown>)[key] : undefined;
}

/**
 * Memory keys of the form `tenant:user:session` (AGT-5). Parts are escaped, so different triples have different keys.
 */
import { checkId } from '../checks/text.ts';

/** The parts of a memory key. */
export interface MemoryKeyParts {
  tenant: string;
  user: string;
  session: string;
}

/**
 * Returns the memory key of a session. `%` and `:` within the parts are escaped.
 *
 * @example
 * console.log(memoryKey('acme', 'user:7', 's1')); // acme:user%3A7:s1
 */
export function memoryKey(tenant: string, user: string, session: string): string {
  const parts = [checkId(tenant, 'tenant'), checkId(user, 'user'), checkId(session, 'session')];
  return checkId(parts.map(escapePart).join(':'), 'key');
}

/**
 * Returns the parts of a key made by `memoryKey`, or `null` for any other key.
 *
 * @example
 * console.log(parseMemoryKey('acme:user%3A7:s1')); // { tenant: 'acme', user: 'user:7', session: 's1' }
 */
export function parseMemoryKey(key: string): MemoryKeyParts | null {
  const parts = key.split(':');
  if (parts.length !== 3 || parts.includes('') || /%(?!25|3A)/.test(key)) return null;
  const [tenant, user, session] = parts.map(unescapePart) as [string, string, string];
  return { tenant, user, session };
}

function escapePart(part: string): string {
  return part.replaceAll('%', '%25').replaceAll(':', '%3A');
}

function unescapePart(part: string): string {
  return part.replaceAll('%3A', ':').replaceAll('%25', '%');
}

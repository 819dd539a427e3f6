/**
 * Parameters and members that had another name in version 0.1. Servers accept both names. A server of version 0.1 has
 * no `wireVersion` in `GET /v1/info`. A client sends the old names to such a server, because the server would ignore a
 * condition under its new name and write unconditionally.
 */
import type { RouteName } from './routes/index.ts';

/**
 * The version of the names that routes use. A server of version 0.1 uses version 1 of the names and omits the number in
 * `GET /v1/info`.
 */
export const WIRE_VERSION = 2;

/** Current names and their names in version 0.1. */
const RENAMED: Partial<Record<RouteName, Readonly<Record<string, string>>>> = {
  'GET /v1/events': { cursor: 'after' },
  'POST /v1/kv/{key}/swap': { expected: 'expect', expectedRevision: 'revision' },
  'PUT /v1/memory/{key}': { expectedVersion: 'ifVersion' },
  'POST /v1/runs/{runId}/archive': { expectedSeq: 'atSeq', expectedRewrites: 'rewrites' },
};

/** Returns a map from old to new names for a route, or `null` if nothing was renamed. */
export function renamedIn(route: string): ReadonlyMap<string, string> | null {
  const renamed = (RENAMED as Record<string, Readonly<Record<string, string>> | undefined>)[route];
  return renamed ? new Map(Object.entries(renamed).map(([name, old]) => [old, name])) : null;
}

/** Renames members to their names in version 0.1. */
export function toOldNames<Members extends object>(route: RouteName, members: Members): Members {
  const renamed = RENAMED[route] ?? {};
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [renamed[name] ?? name, value])) as Members;
}

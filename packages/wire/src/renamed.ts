/**
 * Parameters and members that had another name in version 0.1. Servers accept both names. A server of version 0.1 has
 * no `wireVersion` in `GET /v1/info`. A client sends the old names to such a server, because the server would ignore a
 * condition under its new name and write unconditionally.
 */
import { invalidArgument, TidemarkError } from '@tidemark/core/portable';
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
  'DELETE /v1/memory/{key}': { expectedVersion: 'ifVersion' },
  'POST /v1/runs/{runId}/archive': { expectedSeq: 'atSeq', expectedRewrites: 'rewrites' },
  'DELETE /v1/runs/{runId}': { expectedSeq: 'atSeq' },
};

/** Parameters and members that servers of version 0.1 do not know. They ignore unknown members. */
const NEWER = /^(sealed|operations|from|to|reverse|keysOnly|notices|orderBy|full|keepEncoded)$/;

/** Returns a map from old to new names for a route, or `null` if nothing was renamed. */
export function renamedIn(route: string): ReadonlyMap<string, string> | null {
  const renamed = RENAMED[route as RouteName];
  return renamed ? new Map(Object.entries(renamed).map(([name, old]) => [old, name])) : null;
}

/** Throws `INVALID_ARGUMENT` for a member under its old name: if it was ignored, a write would be unconditional. */
export function refuseOldNames(route: RouteName, members: Readonly<Record<string, unknown>>): void {
  for (const [name, old] of Object.entries(RENAMED[route] ?? {}))
    if (members[old] !== undefined) throw invalidArgument(old, `absent; it is called ${name} now`);
}

/** Renames members to their names in version 0.1. Throws `UNSUPPORTED` for a member that is newer. */
export function toOldNames(route: RouteName, members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const renamed = RENAMED[route] ?? {};
  const known = Object.entries(members).filter(([name, value]) => {
    if (!NEWER.test(name)) return true;
    if (value) throw new TidemarkError('UNSUPPORTED', `The server is too old for ${name}`, { field: name });
    return false;
  });
  return Object.fromEntries(known.map(([name, value]) => [renamed[name] ?? name, value]));
}

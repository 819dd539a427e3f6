/**
 * Parameters and members that version 0.1 knew by another name. Servers accept both names; a client sends the old ones to a
 * server of version 0.1, which has no `wireVersion` in `GET /v1/info`. An old server would ignore a condition under its new
 * name and write without it.
 */
import type { RouteName } from './routes/index.ts';

/** The version of the names that routes use: 1, without a number in `GET /v1/info`, in version 0.1. */
export const WIRE_VERSION = 2;

/** The names of today and those of version 0.1. */
const RENAMED: Partial<Record<RouteName, Readonly<Record<string, string>>>> = {
  'GET /v1/events': { cursor: 'after' },
  'POST /v1/kv/{key}/swap': { expected: 'expect', expectedRevision: 'revision' },
  'PUT /v1/memory/{key}': { expectedVersion: 'ifVersion' },
  'POST /v1/runs/{runId}/archive': { expectedSeq: 'atSeq', expectedRewrites: 'rewrites' },
};

/** Returns old names and their new ones for a route, or `null` where nothing was renamed. */
export function renamedIn(route: string): ReadonlyMap<string, string> | null {
  const renamed = (RENAMED as Record<string, Readonly<Record<string, string>> | undefined>)[route];
  return renamed ? new Map(Object.entries(renamed).map(([name, old]) => [old, name])) : null;
}

/** Returns the members under the names of version 0.1. */
export function toOldNames<Members extends object>(route: RouteName, members: Members): Members {
  const renamed = RENAMED[route] ?? {};
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [renamed[name] ?? name, value])) as Members;
}

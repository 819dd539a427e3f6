/**
 * What a key may do: `domain:verb`, declared here once. Routes, the OpenAPI document, the command line and the pages of
 * documentation take the names from here.
 */

/** The verbs of each domain. `write` adds and changes, also what replaces or expires something; `delete` removes by name. */
const VERBS = {
  store: ['read'],
  runs: ['read', 'write'],
  kv: ['read', 'write', 'delete'],
  jobs: ['read', 'write'],
  agents: ['read', 'write', 'delete'],
  artifacts: ['read', 'write', 'delete'],
  metrics: ['read'],
} as const;

type Domain = keyof typeof VERBS;

/** One verb in one domain. */
type FineScope = { [D in Domain]: `${D}:${(typeof VERBS)[D][number]}` }[Domain];

/** What a route asks for. `admin` is for what only administrators do. */
export type RouteScope = FineScope | 'admin';

/** What a key may have: scopes of routes, and the names of whole sets of them. `admin` contains everything. */
export type Scope = RouteScope | 'read' | 'append';

const FINE_SCOPES = Object.entries(VERBS).flatMap(([domain, verbs]) =>
  verbs.map((verb) => `${domain}:${verb}` as FineScope),
);

/** Names for sets: `read` reads all domains, `append` writes and deletes in all of them. Metrics tell of all tenants. */
const SETS: Readonly<Record<'read' | 'append', ReadonlySet<RouteScope>>> = {
  read: new Set(FINE_SCOPES.filter((it) => it.endsWith(':read') && it !== 'metrics:read')),
  append: new Set(FINE_SCOPES.filter((it) => !it.endsWith(':read'))),
};

/** All names that a key may have. */
export const SCOPES: readonly Scope[] = ['read', 'append', 'admin', ...FINE_SCOPES];

export function isScope(value: unknown): value is Scope {
  return (SCOPES as readonly unknown[]).includes(value);
}

/** Whether a caller with these scopes may use a route that asks for one. */
export function allows(scopes: readonly Scope[], wanted: RouteScope): boolean {
  for (const scope of scopes) {
    if (scope === wanted || scope === 'admin') return true;
    if (scope === 'read' || scope === 'append') {
      if (SETS[scope].has(wanted)) return true;
      // Whoever may do anything in a domain may see what the store is: clients ask for it first.
    } else if (wanted === 'store:read') return true;
  }
  return false;
}

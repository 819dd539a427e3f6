/**
 * Scopes of keys, `domain:verb`, declared once. Routes, the OpenAPI document, the command line and the documentation
 * use these names.
 */

/**
 * The verbs of each domain. `write` adds and changes data, including replacing and expiring it; `delete` removes it by
 * name.
 */
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

/** The scope of a route. `admin` is for administrators only. */
export type RouteScope = FineScope | 'admin';

/** The scope of a key: scopes of routes, and names of sets of them. `admin` contains everything. */
export type Scope = RouteScope | 'read' | 'append';

const FINE_SCOPES = Object.entries(VERBS).flatMap(([domain, verbs]) =>
  verbs.map((verb) => `${domain}:${verb}` as FineScope),
);

/**
 * Sets: `read` reads all domains, `append` writes and deletes in all of them. Metrics are excluded because they cover
 * all tenants.
 */
const SETS: Readonly<Record<'read' | 'append', ReadonlySet<RouteScope>>> = {
  read: new Set(FINE_SCOPES.filter((it) => it.endsWith(':read') && it !== 'metrics:read')),
  append: new Set(FINE_SCOPES.filter((it) => !it.endsWith(':read'))),
};

/** All scopes that a key may have. */
export const SCOPES: readonly Scope[] = ['read', 'append', 'admin', ...FINE_SCOPES];

export function isScope(value: unknown): value is Scope {
  return (SCOPES as readonly unknown[]).includes(value);
}

/** Whether a caller with these scopes may use a route with the wanted scope. */
export function allows(scopes: readonly Scope[], wanted: RouteScope): boolean {
  for (const scope of scopes) {
    if (scope === wanted || scope === 'admin') return true;
    if (scope === 'read' || scope === 'append') {
      if (SETS[scope].has(wanted)) return true;
      // Any scope allows reading the store's info: clients request it first.
    } else if (wanted === 'store:read') return true;
  }
  return false;
}

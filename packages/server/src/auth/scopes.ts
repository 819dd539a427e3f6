/**
 * The scopes of API keys, `domain:verb`. They are declared only here. Routes, the OpenAPI document, the command line
 * and the documentation use these names.
 */

/**
 * The verbs of each domain. `write` adds and changes data, which includes replacing data and letting it expire.
 * `delete` removes data by name.
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

/** The scope of a route. Only administrators have `admin`. */
export type RouteScope = FineScope | 'admin';

/** A scope of a key: the scope of a route, or the name of a set of route scopes. `admin` contains everything. */
export type Scope = RouteScope | 'read' | 'append';

const FINE_SCOPES = Object.entries(VERBS).flatMap(([domain, verbs]) =>
  verbs.map((verb) => `${domain}:${verb}` as FineScope),
);

/**
 * The named sets: `read` reads all domains, and `append` writes and deletes in all domains. They do not include
 * metrics, because metrics cover all tenants.
 */
const SETS: Readonly<Record<'read' | 'append', ReadonlySet<RouteScope>>> = {
  read: new Set(FINE_SCOPES.filter((it) => it.endsWith(':read') && it !== 'metrics:read')),
  append: new Set(FINE_SCOPES.filter((it) => !it.endsWith(':read'))),
};

/**
 * All scopes that a key may have.
 *
 * @example
 * console.log(SCOPES.slice(0, 3)); // [ 'read', 'append', 'admin' ]
 */
export const SCOPES: readonly Scope[] = ['read', 'append', 'admin', ...FINE_SCOPES];

/**
 * Returns whether a value is the name of a scope.
 *
 * @example
 * console.log(isScope('runs:read'), isScope('fly')); // true false
 */
export function isScope(value: unknown): value is Scope {
  return (SCOPES as readonly unknown[]).includes(value);
}

/**
 * Whether a caller with these scopes may use a route with the wanted scope.
 *
 * @example
 * console.log(allows(['read'], 'runs:read'), allows(['read'], 'admin')); // true false
 */
export function allows(scopes: readonly Scope[], wanted: RouteScope): boolean {
  for (const scope of scopes) {
    if (scope === wanted || scope === 'admin') return true;
    if (scope === 'read' || scope === 'append') {
      if (SETS[scope].has(wanted)) return true;
      // Any scope allows reading the store's info, because clients request it first.
    } else if (wanted === 'store:read') return true;
  }
  return false;
}

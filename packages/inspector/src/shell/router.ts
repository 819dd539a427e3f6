/** The router. The address holds all persistent state, so that every view can be linked to. */
import { signal } from '@preact/signals';
import { decodeSegment, encodeSegment } from '@tidemark/wire';

export interface Route {
  /** The decoded segments: `/runs/a%2Fb` is `['runs', 'a/b']`. */
  segments: string[];
  query: URLSearchParams;
}

export const route = signal<Route>(readRoute());

function readRoute(): Route {
  const segments = location.pathname
    .split('/')
    .filter(Boolean)
    .map((it) => decodeSegment(it) ?? it);
  return { segments, query: new URLSearchParams(location.search) };
}

export type RouteQuery = Readonly<Record<string, string | number | undefined>>;

/** Builds an address. Omits undefined and empty parameters from the query. */
export function hrefOf(segments: readonly string[], query: RouteQuery = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') parameters.set(name, String(value));
  const path = `/${segments.map(encodeSegment).join('/')}`;
  return parameters.size > 0 ? `${path}?${parameters}` : path;
}

export function navigate(href: string, options: { replace?: boolean } = {}): void {
  if (href === location.pathname + location.search) return;
  if (options.replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  route.value = readRoute();
}

/**
 * Changes query parameters. An empty value removes a parameter. By default, the current history entry is replaced. With
 * `{}` as options, a new entry is added.
 */
export function setQuery(changes: RouteQuery, options: { replace?: boolean } = { replace: true }): void {
  const query = Object.fromEntries(route.peek().query);
  navigate(hrefOf(route.peek().segments, { ...query, ...changes }), options);
}

/** Handles the back button, and follows internal links without a page load. */
export function startRouter(): void {
  addEventListener('popstate', () => {
    route.value = readRoute();
  });
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = (event.target as Element).closest('a');
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (link.pathname.startsWith('/v1/') || link.pathname === '/openapi.json') return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
}

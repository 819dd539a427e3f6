/** Where the reader is: the address is the only state that lasts, so that every view can be linked to. */
import { signal } from '@preact/signals';
import { decodeSegment, encodeSegment } from '@tidemark/wire';

export interface Place {
  /** Decoded: `/runs/a%2Fb` is `['runs', 'a/b']`. */
  segments: string[];
  query: URLSearchParams;
}

export const place = signal<Place>(readPlace());

function readPlace(): Place {
  const segments = location.pathname
    .split('/')
    .filter(Boolean)
    .map((it) => decodeSegment(it) ?? it);
  return { segments, query: new URLSearchParams(location.search) };
}

export type PlaceQuery = Readonly<Record<string, string | number | undefined>>;

/** The address of a place; what is undefined or empty is left out of the query. */
export function hrefOf(segments: readonly string[], query: PlaceQuery = {}): string {
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
  place.value = readPlace();
}

/** Changes some parameters of this place; an empty one goes. What is typed replaces, what is chosen is a step back. */
export function setQuery(changes: PlaceQuery, options: { replace?: boolean } = { replace: true }): void {
  const query = Object.fromEntries(place.peek().query);
  navigate(hrefOf(place.peek().segments, { ...query, ...changes }), options);
}

/** Follows the back button, and links within the page without loading it again. */
export function startRouter(): void {
  addEventListener('popstate', () => {
    place.value = readPlace();
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

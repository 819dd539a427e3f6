/** A Tidemark store over HTTP, with nothing but `fetch`. */
import { invalidArgument, type Store } from '@tidemark/core/portable';
import { type HttpOptions, httpStore } from './store.ts';

export { type HttpOptions, httpStore } from './store.ts';

/** What `open('http://…')` calls. A codec is refused rather than left out: payloads would reach the server plain. */
export function openUrl(url: string, options: Omit<HttpOptions, 'url'> & { codec?: unknown }): Promise<Store> {
  if (options.codec !== undefined)
    throw invalidArgument('codec', 'given to the store that the server keeps: over HTTP there is none');
  return httpStore({ ...options, url });
}

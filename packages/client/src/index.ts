/** A Tidemark store over HTTP. Its only dependency on the platform is `fetch`. */
import { invalidArgument, type Store } from '@tidemark/core/portable';
import { type HttpOptions, httpStore } from './store.ts';

export { type HttpOptions, httpStore } from './store.ts';

/**
 * Opens a store for `open('http://…')`.
 *
 * @throws `INVALID_ARGUMENT` for a codec: ignoring the codec would send payloads unencrypted. Also the errors of
 *   `httpStore`.
 *
 * @example
 * import { openUrl } from '@tidemark/client';
 *
 * const store = await openUrl('http://127.0.0.1:7420', {});
 * await store.close();
 */
export function openUrl(url: string, options: Omit<HttpOptions, 'url'> & { codec?: unknown }): Promise<Store> {
  if (options.codec !== undefined)
    throw invalidArgument('codec', 'given to the store that the server keeps: over HTTP there is none');
  return httpStore({ ...options, url });
}

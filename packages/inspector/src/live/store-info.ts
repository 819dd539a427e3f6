/** The server's store information, requested once. */
import type { StoreInfo } from '@tidemark/core/portable';
import { ask } from './http.ts';

let request: Promise<StoreInfo> | undefined;

export function storeInfo(): Promise<StoreInfo> {
  request ??= ask('GET /v1/info').catch((error: unknown) => {
    request = undefined;
    throw error;
  });
  return request;
}

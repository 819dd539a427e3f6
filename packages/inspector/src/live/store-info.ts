/** What the store of this server is and can do, asked once. */
import type { StoreInfo } from '@tidemark/core/portable';
import { ask } from './http.ts';

let asked: Promise<StoreInfo> | undefined;

export function storeInfo(): Promise<StoreInfo> {
  asked ??= ask('GET /v1/info').catch((error: unknown) => {
    asked = undefined;
    throw error;
  });
  return asked;
}

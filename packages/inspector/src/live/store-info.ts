/** What the store of this server is and can do, asked once. */
import type { StoreInfo } from '@tidemark/core/portable';
import { ask, resource } from './http.ts';

let asked: Promise<StoreInfo> | undefined;

export function storeInfo(): Promise<StoreInfo> {
  asked ??= ask<StoreInfo>(resource('info')).catch((error: unknown) => {
    asked = undefined;
    throw error;
  });
  return asked;
}

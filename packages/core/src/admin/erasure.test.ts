/** Arguments of erasures are checked before anything is removed. */
import { expect, it } from 'vitest';
import { memoryStore } from '../memory/store.ts';

it.each([
  ['onProgress', { onProgress: 'often' }],
  ['onProgress', { onProgress: null }],
  ['timeoutMs', { timeoutMs: 0 }],
  ['timeoutMs', { timeoutMs: 1.5 }],
])('rejects an invalid %s and removes nothing: %j', async (field, options) => {
  const store = memoryStore();
  await store.forTenant('acme').kv.put('key', { a: 1 });
  const wrong = { code: 'INVALID_ARGUMENT', field };
  await expect(store.admin.eraseTenant('acme', options as object)).rejects.toMatchObject(wrong);
  await expect(store.forTenant('acme').admin.eraseSession('s', options as object)).rejects.toMatchObject(wrong);
  expect(await store.forTenant('acme').kv.get('key')).not.toBeNull();
});

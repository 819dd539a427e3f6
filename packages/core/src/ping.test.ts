/** `ping` answers for the storage; a call that is not valid is an error, not an answer. */
import { expect, it } from 'vitest';
import { memoryStore } from './memory/store.ts';
import { assembleStore } from './store.ts';
import { StoreContext } from './tools/context.ts';

it.each([
  ['INVALID_ARGUMENT', { timeoutMs: 0 }],
  ['ABORTED', { signal: AbortSignal.abort() }],
])('fails with %s', async (code, options) => {
  await expect(memoryStore().ping(options)).rejects.toMatchObject({ code });
});

it('fails once the store is closed', async () => {
  const store = memoryStore();
  expect(await store.ping()).toBe(true);
  await store.close();
  await expect(store.ping()).rejects.toMatchObject({ code: 'STORE_CLOSED' });
});

it('is false when the storage does not answer', async () => {
  const store = assembleStore(new StoreContext(), {
    ...{ backend: 'test', version: '0', can: {}, durability: () => 'none' as const },
    ping: async () => {
      throw new Error('gone');
    },
    doctor: async () => ({ durability: 'none', findings: [] }),
    close: async () => {},
  });
  expect(await store.ping()).toBe(false);
});

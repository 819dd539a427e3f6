/** Stores that are closed and removed when the test ends. */
import { memoryStore, type Store } from '@tidemark/core';
import { onTestFinished } from 'vitest';
import { ENGINES } from './engines.ts';

export function memory(): Store {
  const store = memoryStore();
  onTestFinished(() => store.close());
  return store;
}

export async function openStore(engine: string): Promise<Store> {
  if (engine === 'memory') return memory();
  const { open, remove } = await ENGINES[engine]!();
  const store = await open();
  onTestFinished(async () => {
    await store.close();
    await remove();
  });
  return store;
}

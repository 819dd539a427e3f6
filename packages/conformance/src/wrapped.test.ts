/** A wrapped store is a store: the kit on the memory store inside `retrying` and `instrument`. */
import { createMemoryStore, instrument, retrying } from '@tidemark/core';
import { afterAll, describe, it } from 'vitest';
import { registerConformance } from './register.ts';

const ignore = () => {};

registerConformance({ describe, it, afterAll }, 'The memory store, wrapped', () => {
  let now = Date.now();
  const clock = () => now;
  const logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  return {
    store: instrument(retrying(createMemoryStore({ clock })), { logger }),
    advance(ms) {
      now += ms;
    },
  };
});

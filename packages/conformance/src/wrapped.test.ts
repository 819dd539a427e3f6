/** A wrapped store is a store: the kit on the memory store inside `retrying` and `instrument`. */
import { createMemoryStore, instrument, retrying, type Store } from '@tidemark/core';
import { withCodec } from '@tidemark/core/engine';
import { afterAll, describe, it } from 'vitest';
import { registerConformance } from './register.ts';

const ignore = () => {};

registerConformance({ describe, it, afterAll }, 'The memory store, wrapped', () => {
  let now = Date.now();
  const clock = () => now;
  const logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  const wrapped = (store: Store) => instrument(retrying(store), { logger });
  const inner = createMemoryStore({ clock });
  return {
    store: wrapped(inner),
    withCodec: (codec) => wrapped(withCodec(inner, codec)!),
    advance(ms) {
      now += ms;
    },
  };
});

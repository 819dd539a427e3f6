/** The kit on the memory store inside `withRetries`, `withQuotas` and `withTelemetry`. */
import { memoryStore, type Store, withQuotas, withRetries, withTelemetry } from '@tidemark/core';
import { withCodec } from '@tidemark/core/engine';
import { afterAll, describe, it } from 'vitest';
import { registerConformance } from './register.ts';

const ignore = () => {};

registerConformance({ describe, it, afterAll }, 'The memory store, wrapped', () => {
  let now = Date.now();
  const clock = () => now;
  const logger = { debug: ignore, info: ignore, warn: ignore, error: ignore };
  // More than any case uses, so the wrapper counts and releases everything but refuses nothing.
  const quota = { eventsPerSecond: 1_000_000_000, runs: 1_000_000_000, bytes: 1_000_000_000_000 };
  const wrapped = (store: Store) =>
    withTelemetry(withQuotas(withRetries(store), { limits: {}, default: quota }), { logger });
  const inner = memoryStore({ clock });
  return {
    store: wrapped(inner),
    withCodec: (codec) => wrapped(withCodec(inner, codec)!),
    advance(ms) {
      now += ms;
    },
  };
});

/** The part of Redis that `resumable-stream` uses, in memory: the other side of the comparison. */
import type { Publisher, Subscriber } from 'resumable-stream/generic';

/** Returns a publisher and a subscriber that are connected with each other. */
export function memoryBroker(): { publisher: Publisher; subscriber: Subscriber } {
  const values = new Map<string, string>();
  const listeners = new Map<string, (message: string) => void>();
  const publisher: Publisher = {
    connect: async () => {},
    publish: async (channel, message) => {
      const listener = listeners.get(channel);
      await listener?.(message);
      return listener === undefined ? 0 : 1;
    },
    set: async (key, value) => {
      values.set(key, value);
      return 'OK';
    },
    get: async (key) => values.get(key) ?? null,
    incr: async (key) => {
      const next = Number(values.get(key) ?? '0') + 1;
      if (Number.isNaN(next)) throw new Error('ERR value is not an integer or out of range');
      values.set(key, String(next));
      return next;
    },
  };
  const subscriber: Subscriber = {
    connect: async () => {},
    subscribe: async (channel, callback) => {
      listeners.set(channel, callback);
    },
    unsubscribe: async (channel) => {
      listeners.delete(channel);
    },
  };
  return { publisher, subscriber };
}

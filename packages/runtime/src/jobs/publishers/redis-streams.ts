/** Signals as entries of Redis streams: `gbe:tasks:{type}:{kind}`, the signal as JSON in the field `signal`. */
import type { Publish } from '../signals.ts';

/** What is used of a Redis client: that of `@redis/client` fits. */
export interface RedisClientLike {
  sendCommand(args: string[]): Promise<unknown>;
}

/** A stream is cut to about `maxLength` entries as it grows. Default 10 000. */
export function redisStreamsPublisher(client: RedisClientLike, options: { maxLength?: number } = {}): Publish {
  const { maxLength = 10_000 } = options;
  return async (subject, signal) => {
    const stream = subject.replaceAll('.', ':');
    await client.sendCommand(['XADD', stream, 'MAXLEN', '~', String(maxLength), '*', 'signal', JSON.stringify(signal)]);
  };
}

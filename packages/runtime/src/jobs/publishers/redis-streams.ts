/** Signals as entries of Redis streams: `gbe:tasks:{type}:{kind}`, with the signal as JSON in the field `signal`. */
import type { Publish } from '../signals.ts';

/** The part of a Redis client that the publisher uses. `@redis/client` satisfies it. */
export interface RedisClientLike {
  sendCommand(args: string[]): Promise<unknown>;
}

/**
 * Creates a publisher to Redis streams. Each stream is trimmed to about `maxLength` entries. Default 10 000.
 *
 * @example
 * const client = { sendCommand: async (args: string[]) => args.length }; // in a program: await createClient().connect()
 * const sweeper = createSweeper({ store, publish: redisStreamsPublisher(client, { maxLength: 1_000 }) });
 * await sweeper.run();
 */
export function redisStreamsPublisher(client: RedisClientLike, options: { maxLength?: number } = {}): Publish {
  const { maxLength = 10_000 } = options;
  return async (subject, signal) => {
    const stream = subject.replaceAll('.', ':');
    await client.sendCommand(['XADD', stream, 'MAXLEN', '~', String(maxLength), '*', 'signal', JSON.stringify(signal)]);
  };
}

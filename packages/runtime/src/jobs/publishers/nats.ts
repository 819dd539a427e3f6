/** Signals as NATS messages on the given subject, as JSON. */
import type { Publish } from '../signals.ts';

/** The part of a NATS connection that the publisher uses. `@nats-io/transport-node` satisfies it. */
export interface NatsConnectionLike {
  publish(subject: string, payload: Uint8Array): void;
  /** Resolves once the server has received everything published before the call. */
  flush(): Promise<void>;
}

/**
 * Creates a publisher that sends each signal as a NATS message, with the signal as JSON.
 *
 * @example
 * const connection = { publish() {}, async flush() {} }; // in a program: await connect({ servers: 'localhost:4222' })
 * const sweeper = createSweeper({ store, publish: natsPublisher(connection) });
 * await sweeper.run();
 */
export function natsPublisher(connection: NatsConnectionLike): Publish {
  return async (subject, signal) => {
    connection.publish(subject, Buffer.from(JSON.stringify(signal)));
    await connection.flush();
  };
}

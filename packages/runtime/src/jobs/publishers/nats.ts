/** Signals as NATS messages on the given subject, as JSON. */
import type { Publish } from '../signals.ts';

/** The required part of a NATS connection. That of `@nats-io/transport-node` fits. */
export interface NatsConnectionLike {
  publish(subject: string, payload: Uint8Array): void;
  /** Resolves once the server has everything published before. */
  flush(): Promise<void>;
}

export function natsPublisher(connection: NatsConnectionLike): Publish {
  return async (subject, signal) => {
    connection.publish(subject, Buffer.from(JSON.stringify(signal)));
    await connection.flush();
  };
}

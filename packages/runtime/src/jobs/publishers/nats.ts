/** Signals as NATS messages: the subject as it is, the signal as JSON. */
import type { Publish } from '../signals.ts';

/** What is used of a NATS connection: that of `@nats-io/transport-node` fits. */
export interface NatsConnectionLike {
  publish(subject: string, payload: Uint8Array): void;
  /** Resolves once the server has all that was published before. */
  flush(): Promise<void>;
}

export function natsPublisher(connection: NatsConnectionLike): Publish {
  return async (subject, signal) => {
    connection.publish(subject, Buffer.from(JSON.stringify(signal)));
    await connection.flush();
  };
}

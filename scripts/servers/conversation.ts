/** A short exchange with a server over a plain socket: enough to find out whether it is up, without a driver. */

import { connect } from 'node:net';
import { connect as connectSecurely } from 'node:tls';

const TIMEOUT_MS = 3000;

export interface Conversation {
  send(data: string | Buffer): void;
  /** Reads until `understand` returns a value for the bytes received since the last reply. */
  receive<T>(understand: (received: Buffer) => T | undefined): Promise<T>;
}

/** Connects to the host and port of `url`, calls `talk`, and always closes the socket. */
export async function converse<T>(
  url: URL,
  defaultPort: number,
  talk: (conversation: Conversation) => Promise<T>,
): Promise<T> {
  const address = { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || defaultPort) };
  const socket = ['rediss:', 'tls:'].includes(url.protocol) ? connectSecurely(address) : connect(address);
  const broken = new Promise<never>((_, reject) => {
    socket.once('error', reject);
    socket.once('close', () => reject(new Error(`${url.host} closed the connection`)));
    socket.setTimeout(TIMEOUT_MS, () => reject(new Error(`${url.host} did not answer within ${TIMEOUT_MS} ms`)));
  });

  let received = Buffer.alloc(0);
  let look = () => {};
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk]);
    look();
  });
  const conversation: Conversation = {
    send: (data) => void socket.write(data),
    receive: (understand) =>
      new Promise((resolve, reject) => {
        look = () => {
          try {
            const answer = understand(received);
            if (answer === undefined) return;
            received = Buffer.alloc(0);
            resolve(answer);
          } catch (error) {
            reject(error);
          }
        };
        look();
      }),
  };
  try {
    return await Promise.race([talk(conversation), broken]);
  } finally {
    socket.destroy();
  }
}

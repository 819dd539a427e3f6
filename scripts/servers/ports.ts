/** Finds free TCP ports on 127.0.0.1. Another process may take one before it is used, so callers retry. */

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** Returns `count` different ports that were free a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const listeners = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(listeners.map((listener) => once(listener, 'listening')));
  const ports = listeners.map((listener) => (listener.address() as AddressInfo).port);
  await Promise.all(listeners.map((listener) => once(listener.close(), 'close')));
  return ports;
}

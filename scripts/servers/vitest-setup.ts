/**
 * Vitest's global set-up: starts the servers that `npm test` has not started, for example when vitest is run directly.
 */

import { announce, serversToStart, startServers, stopServers } from './index.ts';

export default async function setup(): Promise<() => Promise<void>> {
  const servers = await startServers(serversToStart());
  announce(servers);
  return () => stopServers(servers);
}

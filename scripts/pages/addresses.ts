/**
 * Replaces the server addresses in a page's code with those of real servers. Each program gets a separate schema or
 * prefix.
 */
import { memoryStore } from '@tidemark/core';
import { createServer } from '@tidemark/server';
import { neededServers, offeredUrl, type ServerName } from '../servers/index.ts';

/** The addresses used on pages, and the URL option that isolates a store. */
const SERVERS: Readonly<Record<ServerName, [address: RegExp, isolation: string]>> = {
  postgres: [/postgres:\/\/localhost\/app/g, 'schema'],
  redis: [/redis:\/\/localhost:6379/g, 'prefix'],
  nats: [/nats:\/\/localhost:4222/g, 'prefix'],
  dynamodb: [/dynamodb:\/\/eu-west-1\/app/g, 'prefix'],
};
/** The address of Tidemark's own server on every page. */
const SERVED_AT = 'http://127.0.0.1:7420';

/** Returns the servers of other vendors that the code connects to. */
function serversOf(code: string): ServerName[] {
  return (Object.keys(SERVERS) as ServerName[]).filter((name) => code.match(SERVERS[name][0]) !== null);
}

/** Returns whether all servers that the code connects to are available in this test run. */
export function hasServers(code: string): boolean {
  const available: readonly string[] = neededServers();
  return serversOf(code).every((name) => available.includes(name));
}

/** Returns the URL of a store on a running server that shares no data with any other. */
export function isolatedUrl(name: ServerName): string {
  const url = new URL(offeredUrl(name)!);
  url.searchParams.set(SERVERS[name][1], `page_${crypto.randomUUID().slice(0, 8)}`);
  return url.href;
}

/** Returns the code with the addresses of running servers. Each call gets stores that share no data with others. */
export function withRealAddresses(code: string): string {
  return serversOf(code).reduce((text, name) => text.replaceAll(SERVERS[name][0], isolatedUrl(name)), code);
}

/** Returns the code with real addresses, and a function that stops the server started for it. */
export async function withServers(code: string): Promise<{ code: string; stop: () => Promise<void> }> {
  const text = withRealAddresses(code);
  if (!text.includes(SERVED_AT)) return { code: text, stop: async () => {} };
  const store = memoryStore();
  const server = createServer({ store, logger: { info() {}, error() {} } });
  return {
    code: text.replaceAll(SERVED_AT, await server.listen()),
    async stop() {
      await server.close();
      await store.close();
    },
  };
}

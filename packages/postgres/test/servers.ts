/** Databases on any server, and the URLs to reach them. Also used outside tests. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';

/** Creates an empty database on a server and returns its URL. */
export async function createDatabase(server: string): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await withClient(server, (client) => client.query(`CREATE DATABASE ${name}`));
  return urlOfDatabase(server, name);
}

export async function dropDatabase(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await withClient(urlOfDatabase(url, 'postgres'), (client) => client.query(`DROP DATABASE ${name} WITH (FORCE)`));
}

export function urlOfDatabase(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** Returns the URL of the same database through a pooler or a proxy. */
export function through(url: string, way: string | number): string {
  const changed = new URL(url);
  changed.port = typeof way === 'number' ? String(way) : new URL(way).port;
  changed.hostname = '127.0.0.1';
  return changed.href;
}

/** Runs work with a plain client, which must not crash the process when the test stops its server. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url);
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}

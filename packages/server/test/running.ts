/** Servers with their own stores that are closed when the test ends, and plain requests to them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { httpStore } from '@tidemark/client';
import type { Store } from '@tidemark/core';
import { sqliteStore } from '@tidemark/sqlite';
import { onTestFinished } from 'vitest';
import { createServer, type ServerOptions, type TidemarkServer } from '../src/index.ts';

export { runEvent } from '../../../faults/run-event.ts';

/** Creates a directory that is removed when the test ends. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-server-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

export interface Running {
  store: Store;
  server: TidemarkServer;
  url: string;
  client: Store;
}

/** Starts a server on a new SQLite file, with a client. */
export async function startServer(options: Partial<ServerOptions> = {}): Promise<Running> {
  const store = options.store ?? (await sqliteStore(join(newFolder(), 'store.db')));
  const server = createServer({ store, ...options });
  const url = await server.listen();
  onTestFinished(async () => {
    await server.close();
    await store.close();
  });
  return { store, server, url, client: await connect(url) };
}

/** Opens a client that is closed when the test ends. */
async function connect(url: string): Promise<Store> {
  const client = await httpStore({ url, timeoutMs: 20_000 });
  onTestFinished(() => client.close());
  return client;
}

/** Sends a request with a JSON body and returns the response. */
export function send(
  url: string,
  method: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(url, { method, body: text, headers: { 'content-type': 'application/json', ...headers } });
}

/** Reads a live stream until it contains a string. */
export async function readUntil(stream: ReadableStream<Uint8Array>, wanted: string): Promise<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (!text.includes(wanted)) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`The stream ended before ${JSON.stringify(wanted)}: ${text}`);
    text += decoder.decode(value, { stream: true });
  }
  reader.releaseLock();
  return text;
}

/**
 * A server for the benchmark: Tidemark on a SQLite file or in memory; or a bare one that parses the same bodies and
 * stores nothing.
 */
import { createServer as createBareServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { memoryStore } from '@tidemark/core';
import { createServer } from '@tidemark/server';
import { sqliteStore } from '@tidemark/sqlite';

const [kind, path] = process.argv.slice(2);

/** The reply to an append, so that both servers send the same amount. */
const ANSWER = JSON.stringify({
  eventId: '00000000-0000-4000-8000-000000000000',
  runSeq: 1,
  persistedAt: '2026-01-01T00:00:00.000Z',
  idempotent: false,
  persisted: true,
});

function startBare(): Promise<string> {
  const server = createBareServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const event = JSON.parse(Buffer.concat(chunks).toString()) as { eventId?: string };
      response.writeHead(event.eventId ? 201 : 400, { 'content-type': 'application/json' }).end(ANSWER);
    });
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  });
}

const open = () => (path ? sqliteStore(path) : memoryStore());
const url = kind === 'bare' ? await startBare() : await createServer({ store: await open() }).listen();
console.log(url);

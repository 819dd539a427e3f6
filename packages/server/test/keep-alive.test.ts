/** A connection whose request was refused in the middle of its body serves the next request, even seconds later. */
import { Agent, request } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { startServer } from './running.ts';

const MEGABYTE = 1024 * 1024;
/** Longer than the server waits for more of a refused body. */
const QUIET_MS = 7_000;

it('serves the next request on a connection long after a body on it was rejected', async () => {
  const { url } = await startServer();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const ask = (method: string, path: string, type: string, body: Buffer | null) =>
    new Promise<{ status: number; port: number }>((resolve, reject) => {
      const length = body === null ? {} : { 'content-length': body.length };
      const sent = request(url + path, { method, agent, headers: { 'content-type': type, ...length } }, (answer) => {
        const port = answer.socket.localPort!;
        answer.resume().on('end', () => resolve({ status: answer.statusCode!, port }));
      });
      sent.on('error', reject).end(body ?? undefined);
    });
  const bodies = [
    ['POST', '/v1/events', 'application/x-ndjson', Buffer.alloc(3 * MEGABYTE, 'x')],
    ['POST', '/v1/kv-lookup', 'application/json', Buffer.from(`{"keys":[${'1,'.repeat(MEGABYTE)}1]}`)],
    ['POST', '/v1/kv-lookup', 'text/plain', Buffer.alloc(MEGABYTE)],
    ['GET', '/v1/runs/r/events', 'application/json', Buffer.alloc(MEGABYTE)],
  ] as const;
  const ports = new Set<number>();
  for (const [method, path, type, body] of bodies) ports.add((await ask(method, path, type, body)).port);
  await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
  const last = await ask('GET', '/healthz', 'application/json', null);
  expect(last.status).toBe(200);
  expect([...ports], 'all on one connection').toEqual([last.port]);
});

/**
 * One tenant that uses as much as it can, until its standard input ends. `--url --key --mode`; prints `ready` once it
 * has started, and at the end the statuses of its requests.
 */
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Sender } from './fairness-load.ts';
import { runEvent } from './run-event.ts';

const { values } = parseArgs({
  options: { url: { type: 'string' }, key: { type: 'string' }, mode: { type: 'string' } },
});
/** Lowers the priority in favour of the server and the polite tenants, because a real abuser has its own machine. */
const NICE = 15;
const STREAMS = 400;
const TOPICS = 50;
const POLLS = 600;
const PAUSE_MS = 20;

setPriority(NICE);
const { url, key, mode } = values as { url: string; key: string; mode: keyof typeof MODES };
const sender = new Sender(url, key, 1_000);
const statuses: Record<number, number> = {};
let isOver = false;

const event = (runId: string) => JSON.stringify({ ...runEvent(runId), tenantId: 'abuser' });

/** Repeats a request as fast as replies arrive. After a refusal it waits only briefly, like a badly written client. */
async function loop(ask: () => Promise<{ status: number }>): Promise<void> {
  while (!isOver) {
    const { status } = await ask();
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status >= 400 || status === 0) await sleep(PAUSE_MS);
  }
}

function loops(count: number, ask: (at: number) => Promise<{ status: number }>): void {
  for (let at = 0; at < count; at++) void loop(() => ask(at));
}

function openStream(at: number): void {
  const { hostname, port } = new URL(url);
  const topics = Array.from({ length: TOPICS }, (_, topic) => `runs/a-${at}-${topic}`).join(',');
  const socket = connect(Number(port), hostname, () =>
    socket.write(
      `GET /v1/stream?topics=${topics} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    ),
  );
  socket.once('data', (head) => {
    const status = Number(String(head).slice(9, 12));
    statuses[status] = (statuses[status] ?? 0) + 1;
  });
  socket.on('error', () => {});
  socket.resume();
}

/** A list of events of 8 MB, stored in one request. */
const largeBody = () => {
  const events = Array.from({ length: 80 }, (_, n) => ({
    ...runEvent(`large-${n % 8}`),
    tenantId: 'abuser',
    payload: { text: 'x'.repeat(100_000) },
  }));
  return JSON.stringify(events);
};
const bulk = Array.from({ length: 5_000 }, (_, n) => event(`bulk-${n % 50}`));
/** Uses new idempotency keys, so that every line is stored. */
const freshBulk = () =>
  bulk
    .map((line) => line.replace(/"idempotencyKey":"[^"]+"/, `"idempotencyKey":"${randomBytes(8).toString('hex')}"`))
    .join('\n');

const MODES = {
  streams: () => {
    for (let at = 0; at < STREAMS; at++) openStream(at);
    loops(4, () =>
      sender.send(
        'POST',
        '/v1/events',
        event(`a-${Math.floor(Math.random() * STREAMS)}-${Math.floor(Math.random() * TOPICS)}`),
      ),
    );
  },
  polls: () =>
    loops(POLLS, (at) =>
      sender.send('GET', `/v1/${at % 2 ? 'runs' : 'sessions'}/poll-${at}/${at % 2 ? 'events' : 'updates'}?wait=20s`),
    ),
  scans: () => loops(64, (at) => sender.send('GET', at % 2 ? '/v1/kv?limit=1000' : '/v1/runs?limit=1000')),
  bodies: () => loops(16, () => sender.send('POST', '/v1/events', largeBody())),
  bulk: () => loops(8, () => sender.send('POST', '/v1/events', freshBulk(), 'application/x-ndjson')),
  requests: () => loops(256, (at) => sender.send('POST', '/v1/events', event(`flood-${at}`))),
  keys: () =>
    loops(64, () =>
      new Sender(url, `tmk_${randomBytes(8).toString('hex')}.${randomBytes(32).toString('base64url')}`, 1).send(
        'GET',
        '/v1/runs',
      ),
    ),
};

MODES[mode]();
await sleep(500);
console.log('ready');
await new Promise((resolve) => process.stdin.resume().on('end', resolve));
isOver = true;
process.stdout.write(`${JSON.stringify(statuses)}\n`, () => process.exit(0));

/**
 * Sockets that hold resources of the server: readers of a stream that stop reading must not slow the others or make the
 * server grow, and thousands of unfinished requests must be cut while others are served. `--stalled 50 --slow 10000`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { runEvent } from './run-event.ts';
import { ServerProcess } from './server-process.ts';

const { values } = parseArgs({
  options: { stalled: { type: 'string', default: '50' }, slow: { type: 'string', default: '10000' } },
});
const READERS = 10;
const EVENTS = 2_000;
const BATCH = 50;
const PAYLOAD = { filler: 'x'.repeat(10_000) };
/** Noise of the machine. A server that waited for stalled readers would not finish at all. */
const MAX_TIMES_SLOWER = 2;
/** A server that buffered for its stalled readers would grow by 2 GB. */
const MAX_GROWTH_MB = 300;
const MAX_SLOW_MB = 300;
const AT_A_TIME = 100;
const MAX_ANSWER_MS = 5_000;
const CUT_MS = 40_000;

function open({ url }: ServerProcess, text: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(text);
      resolve(socket);
    });
    socket.on('error', reject);
  });
}

function streamOf(run: string, afterSeq = 0): string {
  return `GET /v1/runs/${run}/events?afterSeq=${afterSeq} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n`;
}

/** Resolves when the socket has received this many events. */
function eventsOf(socket: Socket, wanted: number): Promise<void> {
  let seen = 0;
  return new Promise((resolve) => {
    socket.setEncoding('latin1').on('data', (chunk) => {
      seen += String(chunk).split('event: run.event').length - 1;
      if (seen >= wanted) resolve();
    });
  });
}

/** Returns the seconds until every reader has received all events appended to a run. */
async function deliver(server: ServerProcess, run: string, afterSeq = 0): Promise<number> {
  const stream = streamOf(run, afterSeq);
  const readers = await Promise.all(Array.from({ length: READERS }, () => open(server, stream)));
  const all = readers.map((socket) => eventsOf(socket, EVENTS));
  const began = performance.now();
  for (let done = 0; done < EVENTS; done += BATCH) {
    const events = Array.from({ length: BATCH }, () => runEvent(run, undefined, PAYLOAD));
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${server.url}/v1/events`, { method: 'POST', headers, body: JSON.stringify(events) });
    if (!answer.ok) throw new Error(`An append was answered with ${answer.status}`);
    await answer.body?.cancel();
  }
  await Promise.all(all);
  for (const socket of readers) socket.destroy();
  return (performance.now() - began) / 1_000;
}

async function tryStalledReaders(server: ServerProcess): Promise<boolean> {
  await deliver(server, 'warm');
  const alone = await deliver(server, 'alone');
  const before = server.residentMb;
  const count = Number(values.stalled);
  const stalled = await Promise.all(Array.from({ length: count }, () => open(server, streamOf('watched'))));
  for (const socket of stalled) socket.pause();
  // At first they read what fits into their sockets, like other readers.
  await deliver(server, 'watched');
  const together = await deliver(server, 'watched', EVENTS);
  const grownMb = server.residentMb - before;
  for (const socket of stalled) socket.destroy();
  console.log(
    `server-stalls: ${EVENTS} events to ${READERS} readers in ${alone.toFixed(1)} s alone, ${together.toFixed(1)} s beside ` +
      `${count} stalled ones, ${Math.round(grownMb)} MB more`,
  );
  return together < alone * MAX_TIMES_SLOWER && grownMb < MAX_GROWTH_MB;
}

async function trySlowSockets(server: ServerProcess): Promise<boolean> {
  const count = Number(values.slow);
  const left = new Set<Socket>();
  let longestMs = 0;
  const ask = async () => {
    const began = performance.now();
    const { status } = await fetch(`${server.url}/readyz`);
    longestMs = Math.max(longestMs, performance.now() - began);
    if (status !== 200) throw new Error(`/readyz was answered with ${status}`);
  };
  let mostMb = 0;
  let opened = 0;
  for (; opened < count; opened += AT_A_TIME) {
    const text = 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ';
    for (const socket of await Promise.all(Array.from({ length: AT_A_TIME }, () => open(server, text)))) {
      left.add(socket);
      socket.resume().on('close', () => left.delete(socket));
    }
    await ask();
  }
  for (const limit = Date.now() + CUT_MS; left.size > 0 && Date.now() < limit; ) {
    mostMb = Math.max(mostMb, server.residentMb);
    await ask();
    await sleep(100);
  }
  console.log(
    `server-stalls: ${opened} slow sockets, ${left.size} left after their time, ${Math.round(mostMb)} MB at most, ` +
      `others answered within ${Math.round(longestMs)} ms`,
  );
  return left.size === 0 && mostMb < MAX_SLOW_MB && longestMs < MAX_ANSWER_MS;
}

const folder = mkdtempSync(join(tmpdir(), 'tidemark-stalls-'));
const path = join(folder, 'store.db');
let server = await ServerProcess.start(path);
try {
  const stalled = await tryStalledReaders(server);
  await server.kill();
  server = await ServerProcess.start(path);
  const slow = await trySlowSockets(server);
  process.exitCode = stalled && slow ? 0 : 1;
} finally {
  await server.kill();
  rmSync(folder, { recursive: true });
}

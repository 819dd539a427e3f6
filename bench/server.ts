/** The server against a bare one that parses the same bodies and stores nothing, and bulk against the store in process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sqliteStore } from '@tidemark/sqlite';
import { runEvent } from '../faults/run-event.ts';
import { SOURCE_FLAGS } from '../scripts/processes.ts';
import { atLeast, compareRates, type Figure, type Round } from './measure.ts';

const CONNECTIONS = 64;
const BATCH = 500;

export async function benchServer(report: (line: string) => void, quick: boolean): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
  const servers = await Promise.all([
    startServer('tidemark', join(folder, 'served.db')),
    startServer('bare'),
    startServer('tidemark'),
  ]);
  const store = await sqliteStore(join(folder, 'local.db'));
  try {
    const [ours, bare, inMemory] = servers;
    const [singles, bulk, rounds] = quick ? [4_000, 10_000, 3] : [20_000, 50_000, 7];
    report(`${singles} single events by ${CONNECTIONS} connections, ${rounds} rounds`);
    const single = await compareRates(postsTo(ours.url, singles), postsTo(bare.url, singles), rounds);
    const unstored = await compareRates(postsTo(inMemory.url, singles), postsTo(bare.url, singles), rounds);
    report(`${bulk} events as lines, ${rounds} rounds`);
    const inProcess: Round = () => {
      const events = someEvents(bulk);
      return async () => {
        for (let start = 0; start < bulk; start += BATCH)
          await store.runs.appendEvents(events.slice(start, start + BATCH));
        return bulk;
      };
    };
    const lines = await compareRates(linesTo(ours.url, bulk), inProcess, rounds);
    const posts = `POST of single events by ${CONNECTIONS} connections, against node:http alone`;
    return [
      atLeast(0.5, `${posts}, flushed to a SQLite file`, 'requests/s', single),
      atLeast(0.5, `${posts}, on the memory store`, 'requests/s', unstored),
      atLeast(0.6, 'NDJSON bulk, against the same store in process', 'events/s', lines),
    ];
  } finally {
    for (const { child } of servers) child.kill();
    await store.close();
    rmSync(folder, { recursive: true });
  }
}

interface RunningServer {
  url: string;
  child: ChildProcess;
}

function startServer(kind: string, path = ''): Promise<RunningServer> {
  const script = fileURLToPath(new URL('./server-child.ts', import.meta.url));
  const child = spawn(process.execPath, [...SOURCE_FLAGS, script, kind, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    child.stdout!.once('data', (text) => resolve({ url: String(text).trim(), child }));
    child.once('exit', (code) => reject(new Error(`The ${kind} server ended with ${code}`)));
  });
}

let rounds = 0;

function someEvents(count: number) {
  const round = ++rounds;
  return Array.from({ length: count }, (_, n) => runEvent(`run-${n % CONNECTIONS}`, `${round}-${n}`));
}

/** Each connection sends its next event when it has received the response to the previous one. */
export function postsTo(url: string, count: number): Round {
  return () => {
    const { host, hostname, port } = new URL(url);
    const requests = someEvents(count).map((event) => {
      const body = JSON.stringify(event);
      const head = `POST /v1/events HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`;
      return Buffer.from(head + body);
    });
    return async () => {
      const queue = requests.values();
      const sockets = Array.from({ length: CONNECTIONS }, () =>
        connect({ host: hostname, port: Number(port), noDelay: true }),
      );
      await Promise.all(sockets.map((socket) => sendAll(socket, queue)));
      return count;
    };
  };
}

async function sendAll(socket: Socket, queue: Iterator<Buffer>): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    let answer = '';
    const sendNext = () => {
      const { value, done } = queue.next();
      if (done) socket.end(resolve);
      else socket.write(value);
    };
    socket.setEncoding('latin1');
    socket.on('error', reject);
    socket.on('data', (text) => {
      answer += text;
      if (!isWhole(answer)) return;
      if (!answer.startsWith('HTTP/1.1 201')) reject(new Error(answer));
      answer = '';
      sendNext();
    });
    sendNext();
  });
}

function isWhole(answer: string): boolean {
  const end = answer.indexOf('\r\n\r\n');
  if (end < 0) return false;
  const length = /content-length: (\d+)/i.exec(answer)?.[1];
  return length === undefined ? answer.endsWith('0\r\n\r\n') : answer.length >= end + 4 + Number(length);
}

export function linesTo(url: string, count: number): Round {
  return () => {
    const body = someEvents(count)
      .map((event) => `${JSON.stringify(event)}\n`)
      .join('');
    return async () => {
      const headers = { 'content-type': 'application/x-ndjson' };
      const answer = await fetch(`${url}/v1/events`, { method: 'POST', body, headers });
      const stored = (await answer.text()).split('"persisted":true').length - 1;
      if (stored !== count) throw new Error(`${stored} of ${count} lines were stored`);
      return count;
    };
  };
}

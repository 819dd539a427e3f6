/**
 * 10 000 idle live streams on one server process: the process must stay below 400 MB and then deliver one event of each
 * run to every reader, once. `--streams 10000 --runs 1000 --idle 35`.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { runEvent } from './run-event.ts';
import { ServerProcess, Watcher } from './server-process.ts';

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '10000' },
    runs: { type: 'string', default: '1000' },
    idle: { type: 'string', default: '35' },
  },
});
const PROCESSES = 4;
const MAX_MB = 400;
const SPARE_FILES = 200;
const DELIVERY_MS = 60_000;

interface Found {
  events: number;
  least: number;
  most: number;
  cutOff: number;
}

const [streams, runs] = [Number(values.streams), Number(values.runs)];
const openFiles = Number(execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim());
if (openFiles < streams + SPARE_FILES) {
  console.error(`ulimit -n is ${openFiles}; ${streams} streams need ${streams + SPARE_FILES}`);
  process.exit(2);
}

async function openStreams(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return Number(/^tidemark_open_streams (\d+)$/m.exec(metrics)![1]);
}

async function appendToEach(url: string): Promise<void> {
  const events = Array.from({ length: runs }, (_, run) => JSON.stringify(runEvent(`run-${run}`)));
  const headers = { 'content-type': 'application/x-ndjson' };
  const answer = await fetch(`${url}/v1/events`, { method: 'POST', headers, body: events.join('\n') });
  await answer.text();
}

const folder = mkdtempSync(join(tmpdir(), 'tidemark-streams-'));
const server = await ServerProcess.start(join(folder, 'store.db'));
try {
  const emptyMb = server.residentMb;
  const began = performance.now();
  const share = ['--url', server.url, '--streams', String(Math.ceil(streams / PROCESSES)), '--runs', String(runs)];
  const readers = Array.from({ length: PROCESSES }, () => new Watcher<Found>('server-readers-child', share));
  await Promise.all(readers.map(({ ready }) => ready));
  const openMs = Math.round(performance.now() - began);
  const opened = await openStreams(server.url);
  let mostMb = 0;
  for (let second = 0; second < Number(values.idle); second++) {
    await sleep(1_000);
    mostMb = Math.max(mostMb, server.residentMb);
  }
  const stillOpen = await openStreams(server.url);
  const sent = performance.now();
  await appendToEach(server.url);
  const appendMs = Math.round(performance.now() - sent);
  await sleep(Math.min(DELIVERY_MS, 10_000 + 5 * appendMs));
  const found = await Promise.all(readers.map((reader) => reader.end()));
  const events = found.reduce((sum, it) => sum + it.events, 0);
  const isEachOnce = found.every(({ least, most, cutOff }) => least === 1 && most === 1 && cutOff === 0);
  console.log(
    `server-streams: ${opened} streams on ${runs} runs opened in ${openMs} ms, ${stillOpen} after ${values.idle} s, ` +
      `${Math.round(emptyMb)} MB empty, ${Math.round(mostMb)} MB at most; ${events} events delivered, ` +
      `${isEachOnce ? 'each reader received exactly one' : 'not every reader received exactly one'}`,
  );
  const isGood = opened >= streams && stillOpen >= streams && mostMb < MAX_MB && isEachOnce;
  process.exitCode = isGood ? 0 : 1;
} finally {
  await server.kill();
  rmSync(folder, { recursive: true });
}

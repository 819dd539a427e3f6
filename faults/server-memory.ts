/**
 * Callers attack a server with a small heap by filling its memory, one attack after the other, while another tenant
 * sends small requests. The process must survive, refuse with 413, 503 or another status below 500, and serve the other
 * tenant. `--heap 256`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { RolesServer } from './server-roles.ts';

const MEGABYTE = 1024 * 1024;
const ATTACK_MS = 120_000;
const AT_ONCE = 12;

interface Attack {
  name: string;
  role: string;
  path: string;
  type: string;
  method?: string;
  pieces(): Iterable<Buffer>;
}

const JSON_TYPE = 'application/json';
const LINES = 'application/x-ndjson';

function* times(piece: string, bytes: number): Generator<Buffer> {
  const block = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)));
  for (let sent = 0; sent < bytes; sent += block.length) yield block;
}

function* between(start: string, middle: Iterable<Buffer>, end: string): Generator<Buffer> {
  yield Buffer.from(start);
  yield* middle;
  yield Buffer.from(end);
}

function* fields(count: number): Generator<Buffer> {
  yield Buffer.from('{"fields":{');
  for (let n = 0; n < count; n += 1_000)
    yield Buffer.from(`${Array.from({ length: 1_000 }, (_, at) => `"f${n + at}":"x"`).join()},`);
  yield Buffer.from('"last":"x"}}');
}

const ATTACKS: readonly Attack[] = [
  {
    name: 'a lookup of 8 million wrong keys',
    role: 'reader',
    path: '/v1/kv-lookup',
    type: JSON_TYPE,
    pieces: () => between('{"keys":[', times('1,', 15 * MEGABYTE), '1]}'),
  },
  {
    name: 'a record of 900 000 fields',
    role: 'tenant',
    method: 'PUT',
    path: '/v1/kv/key',
    type: JSON_TYPE,
    pieces: () => fields(900_000),
  },
  {
    name: 'a line of 300 MB',
    role: 'admin',
    path: '/v1/restores',
    type: LINES,
    pieces: () => times('x', 300 * MEGABYTE),
  },
  {
    name: 'objects in a list without end',
    role: 'tenant',
    path: '/v1/events',
    type: JSON_TYPE,
    pieces: () => between('[', times('{},', 15 * MEGABYTE), '{}]'),
  },
  {
    name: 'lines of 2 MB without end',
    role: 'tenant',
    path: '/v1/events',
    type: LINES,
    pieces: () => times(`{"a":"${'x'.repeat(2 * MEGABYTE - 10)}"}\n`, 200 * MEGABYTE),
  },
  {
    name: 'chunks of one byte',
    role: 'reader',
    path: '/v1/kv-lookup',
    type: JSON_TYPE,
    pieces: function* () {
      for (let n = 0; n < 400_000; n++) yield Buffer.from(' ');
    },
  },
];

const { values } = parseArgs({ options: { heap: { type: 'string', default: '256' } } });
const folder = mkdtempSync(join(tmpdir(), 'tidemark-memory-'));
const server = await RolesServer.start(`sqlite:${join(folder, 'store.db')}`, Number(values.heap));
const problems: string[] = [];
try {
  for (const attack of ATTACKS) {
    const answers = await attackedBy(attack);
    const measures = await server.measure();
    if (!measures) {
      problems.push(`${attack.name}: the server is gone`);
      break;
    }
    const shown = [...answers.statuses].map(([status, count]) => `${count} × ${status}`).join(', ');
    console.log(
      `server-memory: ${attack.name}: ${shown} in ${answers.seconds.toFixed(1)} s, event loop late by ${measures.delayMs.most.toFixed(0)} ms at most, ` +
        `heap ${Math.round(measures.heapBytes / MEGABYTE)} MB, resident ${Math.round(measures.residentBytes / MEGABYTE)} MB`,
    );
    const wrong = [...answers.statuses.keys()].filter((status) => status >= 500 && status !== 503);
    if (wrong.length > 0) problems.push(`${attack.name}: answered with ${wrong.join(', ')}`);
    if (answers.refusedOthers > 0) problems.push(`${attack.name}: ${answers.refusedOthers} of others were refused`);
  }
} finally {
  await server.stop();
  rmSync(folder, { recursive: true });
}
for (const problem of problems) console.error(problem);
console.log(`server-memory: ${ATTACKS.length} attacks, ${problems.length} problems, heap of ${values.heap} MB`);
if (problems.length > 0) process.exitCode = 1;

/** Runs concurrent attacks while another caller sends small requests. */
async function attackedBy(attack: Attack) {
  const started = performance.now();
  const statuses = new Map<number, number>();
  let isOver = false;
  const attackers = Array.from({ length: AT_ONCE }, async () => {
    const status = await sendPieces(attack);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  });
  const polite = politeCaller(() => isOver);
  await Promise.all(attackers);
  isOver = true;
  return { statuses, seconds: (performance.now() - started) / 1_000, refusedOthers: await polite };
}

/**
 * Returns the number of its requests that were not served. Response times would measure this process, which is busy
 * with the attack.
 */
async function politeCaller(isOver: () => boolean): Promise<number> {
  const headers = { authorization: `Bearer ${server.tokens.operator}`, 'content-type': JSON_TYPE };
  let refused = 0;
  while (!isOver()) {
    const sent = { method: 'POST', headers, body: '{"keys":["a"]}' };
    const answer = await fetch(`${server.url}/v1/kv-lookup`, sent).catch(() => null);
    await answer?.text();
    if (answer?.status !== 200) refused++;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return refused;
}

/** Resolves with the status of the reply, or 0 if the connection was cut without one. */
function sendPieces({ role, path, type, method = 'POST', pieces }: Attack): Promise<number> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${server.tokens[role]}`, 'content-type': type };
    let isAnswered = false;
    const sent = request(server.url + path, { method, headers, timeout: ATTACK_MS }, (answer) => {
      isAnswered = true;
      answer.resume().on('close', () => resolve(answer.statusCode!));
    });
    sent.on('error', () => resolve(0)).on('timeout', () => sent.destroy());
    const iterator = pieces()[Symbol.iterator]();
    const more = (): void => {
      for (;;) {
        const next = isAnswered ? undefined : iterator.next();
        if (!next || next.done) return void sent.end();
        if (!sent.write(next.value)) return void sent.once('drain', more);
      }
    };
    more();
  });
}

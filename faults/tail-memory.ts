/**
 * Two readers, one of them slow, tail a run while 8 writers append to it: each must see every event once and in order,
 * and neither may grow by 50 MB. `--events 100000`.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { sqliteStore } from '@tidemark/sqlite';
import { SOURCE_FLAGS } from '../scripts/processes.ts';

const { values } = parseArgs({ options: { events: { type: 'string', default: '100000' } } });
const WRITERS = 8;
const MAX_MB = 50;

interface Seen {
  events: number;
  inOrder: boolean;
  grownMb: number;
}

function startReader(path: string, sleepMs: number): Promise<Seen> {
  const flags = ['--expose-gc', ...SOURCE_FLAGS];
  const args = ['--path', path, '--to', values.events, '--sleep-ms', String(sleepMs)];
  const child = spawn(process.execPath, [...flags, join(import.meta.dirname, 'tail-child.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => (output += text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) =>
      code === 0 ? resolve(JSON.parse(output)) : reject(new Error(`reader ended with ${code}`)),
    );
  });
}

const folder = mkdtempSync(join(tmpdir(), 'tidemark-tail-'));
const path = join(folder, 'store.db');
const store = await sqliteStore(path);
try {
  const readers = [startReader(path, 0), startReader(path, 500)];
  let left = Number(values.events);
  const write = async () => {
    const run = store.runs.handle('tailed');
    while (left-- > 0) await run.append('Progress', { left, filler: 'x'.repeat(200) });
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  const seen = await Promise.all(readers);
  for (const [at, it] of seen.entries()) console.log(`${at === 0 ? 'quick' : 'slow'} reader: ${JSON.stringify(it)}`);
  const isGood = (it: Seen) => it.events === Number(values.events) && it.inOrder && it.grownMb < MAX_MB;
  process.exitCode = seen.every(isGood) ? 0 : 1;
} finally {
  await store.close();
  rmSync(folder, { recursive: true });
}

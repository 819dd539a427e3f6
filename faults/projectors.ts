/**
 * Three projector processes behind 1 000 busy runs, written at a quarter of the engine's rate: measures their lag, how
 * much is folded twice, and whether every snapshot is right in the end. `--url sqlite:… --seconds 20`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Store } from '@tidemark/core';
import { open } from 'tidemark';
import { SOURCE_FLAGS } from '../scripts/processes.ts';

const { values } = parseArgs({ options: { url: { type: 'string' }, seconds: { type: 'string', default: '20' } } });
const [RUNS, CALLERS, PROJECTORS] = [1_000, 64, 3];
const [MAX_LAG_MS, MAX_REPEATED] = [1_000, 0.05];

const folder = mkdtempSync(join(tmpdir(), 'tidemark-projectors-'));
const url = values.url ?? `sqlite:${join(folder, 'store.db')}`;
const name = crypto.randomUUID().slice(0, 8);
let events = 0;

/** Appends for a time, at most `most` events per second. Returns the actual rate. */
async function append(store: Store, ms: number, most = Number.POSITIVE_INFINITY): Promise<number> {
  const [began, before] = [performance.now(), events];
  const write = async () => {
    while (performance.now() - began < ms) {
      if ((events - before) / ((performance.now() - began) / 1_000) > most) await sleep(2);
      else await store.runs.handle(`${name}-${events++ % RUNS}`).append('Progress', { at: events });
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, write));
  return (events - before) / ((performance.now() - began) / 1_000);
}

interface Outcome {
  folded: number;
  refreshed: number;
  median: number;
  worst: number;
}

class ProjectorProcess {
  readonly #child: ChildProcess;
  #output = '';

  constructor() {
    const script = join(import.meta.dirname, 'projector-child.ts');
    this.#child = spawn(process.execPath, [...SOURCE_FLAGS, script, '--url', url], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#child.stdout!.setEncoding('utf8').on('data', (text) => (this.#output += text));
  }

  async isReady(): Promise<void> {
    while (!this.#output.includes('ready')) await sleep(20);
  }

  async stop(): Promise<Outcome> {
    this.#child.kill('SIGTERM');
    await new Promise((resolve) => this.#child.once('close', resolve));
    return JSON.parse(this.#output.split('\n')[1]!);
  }
}

const store = await open(url);
try {
  const rate = await append(store, 3_000);
  console.error(`the engine takes ${Math.round(rate)} events/s; ${events} are there already`);
  const projectors = Array.from({ length: PROJECTORS }, () => new ProjectorProcess());
  await Promise.all(projectors.map((projector) => projector.isReady()));
  // Lag is only meaningful after they have caught up and divided the shards among them.
  await sleep(8_000);
  const before = await Promise.all(projectors.map((projector) => projector.stop()));
  const caughtUp = before.reduce((sum, it) => sum + it.folded, 0);
  const again = Array.from({ length: PROJECTORS }, () => new ProjectorProcess());
  await Promise.all(again.map((projector) => projector.isReady()));
  await sleep(4_000);
  const from = events;
  const kept = await append(store, Number(values.seconds) * 1_000, rate / 4);
  await sleep(2_000);
  const outcomes = await Promise.all(again.map((projector) => projector.stop()));
  const folded = outcomes.reduce((sum, it) => sum + it.folded, 0);
  let behind = 0;
  for (let at = 0; at < RUNS; at++) {
    const snapshot = await store.runs.getSnapshot(`${name}-${at}`);
    if (snapshot?.lastEventSeq !== (await store.runs.headSeq(`${name}-${at}`))) behind++;
  }
  const repeated = (folded + caughtUp) / events - 1;
  const worst = Math.max(...outcomes.map((it) => it.worst));
  console.log(
    `written at ${Math.round(kept)} of ${Math.round(rate)} events/s: ${events - from} events on ${RUNS} runs`,
  );
  console.log(
    `lag: median ${outcomes.map((it) => it.median).join(', ')} ms, worst ${worst} ms (asked: at most ${MAX_LAG_MS})`,
  );
  console.log(
    `folded again: ${(repeated * 100).toFixed(1)} % (asked: at most 5); snapshots behind in the end: ${behind}`,
  );
  process.exitCode = worst <= MAX_LAG_MS && repeated <= MAX_REPEATED && behind === 0 ? 0 : 1;
} finally {
  await store.close();
  rmSync(folder, { recursive: true });
}

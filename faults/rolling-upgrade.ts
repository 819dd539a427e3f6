/**
 * UPG-1: replaces the processes of a released version one after the other under load, on every engine, then raises the
 * marker of the store, while all of them write to the same runs and read them. No acknowledged event may be lost or
 * doubled, and before the marker is raised old processes must be able to read everything. `--release 0.1 --engines
 * sqlite,postgres,redis,nats --processes 3 --turn-ms 1500`.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Store } from '@tidemark/core';
import { open } from 'tidemark';
import { installRelease, RELEASES, releasedUrl } from '../scripts/compatibility/released.ts';
import { startOwnServer } from '../scripts/servers/index.ts';
import { WriterProcess } from './children.ts';
import { checkHistory } from './history.ts';
import { readLogs, readNotes, verifyRuns } from './notes.ts';

const { values } = parseArgs({
  options: {
    release: { type: 'string', default: '0.1' },
    engines: { type: 'string', default: 'sqlite,postgres,redis,nats' },
    processes: { type: 'string', default: '3' },
    'turn-ms': { type: 'string', default: '1500' },
  },
});

const RUNS = ['shared-1', 'shared-2', 'shared-3'];
/** Longer than a process takes to learn of the marker. */
const LEARN_MS = 8_000;

type EngineName = 'sqlite' | 'postgres' | 'redis' | 'nats';

const engines = values.engines.split(',') as EngineName[];
const processes = Number(values.processes);
const folder = mkdtempSync(join(tmpdir(), 'tidemark-rolling-'));
const release = installRelease(RELEASES[values.release as keyof typeof RELEASES]);

/** Counts the events of each chain format. */
async function countFormats(store: Store): Promise<{ first: number; second: number }> {
  const counts = { first: 0, second: 0 };
  for (const run of RUNS)
    for await (const { events } of store.forTenant('faults').runs.exportRun(run))
      for (const { chainFormat } of events) counts[chainFormat === undefined ? 'first' : 'second']++;
  return counts;
}

async function withStore<T>(url: string, options: { upgrade?: true }, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await open(url, { timeoutMs: 60_000, ...options });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

async function tryEngine(engine: EngineName, address: string): Promise<boolean> {
  const url = engine === 'sqlite' ? `sqlite:${address}` : address;
  const notes = join(folder, `${engine}.notes`);
  const start = async (isOld: boolean, name: string) => {
    const from = isOld ? releasedUrl(release, `@tidemark/${engine}`) : `@tidemark/${engine}`;
    const args = ['--from', from, '--url', address, '--name', name, '--runs', RUNS.join(',')];
    const writer = new WriterProcess('rolling-upgrade-child', args, notes);
    await writer.hasWritten(notes, statSync(notes, { throwIfNoEntry: false })?.size ?? 0);
    return writer;
  };
  const writers: WriterProcess[] = [];
  const problems: string[] = [];
  try {
    for (let at = 0; at < processes; at++) writers.push(await start(true, `old-${at}`));
    for (let at = 0; at < processes; at++) {
      await sleep(Number(values['turn-ms']));
      const old = writers[at]!;
      old.expectRunning();
      await old.stop();
      writers[at] = await start(false, `new-${at}`);
    }
    const sideBySide = await withStore(url, {}, countFormats);
    if (sideBySide.second > 0) problems.push(`${sideBySide.second} events had format 2 before the marker was raised`);
    await withStore(url, { upgrade: true }, async () => {});
    await sleep(LEARN_MS);
    for (const writer of writers) {
      writer.expectRunning();
      await writer.stop();
      if ((await writer.end()) !== 0) problems.push(`a writer failed: ${writer.errors}`);
    }
  } catch (error) {
    problems.push(String(error));
    for (const writer of writers) await writer.kill();
  }
  return withStore(url, {}, async (store) => {
    const logs = await readLogs(store, RUNS);
    const verdict = checkHistory(readNotes(notes), logs);
    problems.push(...verdict.problems.map(({ kind, run, message }) => `${kind}: ${run}: ${message}`));
    problems.push(...(await verifyRuns(store, logs)));
    const { first, second } = await countFormats(store);
    if (second === 0) problems.push('no event has format 2 after the marker was raised');
    for (const problem of problems) console.error(`${engine}: ${problem}`);
    const lost = verdict.problems.filter(({ kind }) => kind === 'lost').length;
    console.log(
      `rolling-upgrade: ${engine}: ${processes} processes of ${values.release} replaced, ${verdict.acked} acknowledged, ${lost} lost, ${first} events of format 1, ${second} of format 2, ${problems.length} problems`,
    );
    return problems.length === 0;
  });
}

try {
  for (const engine of engines) {
    const server = engine === 'sqlite' ? null : await startOwnServer(engine);
    try {
      if (!(await tryEngine(engine, server?.url ?? join(folder, 'store.db')))) process.exitCode = 1;
    } finally {
      await server?.stop();
    }
  }
} finally {
  rmSync(folder, { recursive: true });
}

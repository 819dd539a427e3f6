/**
 * `npm run bench -- attribution [memory] [sqlite] [postgres] [redis] [nats] [http]`: microseconds of CPU per operation
 * by stage, from V8's CPU profile of this process, and the CPU of the server's processes from `/proc`. A profile only
 * shows the share of each stage, so the shares are scaled to the CPU that the process really used. `--only append,set`
 * and `--seconds 5`.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import type { Store } from '@tidemark/core';
import { open } from 'tidemark';
import { SOURCE_FLAGS } from '../scripts/processes.ts';
import { type ServerName, startOwnServer } from '../scripts/servers/index.ts';
import { appendAll, makeEvents } from './events.ts';
import { cpuOfProcesses } from './processes.ts';
import { MEANINGS, STAGES, type Stage, stagesOf, type Window } from './stages.ts';

const RESULTS = new URL('./results/attribution.json', import.meta.url);
const CALLERS = 64;
const KEYS = 1_000;
const RUNS = 1_000;
const BATCH = 4_000;
const WARM_MS = 1_500;

interface Target {
  store: Store;
  /** The first process of the server. Absent for engines without a server. */
  pid?: number;
  close(): Promise<unknown>;
}

/** One row of the table. */
export interface Cost {
  engine: string;
  operation: string;
  /** Microseconds of CPU of this process per operation. */
  clientUs: number;
  /** Microseconds of CPU of the server's processes per operation; `null` without a server. */
  serverUs: number | null;
  stages: Record<Stage, number>;
}

/** Calls `work` `times` times, with 64 concurrent callers. */
async function repeat(times: number, work: (index: number) => Promise<unknown>): Promise<number> {
  let next = 0;
  const call = async () => {
    while (next < times) await work(next++);
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
  return times;
}

const keyOf = (index: number) => `state.${(index * 7_919) % KEYS}`;

let jobs = 0;

/** Each function prepares a batch of operations, and returns the function to measure. */
const OPERATIONS: Record<string, (store: Store) => Promise<() => Promise<number>>> = {
  async append(store) {
    const events = makeEvents(BATCH, (index) => `run-${index % RUNS}`);
    return () => appendAll((event) => store.runs.appendEvent(event), events, CALLERS);
  },
  async set(store) {
    return () => repeat(BATCH, (index) => store.kv.setField(keyOf(index), 'worker', `worker-${index}`));
  },
  async get(store) {
    return () => repeat(BATCH, (index) => store.kv.get(keyOf(index)));
  },
  async work(store) {
    const count = BATCH / 4;
    await repeat(count, () => store.jobs.enqueue({ taskType: 'bench', taskId: `job-${jobs++}` }));
    return () =>
      repeat(count, async () => {
        const claim = await store.jobs.claim({ taskType: 'bench' }, { worker: 'bench' });
        if (claim) await store.jobs.complete(claim);
      });
  },
};

async function openTarget(engine: string): Promise<Target> {
  if (engine === 'http') return openOverHttp();
  if (engine === 'memory' || engine === 'sqlite') {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-attribution-'));
    const store = await open(engine === 'memory' ? 'memory:' : `sqlite:${join(folder, 'store.db')}`);
    return { store, close: () => store.close().finally(() => rmSync(folder, { recursive: true })) };
  }
  const server = await startOwnServer(engine as ServerName);
  const store = await open(server.url, { timeoutMs: 30_000 });
  return { store, pid: server.started!.pid, close: () => store.close().finally(() => server.stop()) };
}

/** A server on a memory store, in a separate process. */
async function openOverHttp(): Promise<Target> {
  const args = [...SOURCE_FLAGS, join(import.meta.dirname, 'server-child.ts'), 'memory'];
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [url] = (await once(createInterface(child.stdout!), 'line')) as [string];
  const store = await open(url, { timeoutMs: 30_000 });
  const close = async () => {
    await store.close();
    child.kill();
  };
  return { store, pid: child.pid!, close };
}

const nowUs = () => Number(process.hrtime.bigint() / 1_000n);

/** Repeats batches for some time and returns their cost. */
async function measure(engine: string, operation: string, { store, pid }: Target, ms: number): Promise<Cost> {
  const prepare = () => OPERATIONS[operation]!(store);
  for (const until = performance.now() + WARM_MS; performance.now() < until; ) await (await prepare())();
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.setSamplingInterval', { interval: 500 });
  // Starting a profile takes as long as many operations, so one profile covers all batches.
  await session.post('Profiler.start');
  const windows: Window[] = [];
  let [count, clientUs, serverUs] = [0, 0, 0];
  for (const until = performance.now() + ms; performance.now() < until; ) {
    const batch = await prepare();
    const [cpu, ofServer] = [process.cpuUsage(), pid === undefined ? 0 : cpuOfProcesses(pid)];
    const from = nowUs();
    count += await batch();
    windows.push({ from, to: nowUs() });
    const { user, system } = process.cpuUsage(cpu);
    clientUs += user + system;
    if (pid !== undefined) serverUs += cpuOfProcesses(pid) - ofServer;
  }
  const { profile } = await session.post('Profiler.stop');
  const stages = stagesOf(profile, windows);
  session.disconnect();
  const sampled = Object.values(stages).reduce((sum, us) => sum + us, 0);
  for (const stage of STAGES) stages[stage] *= clientUs / sampled / count;
  return {
    engine,
    operation,
    clientUs: clientUs / count,
    serverUs: pid === undefined ? null : serverUs / count,
    stages,
  };
}

/** Formats the costs as a table in Markdown. */
export function formatCosts(costs: readonly Cost[]): string {
  const used = STAGES.filter((stage) => costs.some(({ stages }) => stages[stage] >= 0.05));
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const numbers = (values: readonly (number | null)[]) =>
    values.map((value) => (value === null ? '–' : value.toFixed(1)));
  return [
    row(['engine', 'operation', 'client', ...used, 'server']),
    row(['---', '---', ...Array(used.length + 2).fill('---:')]),
    ...costs.map(({ engine, operation, clientUs, serverUs, stages }) =>
      row([engine, operation, ...numbers([clientUs, ...used.map((stage) => stages[stage]), serverUs])]),
    ),
    '',
    ...used.map((stage) => `- ${stage}: ${MEANINGS[stage]}`),
  ].join('\n');
}

interface Choice {
  only: string;
  seconds: string;
}

async function measureEngine(engine: string, { only, seconds }: Choice): Promise<Cost[]> {
  const target = await openTarget(engine);
  const costs: Cost[] = [];
  try {
    for (const operation of only.split(',')) {
      console.error(`${engine}: ${operation}`);
      costs.push(await measure(engine, operation, target, Number(seconds) * 1_000));
    }
  } finally {
    await target.close();
  }
  return costs;
}

/**
 * Measures an engine in a separate process: in a heap that another engine has filled, garbage collection takes longer.
 */
async function inOwnProcess(engine: string, { only, seconds }: Choice): Promise<Cost[]> {
  const script = [join(import.meta.dirname, 'run.ts'), 'attribution', engine, '--only', only, '--seconds', seconds];
  const child = spawn(process.execPath, [...SOURCE_FLAGS, ...script], { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`The measurement of ${engine} failed; see its words above`);
  return (JSON.parse(readFileSync(RESULTS, 'utf8')) as { costs: Cost[] }).costs;
}

export async function attribute(args: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      only: { type: 'string', default: Object.keys(OPERATIONS).join(',') },
      seconds: { type: 'string', default: '3' },
    },
  });
  const engines = positionals.length > 0 ? positionals : ['memory', 'sqlite', 'postgres', 'redis', 'nats', 'http'];
  const unknown = values.only.split(',').find((it) => !(it in OPERATIONS));
  if (unknown !== undefined)
    throw new Error(`There is no operation ${unknown}; choose from ${Object.keys(OPERATIONS).join(', ')}`);
  const costs: Cost[] = [];
  for (const engine of engines) {
    const ofEngine = engines.length === 1 ? await measureEngine(engine, values) : await inOwnProcess(engine, values);
    costs.push(...ofEngine);
  }
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length, load: loadavg() };
  const at = new Date().toISOString();
  mkdirSync(new URL('.', RESULTS), { recursive: true });
  writeFileSync(RESULTS, `${JSON.stringify({ at, machine, costs }, null, 2)}\n`);
  console.log(
    `\nµs of CPU per operation, ${CALLERS} callers; ${at.slice(0, 10)}, ${machine.cores} cores, Node ${machine.node}, load ${machine.load[0]!.toFixed(1)}\n`,
  );
  console.log(formatCosts(costs));
}

/**
 * `npm run bench -- neighbours [postgres|redis] [--rounds 5]`: jobs and kv beside pg-boss, graphile-worker, BullMQ and
 * keyv on the same server, in interleaved rounds. Prints the ratio of rates (above 1: Tidemark is faster) and the CPU
 * of the client per operation. Install the neighbours first with `npm ci --prefix bench/neighbours`.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { open } from 'tidemark';
import { startOwnServer } from '../../scripts/servers/index.ts';
import { median } from '../measure.ts';
import {
  bullMq,
  graphileWorker,
  type JobsContender,
  type KvContender,
  keyv,
  pgBoss,
  tidemarkJobs,
  tidemarkKv,
} from './contenders.ts';

const CALLERS = 64;
const KEYS = 1_000;
/** Operations per round. */
const SIZES = { set: 4_000, get: 8_000, enqueue: 1_000, work64: 1_000, work8: 500, work1: 200 };
type Scenario = keyof typeof SIZES;
const WORKERS: Partial<Record<Scenario, number>> = { work64: 64, work8: 8, work1: 1 };

interface Cost {
  perSecond: number;
  cpuUs: number;
}

interface Result {
  scenario: Scenario;
  contender: string;
  /** Our rate divided by theirs, the median of rounds. */
  ratio: number;
  ours: Cost;
  theirs: Cost;
}

async function measure(count: number, work: () => Promise<unknown>): Promise<Cost> {
  const [cpu, started] = [process.cpuUsage(), performance.now()];
  await work();
  const seconds = (performance.now() - started) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: count / seconds, cpuUs: (user + system) / count };
}

async function repeat(times: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const call = async () => {
    while (next < times) await work(next++);
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
}

const keyOf = (index: number) => `state.${(index * 7_919) % KEYS}`;

function kvRound(scenario: Scenario, { set, get }: KvContender): Promise<Cost> {
  const count = SIZES[scenario];
  const work = (index: number) => (scenario === 'set' ? set(keyOf(index), `value-${index}`) : get(keyOf(index)));
  return measure(count, () => repeat(count, work));
}

let jobs = 0;

async function jobsRound(scenario: Scenario, { enqueue, work }: JobsContender): Promise<Cost> {
  const count = SIZES[scenario];
  const fill = () => repeat(count, () => enqueue(`job-${jobs++}`));
  const workers = WORKERS[scenario];
  if (workers !== undefined) {
    await fill();
    return measure(count, () => work(workers, count));
  }
  const cost = await measure(count, fill);
  // The next scenario begins with an empty queue.
  await work(CALLERS, count);
  return cost;
}

/** Measures the scenarios for ours and each of the others, in alternating rounds after one to warm up. */
async function compare<T extends { name: string }>(
  scenarios: readonly Scenario[],
  [ours, ...others]: readonly [T, ...T[]],
  round: (scenario: Scenario, contender: T) => Promise<Cost>,
  rounds: number,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const scenario of scenarios) {
    for (const other of others) {
      const costs: [Cost, Cost][] = [];
      for (let at = 0; at <= rounds; at++) costs.push([await round(scenario, ours), await round(scenario, other)]);
      const measured = costs.slice(1);
      const side = (which: 0 | 1): Cost => ({
        perSecond: median(measured.map((pair) => pair[which].perSecond)),
        cpuUs: median(measured.map((pair) => pair[which].cpuUs)),
      });
      const ratio = median(measured.map(([mine, theirs]) => mine.perSecond / theirs.perSecond));
      results.push({ scenario, contender: other.name, ratio, ours: side(0), theirs: side(1) });
      const { ours: us, theirs } = results.at(-1)!;
      console.log(
        `${scenario.padEnd(8)} ${ratio.toFixed(2).padStart(6)} × ${other.name.padEnd(16)}` +
          ` ${us.cpuUs.toFixed(0).padStart(5)} µs of CPU against ${theirs.cpuUs.toFixed(0)}`,
      );
    }
  }
  return results;
}

async function measureServer(name: 'postgres' | 'redis', rounds: number): Promise<Result[]> {
  const server = await startOwnServer(name);
  const kv: [KvContender, KvContender] = [tidemarkKv(await open(server.url)), await keyv(`@keyv/${name}`, server.url)];
  const others =
    name === 'redis' ? [await bullMq(server.url)] : [await pgBoss(server.url), await graphileWorker(server.url)];
  const queues: [JobsContender, ...JobsContender[]] = [tidemarkJobs(await open(server.url)), ...others];
  try {
    console.log(`\n${name} ${server.version}, ${CALLERS} callers; load ${loadavg()[0]!.toFixed(0)}`);
    return [
      ...(await compare(['set', 'get'], kv, kvRound, rounds)),
      ...(await compare(['enqueue', 'work64', 'work8', 'work1'], queues, jobsRound, rounds)),
    ];
  } finally {
    for (const contender of [...kv, ...queues]) await contender.close();
    // Some neighbours close their connections a moment later, and would end the process when the server is gone.
    await sleep(1_000);
    await server.stop();
  }
}

export async function compareWithNeighbours(args: string[]): Promise<void> {
  const options = { rounds: { type: 'string', default: '5' } } as const;
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
  const named = (['postgres', 'redis'] as const).filter((it) => positionals.length === 0 || positionals.includes(it));
  const results = new URL('../results/', import.meta.url);
  mkdirSync(results, { recursive: true });
  for (const name of named) {
    const figures = await measureServer(name, Number(values.rounds));
    const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length, load: loadavg() };
    const report = { at: new Date().toISOString(), machine, figures };
    writeFileSync(new URL(`neighbours-${name}.json`, results), `${JSON.stringify(report, null, 2)}\n`);
  }
}

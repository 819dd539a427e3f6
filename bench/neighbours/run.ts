/**
 * `npm run bench -- neighbours [postgres|redis]`: compares Tidemark with other libraries on the same server, in
 * alternating rounds in one process. Prints the ratio of rates (above 1: Tidemark is faster) and the CPU of the process
 * per operation. `--quick` takes about three minutes, `--rounds 5` sets the rounds, `--only append,set` the scenarios
 * and `--beside keyv` the neighbours. `--publish` then draws `docs/bench.svg` and the table of the README from the
 * stored results; with `--publish` alone nothing is measured. Install the neighbours first with
 * `npm ci --prefix bench/neighbours`.
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
  unstorage,
} from './contenders.ts';
import {
  type CheckpointsContender,
  type EventsContender,
  emmett,
  langgraphSaver,
  tidemarkCheckpoints,
  tidemarkEvents,
} from './event-contenders.ts';
import { publish, type Report, type Result } from './publish.ts';
import { type Kind, SCENARIOS, type Scenario } from './scenarios.ts';

const CALLERS = 64;
const KEYS = 1_000;
const READ_EVENTS = 1_000;
const BATCH = 100;
const WORKERS: Readonly<Record<string, number>> = { work64: 64, work8: 8, work1: 1 };

interface Contenders {
  kv: KvContender;
  jobs: JobsContender;
  events: EventsContender;
  checkpoints: CheckpointsContender;
}

type ServerName = 'postgres' | 'redis';

/** Opens our store and the neighbours of each kind. */
const OPEN: Record<ServerName, { [It in Kind]?: (url: string) => Promise<Contenders[It]>[] }> = {
  postgres: {
    events: (url) => [open(url).then(tidemarkEvents), emmett(url)],
    checkpoints: (url) => [open(url).then(tidemarkCheckpoints), langgraphSaver(url)],
    kv: (url) => [open(url).then(tidemarkKv), keyv('@keyv/postgres', url)],
    jobs: (url) => [open(url).then(tidemarkJobs), pgBoss(url), graphileWorker(url)],
  },
  redis: {
    kv: (url) => [open(url).then(tidemarkKv), keyv('@keyv/redis', url), unstorage(url)],
    jobs: (url) => [open(url).then(tidemarkJobs), bullMq(url)],
  },
};

interface Cost {
  perSecond: number;
  cpuUs: number;
}

async function measure(count: number, work: () => Promise<unknown>): Promise<Cost> {
  const [cpu, started] = [process.cpuUsage(), performance.now()];
  await work();
  const seconds = (performance.now() - started) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: count / seconds, cpuUs: (user + system) / count };
}

async function repeat(times: number, work: (index: number) => Promise<unknown>, callers = CALLERS): Promise<void> {
  let next = 0;
  const call = async () => {
    while (next < times) await work(next++);
  };
  await Promise.all(Array.from({ length: callers }, call));
}

const keyOf = (index: number) => `state.${(index * 7_919) % KEYS}`;

let made = 0;

/** Measures one round of a scenario. Everything it needs is prepared before the clock starts. */
const ROUNDS: { [It in Kind]: (scenario: Scenario, contender: Contenders[It]) => Promise<Cost> } = {
  kv({ id, count }, { set, get }) {
    const work = (index: number) => (id === 'set' ? set(keyOf(index), `value-${index}`) : get(keyOf(index)));
    return measure(count, () => repeat(count, work));
  },

  async jobs({ id, count }, { enqueue, work }) {
    const fill = () => repeat(count, () => enqueue(`job-${made++}`));
    const workers = WORKERS[id];
    if (workers !== undefined) {
      await fill();
      return measure(count, () => work(workers, count));
    }
    const cost = await measure(count, fill);
    // The next scenario begins with an empty queue.
    await work(CALLERS, count);
    return cost;
  },

  async events({ id, count }, { append, appendMany, read }) {
    const round = made++;
    if (id === 'append') return measure(count, () => repeat(count, (index) => append(`run-${index % KEYS}`)));
    if (id === 'hot') return measure(count, () => repeat(count, () => append(`hot-${round}`)));
    if (id === 'lone') return measure(count, () => repeat(count, (index) => append(`lone-${round}-${index % 10}`), 1));
    if (id === 'batch')
      return measure(count, () => repeat(count, (index) => appendMany(`batch-${round}-${index}`, BATCH), 1));
    for (let part = 0; part < READ_EVENTS / BATCH; part++) await appendMany(`read-${round}`, BATCH);
    return measure(count, () =>
      repeat(
        count,
        async () => {
          const found = await read(`read-${round}`);
          if (found !== READ_EVENTS) throw new Error(`${found} of ${READ_EVENTS} events were read`);
        },
        1,
      ),
    );
  },

  async checkpoints({ id, count }, { put, latest }) {
    const threadOf = (index: number) => `thread-${index % CALLERS}`;
    if (id === 'put') return measure(count, () => repeat(count, (index) => put(threadOf(index), made++)));
    return measure(count, () => repeat(count, (index) => latest(threadOf(index))));
  },
};

/** Measures a scenario for Tidemark and a neighbour, in alternating rounds after a warm-up round. */
async function compare<It extends Kind>(
  scenario: Scenario & { kind: It },
  ours: Contenders[It],
  other: Contenders[It],
  rounds: number,
): Promise<Result> {
  const round = ROUNDS[scenario.kind] as (scenario: Scenario, contender: Contenders[It]) => Promise<Cost>;
  const costs: [Cost, Cost][] = [];
  for (let at = 0; at <= rounds; at++) costs.push([await round(scenario, ours), await round(scenario, other)]);
  const measured = costs.slice(1);
  const side = (which: 0 | 1): Cost => ({
    perSecond: median(measured.map((pair) => pair[which].perSecond)),
    cpuUs: median(measured.map((pair) => pair[which].cpuUs)),
  });
  const ratios = measured.map(([mine, theirs]) => mine.perSecond / theirs.perSecond);
  const result: Result = {
    scenario: scenario.id,
    contender: other.name,
    ratio: median(ratios),
    spread: [Math.min(...ratios), Math.max(...ratios)],
    ours: side(0),
    theirs: side(1),
  };
  console.log(
    `${scenario.id.padEnd(8)} ${result.ratio.toFixed(2).padStart(6)} × ${other.name.padEnd(16)}` +
      ` ${result.ours.cpuUs.toFixed(0).padStart(5)} µs of CPU against ${result.theirs.cpuUs.toFixed(0)}`,
  );
  return result;
}

interface Choice {
  rounds: number;
  isQuick: boolean;
  only: readonly string[] | null;
  beside: readonly string[] | null;
}

async function measureServer(name: ServerName, { rounds, isQuick, only, beside }: Choice): Promise<Report> {
  const server = await startOwnServer(name);
  const title = `${name === 'postgres' ? 'PostgreSQL' : 'Redis'} ${server.version.split(' ')[0]}`;
  console.log(`\n${title}, ${CALLERS} callers; load ${loadavg()[0]!.toFixed(0)}`);
  const at = new Date().toISOString();
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length, load: loadavg() };
  const figures: Result[] = [];
  try {
    for (const [kind, openAll] of Object.entries(OPEN[name])) {
      const [ours, ...others] = (await Promise.all(openAll(server.url))) as Contenders[Kind][];
      for (const scenario of SCENARIOS) {
        if (scenario.kind !== kind || (only && !only.includes(scenario.id))) continue;
        const sized = isQuick ? { ...scenario, count: Math.ceil(scenario.count / 2) } : scenario;
        for (const other of others) {
          if (beside && !beside.includes(other.name)) continue;
          figures.push(await compare(sized as never, ours as never, other as never, rounds));
        }
      }
      for (const contender of [ours!, ...others]) await contender.close();
    }
  } finally {
    // Some neighbours close their connections a moment later. If the server were already gone, their errors would end
    // the process.
    await sleep(1_000);
    await server.stop();
  }
  return { at, server: title, machine, figures };
}

export async function compareWithNeighbours(args: string[]): Promise<void> {
  const options = {
    rounds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    beside: { type: 'string' },
    publish: { type: 'boolean', default: false },
  } as const;
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
  if (values.publish && args.length === 1) return publish();
  const named = (['postgres', 'redis'] as const).filter((it) => positionals.length === 0 || positionals.includes(it));
  const results = new URL('../results/', import.meta.url);
  mkdirSync(results, { recursive: true });
  const choice: Choice = {
    rounds: Number(values.rounds ?? (values.quick ? 3 : 7)),
    isQuick: values.quick,
    only: values.only?.split(',') ?? null,
    beside: values.beside?.split(',') ?? null,
  };
  for (const name of named) {
    const report = await measureServer(name, choice);
    writeFileSync(new URL(`neighbours-${name}.json`, results), `${JSON.stringify(report, null, 2)}\n`);
  }
  if (values.publish) publish();
}

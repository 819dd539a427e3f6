/**
 * `npm run bench -- growth`: how much slower appends, reads of the end of a run, reads of a snapshot, claims and sweeps
 * become on a store of a million events and 100 000 jobs than on one of 10 000 of each, compared with how much slower a
 * bare engine becomes. `--engines=sqlite,postgres,redis,nats`, `--events=10000000`, `--jobs=1000000`, and on Redis and
 * NATS `--runs=100000`. SQLite needs about 2 GB of disk per million events, in `TMPDIR`.
 */
import { parseArgs } from 'node:util';
import { atMost, type Figure, median, rateOf } from '../measure.ts';
import { cpuOfProcesses } from '../processes.ts';
import { natsSides, redisSides } from './keyed.ts';
import { postgresSides } from './postgres.ts';
import { OPERATIONS, type Operation, type Side, type Size } from './sides.ts';
import { type Sides, sqliteSides } from './sqlite.ts';

const ROUNDS = 15;
const MOST = 1.2;
const EVENTS_PER_RUN = 100;
const FEW = 10_000;
const FEW_RUNS = 1_000;

type Report = (line: string) => void;
type Open = (size: Size, report: Report) => Promise<Sides>;

const ENGINES: Record<string, { open: Open; isKeyed: boolean }> = {
  sqlite: { open: sqliteSides, isKeyed: false },
  postgres: { open: postgresSides, isKeyed: false },
  redis: { open: redisSides, isKeyed: true },
  nats: { open: natsSides, isKeyed: true },
};

export async function benchGrowth(report: Report, quick: boolean): Promise<Figure[]> {
  const number = { type: 'string' } as const;
  const options = { engines: number, events: number, jobs: number, runs: number };
  const { values } = parseArgs({ options, strict: false }) as { values: Record<string, string | undefined> };
  const events = Number(values.events ?? (quick ? 100_000 : 1_000_000));
  const jobs = Number(values.jobs ?? (quick ? 20_000 : 100_000));
  const runs = Number(values.runs ?? (quick ? 10_000 : 100_000));
  const figures: Figure[] = [];
  for (const engine of (values.engines ?? 'sqlite,postgres,redis,nats').split(',')) {
    const { open, isKeyed } = ENGINES[engine]!;
    const say: Report = (line) => report(`${engine}: ${line}`);
    const sizes = isKeyed
      ? [
          { runs: FEW_RUNS, busyRuns: FEW_RUNS, eventsPerRun: 2, jobs: FEW_RUNS },
          { runs, busyRuns: FEW_RUNS, eventsPerRun: 2, jobs: runs },
        ]
      : [sizeOf(FEW, FEW), sizeOf(events, jobs)];
    const scenario = (operation: Operation) => {
      const isOfJobs = operation === 'claim' || operation === 'sweep';
      const [few, many] = sizes.map((size) =>
        isOfJobs ? size.jobs : isKeyed ? size.runs : size.runs * EVENTS_PER_RUN,
      );
      return `${engine}: ${operation}, from ${few} to ${many} ${isOfJobs ? 'jobs' : isKeyed ? 'runs' : 'events'}`;
    };
    figures.push(...(await growthOf(open, sizes as [Size, Size], scenario, say)));
  }
  return figures;
}

function sizeOf(events: number, jobs: number): Size {
  const runs = events / EVENTS_PER_RUN;
  return { runs, busyRuns: runs, eventsPerRun: EVENTS_PER_RUN, jobs };
}

/** Fills a small and a large store, and compares how their costs differ with how those of the bare engine differ. */
async function growthOf(
  open: Open,
  [few, many]: [Size, Size],
  scenario: (operation: Operation) => string,
  report: Report,
): Promise<Figure[]> {
  const small = await open(few, report);
  const large = await open(many, report);
  try {
    const figures: Figure[] = [];
    for (const operation of OPERATIONS) {
      const costs = {
        ours: await measure(small.ours, large.ours, operation),
        bare: await measure(small.bare, large.bare, operation),
      };
      for (const unit of UNITS) {
        const ours = growth(costs.ours[unit]);
        // No engine becomes faster by having more data: less than 1 is noise.
        const raw = Math.max(1, growth(costs.bare[unit]));
        figures.push(atMost(MOST, `${scenario(operation)}, ${unit}`, '× slower', { ours, raw }));
        const words = (['ours', 'bare'] as const).map((who) => `${who} ${wordsOf(costs[who][unit])}`);
        report(`${operation} in µs of ${unit}: ${words.join(', ')}; ratio ${(ours / raw).toFixed(2)}`);
      }
    }
    return figures;
  } finally {
    await Promise.all([small.close(), large.close()]);
  }
}

/** Microseconds per unit of work on the small and on the large store. */
type Pair = readonly [small: number, large: number];

/** CPU is that of this process and of the server. On a busy machine only CPU says much. */
const UNITS = ['time', 'CPU'] as const;
type Unit = (typeof UNITS)[number];

/** Alternates between both stores. The first round is for compilation and caches. */
async function measure(small: Side, large: Side, operation: Operation): Promise<Record<Unit, Pair[]>> {
  const costs: Record<Unit, Pair[]> = { time: [], CPU: [] };
  for (let round = -1; round < ROUNDS; round++) {
    const found = { time: [0, 0], CPU: [0, 0] };
    for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const side = [small, large][at]!;
      const work = await side[operation]();
      let units = 0;
      let cpuUs = 0;
      const rate = await rateOf(() => async () => {
        cpuUs = -cpuOf(side);
        units = await work();
        cpuUs += cpuOf(side);
        return units;
      });
      found.time[at] = 1_000_000 / rate;
      found.CPU[at] = cpuUs / units;
    }
    if (round >= 0) for (const unit of UNITS) costs[unit].push(found[unit] as unknown as Pair);
  }
  return costs;
}

function cpuOf({ pid }: Side): number {
  const { user, system } = process.cpuUsage();
  return user + system + (pid === undefined ? 0 : cpuOfProcesses(pid));
}

function growth(pairs: readonly Pair[]): number {
  return median(pairs.map(([small, large]) => large / small));
}

function wordsOf(pairs: readonly Pair[]): string {
  const [small, large] = [0, 1].map((at) => median(pairs.map((pair) => pair[at]!)).toFixed(1));
  return `${small} → ${large} (${growth(pairs).toFixed(2)} times)`;
}

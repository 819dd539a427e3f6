/**
 * `npm run bench -- growth`: how much slower appends, reads of the end of a run, reads of a snapshot, claims and sweeps
 * become on a store of a million events and 100 000 jobs than on one of 10 000 of each, compared with how much slower a
 * bare engine becomes. `--engines=sqlite,postgres,redis,nats`, `--events=10000000`, `--jobs=1000000`, and on Redis and
 * NATS `--runs=100000`. SQLite needs about 2 GB of disk per million events, in `TMPDIR`.
 */
import { parseArgs } from 'node:util';
import { type Figure, median, rateOf } from '../measure.ts';
import { natsSides, redisSides } from './keyed.ts';
import { postgresSides } from './postgres.ts';
import { OPERATIONS, type Operation, type Size } from './sides.ts';
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
          { runs: FEW_RUNS, eventsPerRun: 2, jobs: FEW_RUNS },
          { runs, eventsPerRun: 2, jobs: runs },
        ]
      : [
          { runs: FEW / EVENTS_PER_RUN, eventsPerRun: EVENTS_PER_RUN, jobs: FEW },
          { runs: events / EVENTS_PER_RUN, eventsPerRun: EVENTS_PER_RUN, jobs },
        ];
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
      const figure = await compare(small, large, operation, report);
      figures.push({ scenario: scenario(operation), unit: '× slower', wanted: `≤ ${MOST}`, ...figure });
    }
    return figures;
  } finally {
    await Promise.all([small.close(), large.close()]);
  }
}

async function compare(
  small: Sides,
  large: Sides,
  operation: Operation,
  report: Report,
): Promise<Pick<Figure, 'ours' | 'raw' | 'ratio' | 'kept'>> {
  const costs = { ours: [] as [number, number][], bare: [] as [number, number][] };
  // The first round is for compilation and caches.
  for (let round = -1; round < ROUNDS; round++) {
    for (const who of ['ours', 'bare'] as const) {
      const pair: [number, number] = [0, 0];
      const order = round % 2 === 0 ? [0, 1] : [1, 0];
      for (const at of order) {
        const work = await [small, large][at]![who][operation]();
        pair[at] = 1_000_000 / (await rateOf(() => work));
      }
      if (round >= 0) costs[who].push(pair);
    }
  }
  const costOf = (who: 'ours' | 'bare', at: 0 | 1) => median(costs[who].map((pair) => pair[at]));
  const growth = (who: 'ours' | 'bare') => median(costs[who].map(([before, after]) => after / before));
  const words = (['ours', 'bare'] as const).map(
    (who) => `${who} ${costOf(who, 0).toFixed(1)} → ${costOf(who, 1).toFixed(1)} µs`,
  );
  const [ours, raw] = [growth('ours'), growth('bare')];
  const ratio = ours / raw;
  report(
    `${operation}: ${words.join(', ')}; growth ${ours.toFixed(2)} and ${raw.toFixed(2)}, ratio ${ratio.toFixed(2)}`,
  );
  return { ours, raw, ratio, kept: ratio <= MOST };
}

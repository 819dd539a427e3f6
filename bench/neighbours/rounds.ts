/** One round of each scenario, as every contender runs it. Its data is prepared before the clock starts. */
import { setTimeout as sleep } from 'node:timers/promises';
import { CALLERS, type Contenders, type EventsContender, repeat } from './kinds.ts';
import type { Kind, Scenario } from './scenarios.ts';

const KEYS = 1_000;
const READ_EVENTS = 1_000;
const SNAPSHOT_EVENTS = 100;
const BATCH = 100;
const OTHER_JOBS = 5_000;
const WORKERS: Readonly<Record<string, number>> = { work64: 64, work8: 8, work1: 1 };
/** How long a consumer that polls may take to start. */
const FOLLOW_STARTS_MS = 300;
/** Every fifth append repeats the key of an earlier one. */
const REPEATED = 5;

export interface Cost {
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

const keyOf = (index: number) => `state.${(index * 7_919) % KEYS}`;

/** A memory state of about 4 KB: a short conversation. */
const stateOf = (index: number, round: number) => ({
  summary: `state ${index} of round ${round}`,
  messages: Array.from({ length: 20 }, (_, at) => ({
    role: at % 2 === 0 ? 'user' : 'assistant',
    content: `message ${at}: ${'charging the card of a customer; '.repeat(4)}`,
  })),
});

let made = 0;

function expect(what: string, found: unknown, wanted: unknown): void {
  if (found !== wanted) throw new Error(`${what}: found ${found} instead of ${wanted}`);
}

/** Appends events that are there before the clock starts. */
async function fill({ append, appendMany }: EventsContender, runId: string, count: number): Promise<void> {
  if (!appendMany) return repeat(count, () => append(runId));
  for (let stored = 0; stored < count; stored += BATCH) await appendMany(runId, BATCH);
}

type EventsRound = (count: number, contender: EventsContender, runs: readonly string[]) => Promise<Cost>;

/** The rounds of events, with the runs that each of them appends to. */
const EVENTS: Readonly<Record<string, { runs: (round: number, count: number) => string[]; work: EventsRound }>> = {
  append: {
    runs: () => Array.from({ length: KEYS }, (_, index) => `run-${index}`),
    work: (count, { append }, runs) =>
      measure(count, () => repeat(count, (index) => append(runs[index % runs.length]!))),
  },
  hot: {
    runs: (round) => [`hot-${round}`],
    work: (count, { append }, [run]) => measure(count, () => repeat(count, () => append(run!))),
  },
  lone: {
    runs: (round) => Array.from({ length: 10 }, (_, index) => `lone-${round}-${index}`),
    work: (count, { append }, runs) =>
      measure(count, () => repeat(count, (index) => append(runs[index % runs.length]!), 1)),
  },
  batch: {
    runs: (round, count) => Array.from({ length: count }, (_, index) => `batch-${round}-${index}`),
    work: (count, { appendMany }, runs) =>
      measure(count, () => repeat(count, (index) => appendMany!(runs[index]!, BATCH), 1)),
  },
  repeated: {
    runs: () => Array.from({ length: KEYS }, (_, index) => `run-${index}`),
    async work(count, { appendOnce }, runs) {
      const keys = Array.from({ length: KEYS }, () => crypto.randomUUID());
      await repeat(KEYS, (index) => appendOnce!(runs[index % runs.length]!, keys[index]!));
      const work = (index: number) => {
        const run = runs[index % runs.length]!;
        return appendOnce!(run, index % REPEATED === 0 ? keys[index % KEYS]! : crypto.randomUUID());
      };
      return measure(count, () => repeat(count, work));
    },
  },
  read: {
    runs: (round) => [`read-${round}`],
    async work(count, contender, [run]) {
      await fill(contender, run!, READ_EVENTS);
      const work = async () => expect('events read', await contender.read!(run!), READ_EVENTS);
      return measure(count, () => repeat(count, work, 1));
    },
  },
  tail: {
    runs: (round) => [`tail-${round}`],
    async work(count, { append, follow, end }, [run]) {
      let received = () => {};
      const stop = await follow!(run!, () => received());
      await sleep(FOLLOW_STARTS_MS);
      const work = async () => {
        const { promise, resolve } = Promise.withResolvers<void>();
        received = resolve;
        await append(run!);
        await promise;
      };
      const cost = await measure(count, () => repeat(count, work, 1));
      await end?.([run!]);
      await stop();
      return cost;
    },
  },
  snapshot: {
    runs: (round) => [`snapshot-${round}`],
    async work(count, contender, [run]) {
      await fill(contender, run!, SNAPSHOT_EVENTS);
      await contender.project?.(run!);
      return measure(count, () => repeat(count, () => contender.snapshot!(run!)));
    },
  },
};

/** Measures a round. `maxRuns` is how many runs the weaker of both contenders can have open. */
export const ROUNDS: {
  [It in Kind]: (scenario: Scenario, contender: Contenders[It], maxRuns: number) => Promise<Cost>;
} = {
  async events({ id, count }, contender, maxRuns) {
    const { runs: runsOf, work } = EVENTS[id]!;
    const runs = runsOf(made++, count).slice(0, maxRuns);
    await contender.begin?.(runs);
    const cost = await work(count, contender, runs);
    // The round of `tail` has ended its run itself, before it stopped to follow.
    if (id !== 'tail') await contender.end?.(runs);
    return cost;
  },

  async checkpoints({ id, count }, { put, latest }) {
    const threadOf = (index: number) => `thread-${index % CALLERS}`;
    if (id === 'put') return measure(count, () => repeat(count, (index) => put(threadOf(index), made++)));
    return measure(count, () => repeat(count, (index) => latest(threadOf(index))));
  },

  async kv({ id, count }, { set, get, swap }) {
    // New values in every round: SQLite writes nothing for a value that is already stored.
    const round = made++;
    if (id === 'set') return measure(count, () => repeat(count, (index) => set(keyOf(index), `${round}-${index}`)));
    if (id === 'get') return measure(count, () => repeat(count, (index) => get(keyOf(index))));
    const values = Array.from({ length: KEYS }, () => 'start');
    const keyed = (index: number) => `swapped.${index % KEYS}`;
    await repeat(KEYS, (index) => set(keyed(index), 'start'));
    const work = async (index: number) => {
      const [expected, next] = [values[index % KEYS]!, `value-${index}`];
      values[index % KEYS] = next;
      expect('swapped', await swap!(keyed(index), expected, next), true);
    };
    return measure(count, () => repeat(count, work));
  },

  async jobs({ id, count }, { enqueue, work, abandon, sweep }) {
    if (id === 'sweep') {
      await abandon!(count, OTHER_JOBS);
      return measure(count, async () => expect('jobs returned to the queue', (await sweep!()) ?? count, count));
    }
    const fillQueue = () => repeat(count, () => enqueue!(`job-${made++}`));
    const workers = WORKERS[id];
    if (workers !== undefined) {
      await fillQueue();
      return measure(count, () => work!(workers, count));
    }
    const cost = await measure(count, fillQueue);
    // The next scenario begins with an empty queue.
    await work!(CALLERS, count);
    return cost;
  },

  async pauses({ count }, { roundTrip }) {
    const round = made++;
    const work = async (index: number) => {
      const payload = { index, reason: 'approval', prompt: 'charging the card of a customer' };
      const token = `pause-${round}-${index}-${crypto.randomUUID()}`;
      expect('pause consumed', (await roundTrip(token, payload)).index, index);
    };
    return measure(count, () => repeat(count, work));
  },

  async memory({ id, count }, { save, load }) {
    const round = made++;
    const keyed = (index: number) => `session-${index % KEYS}`;
    if (id === 'save') return measure(count, () => repeat(count, (index) => save(keyed(index), stateOf(index, round))));
    await repeat(KEYS, (index) => save(keyed(index), stateOf(index, round)));
    return measure(count, () => repeat(count, (index) => load(keyed(index))));
  },
};

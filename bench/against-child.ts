/**
 * One side of `npm run bench -- against REV`: runs the rounds it reads from standard input, in the process whose CPU is
 * measured. It is copied into the other revision's tree, so it uses only features that both have: `open`, appends, KV,
 * jobs and the server.
 */
import { createInterface } from 'node:readline';
import { createServer } from '@tidemark/server';
import { open } from 'tidemark';
import { appendAll, makeEvents } from './events.ts';

const CALLERS = 64;
const KEYS = 1_000;
const RUNS = 1_000;

const [workload = '', storeUrl = ''] = process.argv.slice(2);
const store = await open(storeUrl === '' ? 'memory:' : storeUrl);
const keyOf = (index: number) => `state.${(index * 7_919) % KEYS}`;

/** Calls `work` `times` times, with 64 concurrent callers. */
async function repeat(times: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const call = async () => {
    while (next < times) await work(next++);
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
}

let isFilled = false;
let jobs = 0;

const taskIdsOf = (units: number) => Array.from({ length: units }, () => `job-${jobs++}`);

/** Prepares jobs that `workers` loops claim and complete. */
async function jobsFor(units: number, workers: number): Promise<() => Promise<unknown>> {
  const taskIds = taskIdsOf(units);
  await repeat(units, (index) => store.jobs.enqueue({ taskType: 'bench', taskId: taskIds[index]! }));
  const work = async (worker: string) => {
    for (let ended = 0; ; ended++) {
      const claim = await store.jobs.claim({ taskType: 'bench' }, { worker });
      if (!claim) return ended;
      await store.jobs.complete(claim);
    }
  };
  return async () => {
    const ended = await Promise.all(Array.from({ length: workers }, (_, at) => work(`worker-${at}`)));
    const total = ended.reduce((sum, count) => sum + count, 0);
    if (total !== units) throw new Error(`${total} of ${units} jobs were completed`);
  };
}

/**
 * Prepares a round of a workload and returns the function to measure. `serve` has no such function, because its callers
 * are in the parent.
 */
const WORKLOADS: Record<string, (units: number) => Promise<() => Promise<unknown>>> = {
  async append(units) {
    const events = makeEvents(units, (index) => `run-${index % RUNS}`);
    return () => appendAll((event) => store.runs.appendEvent(event), events, CALLERS);
  },
  async set(units) {
    return () => repeat(units, (index) => store.kv.setField(keyOf(index), 'worker', `worker-${index}`));
  },
  async get(units) {
    if (!isFilled) await repeat(KEYS, (index) => store.kv.put(keyOf(index), { state: 'pending', worker: 'none' }));
    isFilled = true;
    return () => repeat(units, (index) => store.kv.get(keyOf(index)));
  },
  async put(units) {
    return () => repeat(units, (index) => store.kv.put(keyOf(index), { value: `value-${index}` }));
  },
  async enqueue(units) {
    const taskIds = taskIdsOf(units);
    return () => repeat(units, (index) => store.jobs.enqueue({ taskType: 'queue', taskId: taskIds[index]! }));
  },
  work: (units) => jobsFor(units, CALLERS),
  work8: (units) => jobsFor(units, 8),
  work1: (units) => jobsFor(units, 1),
};

const url = workload === 'serve' ? await createServer({ store }).listen() : '';
console.log(JSON.stringify({ url }));
for await (const line of createInterface({ input: process.stdin })) {
  const units = Number(line);
  // A positive number is the size of a round to run here. 0 requests the CPU used so far, before and after a round
  // driven from outside.
  const work = units === 0 ? null : await WORKLOADS[workload]!(units);
  const before = work ? process.cpuUsage() : undefined;
  await work?.();
  const { user, system } = process.cpuUsage(before);
  console.log(JSON.stringify({ cpuUs: user + system }));
}
await store.close();
process.exit();

/**
 * One side of `npm run bench -- against REV`: runs the rounds it reads from standard input, in the process whose CPU is
 * measured. It is copied into the other revision's tree, so it uses only what both have: `open`, appends, KV and the
 * server.
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

/**
 * Prepares a round of a workload and returns the function to measure. `serve` has none: its callers are in the parent.
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
};

const url = workload === 'serve' ? await createServer({ store }).listen() : '';
console.log(JSON.stringify({ url }));
for await (const line of createInterface({ input: process.stdin })) {
  const units = Number(line);
  // A number is a round to run here. 0 asks for the CPU used so far, before and after a round driven from outside.
  const work = units === 0 ? null : await WORKLOADS[workload]!(units);
  const before = work ? process.cpuUsage() : undefined;
  await work?.();
  const { user, system } = process.cpuUsage(before);
  console.log(JSON.stringify({ cpuUs: user + system }));
}
await store.close();
process.exit();

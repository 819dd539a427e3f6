/**
 * F14: moves slots between the masters of a Redis Cluster, key by key, and fails masters over to their replicas, with
 * one client that stays open. No acknowledged write may be lost or applied twice. Calls may fail if they can be
 * retried. `--rounds 20 --seed N --callers 16`.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { isTidemarkError, type Store } from '@tidemark/core';
import { redisStore } from '@tidemark/redis';
import { type RunningCluster, startRedisCluster } from '../scripts/servers/redis-cluster.ts';
import { Counters } from './counters.ts';
import { checkHistory, type Note, type Problem, type Write } from './history.ts';
import { eventOf, readLogs, verifyRuns } from './notes.ts';
import { newSeed, Random } from './random.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(newSeed()) },
    callers: { type: 'string', default: '16' },
  },
});

const RUNS = 12;
const BUCKETS = 16;
const KEYS_AT_ONCE = 5;
const FAILOVER_LIMIT_MS = 60_000;
const ASK_AGAIN_MS = 6_000;
const AGREE_LIMIT_MS = 20_000;
/** How long the client may take to write to every run again after a fault. */
const RECOVERY_LIMIT_MS = 10_000;

const rounds = Number(values.rounds);
const random = new Random(Number(values.seed));
const notes: Note[] = [];
const other: string[] = [];
let unknown = 0;
let rejected = 0;
let migrations = 0;
let failovers = 0;
let ended = false;

const pause = () => sleep(random.between(5, 50));

/** Retries a write with the same key until it is acknowledged. */
async function writeUntilAcked(store: Store, write: Write): Promise<void> {
  for (;;) {
    notes.push({ kind: 'sent', ...write });
    try {
      const { runSeq } = await store.runs.appendEvent(eventOf(write));
      notes.push({ kind: 'acked', ...write, runSeq });
      return;
    } catch (error) {
      if (!isTidemarkError(error) || !error.retryable) {
        other.push(`an append failed with ${isTidemarkError(error) ? error.code : 'no TidemarkError'}: ${error}`);
        return;
      }
      if (error.outcome === 'unknown') unknown++;
      else rejected++;
      notes.push({ kind: error.outcome === 'unknown' ? 'unknown' : 'rejected', ...write, code: error.code });
    }
    await pause();
  }
}

async function call(store: Store, counters: Counters, caller: number): Promise<void> {
  for (let count = 0; !ended; count++) {
    const run = count % 4 === 0 ? 'hot' : `run-${(caller + count) % RUNS}`;
    await writeUntilAcked(store, { run, key: `${caller}.${count}`, eventId: randomUUID() });
    await counters.raise(`counter.${caller}`, true, pause);
    await counters.raise('counter.shared', false, pause);
  }
}

interface Node {
  id: string;
  port: number;
  isMaster: boolean;
  masterId: string;
  slots: [number, number][];
}

/** Returns the nodes once all of them agree, which takes a moment after a failover. */
async function nodesOf(cluster: RunningCluster): Promise<Node[]> {
  const limit = performance.now() + AGREE_LIMIT_MS;
  for (;;) {
    const views = await Promise.all(cluster.nodes.map(({ url }) => viewOf(cluster, Number(new URL(url).port))));
    const seen = new Set(views.map((view) => JSON.stringify(view)));
    if (seen.size === 1) return views[0]!;
    if (performance.now() > limit) throw new Error(`The nodes do not agree: ${[...seen].join('; ')}`);
    await sleep(50);
  }
}

/** Returns the nodes as one of them sees them: `id host:port@bus flags master … slots`. */
async function viewOf(cluster: RunningCluster, port: number): Promise<Node[]> {
  const text = await cluster.cli(port, 'CLUSTER', 'NODES');
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const [id, address, flags, masterId, , , , , ...slots] = line.trim().split(' ');
      const port = Number(/:(\d+)@/.exec(address!)![1]);
      const ranges = slots.filter((slot) => !slot.startsWith('[')).map((range) => range.split('-').map(Number));
      return {
        id: id!,
        port,
        isMaster: flags!.includes('master'),
        masterId: masterId!,
        slots: ranges.map(([first, last]): [number, number] => [first!, last ?? first!]),
      };
    })
    .sort((a, b) => a.port - b.port);
}

/** Moves the slot of a bucket to another master, a few keys at a time, while callers continue. */
async function migrate(cluster: RunningCluster): Promise<void> {
  const masters = (await nodesOf(cluster)).filter(({ isMaster, slots }) => isMaster && slots.length > 0);
  const key = `tidemark:{b${String(random.between(0, BUCKETS)).padStart(2, '0')}}:`;
  const slot = (await cluster.cli(masters[0]!.port, 'CLUSTER', 'KEYSLOT', key)).trim();
  const owns = ({ slots }: Node) => slots.some(([first, last]) => Number(slot) >= first && Number(slot) <= last);
  const from = masters.find(owns)!;
  const others = masters.filter((node) => node !== from);
  const to = random.pick(others);
  await cluster.cli(to.port, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id);
  await cluster.cli(from.port, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id);
  for (;;) {
    const keys = await cluster.cli(from.port, '--json', 'CLUSTER', 'GETKEYSINSLOT', slot, String(KEYS_AT_ONCE));
    const names = JSON.parse(keys) as string[];
    if (names.length === 0) break;
    await cluster.cli(from.port, 'MIGRATE', '127.0.0.1', String(to.port), '', '0', '5000', 'KEYS', ...names);
  }
  for (const { port } of [to, from, ...others]) await cluster.cli(port, 'CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
  migrations++;
}

/** Makes a replica the master with the master's consent: it waits until the replica has everything. */
async function failOver(cluster: RunningCluster): Promise<void> {
  const nodes = await nodesOf(cluster);
  const replicas = nodes.filter(({ isMaster }) => !isMaster);
  const replica = random.pick(replicas);
  const limit = performance.now() + FAILOVER_LIMIT_MS;
  for (let asked = 0; ; await sleep(50)) {
    if ((await nodesOf(cluster)).find(({ id }) => id === replica.id)!.isMaster) break;
    if (performance.now() > limit) throw new Error('The failover did not happen');
    // A replica that cannot catch up in time abandons the failover.
    if (asked > 0 && performance.now() - asked < ASK_AGAIN_MS) continue;
    asked = performance.now();
    await cluster.cli(replica.port, 'CLUSTER', 'FAILOVER');
  }
  failovers++;
}

/** Waits until every run was written to again. */
async function untilAllRunsAcked(): Promise<void> {
  const from = notes.length;
  const limit = performance.now() + RECOVERY_LIMIT_MS;
  const wanted = RUNS + 1;
  for (;;) {
    const written = new Set(notes.slice(from).flatMap((note) => (note.kind === 'acked' ? [note.run] : [])));
    if (written.size >= wanted || other.length > 0) return;
    if (performance.now() > limit) {
      other.push(`${RECOVERY_LIMIT_MS} ms after a fault only ${written.size} of ${wanted} runs could be written to`);
      return;
    }
    await sleep(20);
  }
}

const began = performance.now();
process.on('uncaughtException', (error) => {
  console.error('The process would have crashed:', error);
  process.exit(1);
});
const cluster = await startRedisCluster({ replicas: 1 });
try {
  const store = await redisStore({ url: cluster.url, buckets: BUCKETS });
  const counters = new Counters(store);
  const callers = Array.from({ length: Number(values.callers) }, (_, caller) => call(store, counters, caller));
  let done = 0;
  for (; done < rounds && other.length === 0; done++) {
    await untilAllRunsAcked();
    await (done % 2 === 0 ? migrate(cluster) : failOver(cluster));
  }
  await untilAllRunsAcked();
  ended = true;
  await Promise.all(callers);
  const logs = await readLogs(store, new Set(notes.map(({ run }) => run)));
  const verdict = checkHistory(notes, logs);
  await counters.check();
  const wrong = [
    ...verdict.problems.map(({ kind, run, message }) => `${kind}: ${run}: ${message}`),
    ...other,
    ...counters.problems,
    ...(await verifyRuns(store, logs)),
  ];
  for (const sentence of wrong.slice(0, 20)) console.error(sentence);
  const count = (kind: Problem['kind']) => verdict.problems.filter((it) => it.kind === kind).length;
  console.log(
    `redis-cluster: ${migrations} migrations, ${failovers} failovers, ${verdict.acked} acked, ${counters.swapped} swapped, ` +
      `${unknown} unknown, ${rejected} rejected, ${count('lost')} lost, ${count('duplicated')} duplicated, ` +
      `${wrong.length} problems, ${Math.round((performance.now() - began) / 1000)} s, seed ${values.seed}`,
  );
  if (wrong.length > 0 || verdict.acked === 0) process.exitCode = 1;
  await store.close();
} finally {
  await cluster.stop();
}

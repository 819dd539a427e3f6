/**
 * Kills NATS servers with SIGKILL under load, round after round, with one client that stays open: the only server,
 * which restarts, or in a cluster the leader of the runs stream. Every acknowledged event and swap must be stored once,
 * and the client must recover automatically. `--rounds 10 --seed N --callers 16 --nodes 1|3 --version installed|2.10`.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { isTidemarkError, type Store } from '@tidemark/core';
import { natsStore } from '@tidemark/nats';
import { startOwnServer } from '../scripts/servers/index.ts';
import { startNatsCluster } from '../scripts/servers/nats-cluster.ts';
import type { NatsVersion } from '../scripts/servers/nats-versions.ts';
import { checkHistory, type Note, type Problem, type Write } from './history.ts';
import { eventOf, readLogs, verifyRuns } from './notes.ts';
import { newSeed, Random } from './random.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(newSeed()) },
    callers: { type: 'string', default: '16' },
    nodes: { type: 'string' },
    version: { type: 'string', default: 'installed' },
  },
});

const MAX_DELAY_MS = 1_000;
const RUNS = 8;
/** How long the client may take to write again. A cluster elects a new leader first. */
const RECOVERY_LIMIT_MS = 30_000;

/** The servers under test. */
interface Servers {
  title: string;
  url: string;
  /** Kills the only server, or the leader of a cluster, and returns a function that restarts it. */
  kill(): Promise<() => Promise<void>>;
  stop(): Promise<void>;
}

async function single(): Promise<Servers> {
  const server = await startOwnServer('nats');
  const kill = async () => {
    await server.kill!();
    return () => server.revive!();
  };
  return { title: 'one server', url: server.url, kill, stop: () => server.stop() };
}

async function cluster(): Promise<Servers> {
  const started = await startNatsCluster(values.version as NatsVersion);
  const kill = async () => {
    const at = await leaderOf(started.monitoring);
    await started.nodes[at]!.kill!();
    return async () => {
      await started.nodes[at]!.revive!();
      await started.healthy();
    };
  };
  return { title: 'a cluster of three', url: started.url, kill, stop: () => started.stop() };
}

/** Returns the node that leads the runs stream, according to a node that is up. */
async function leaderOf(monitoring: readonly string[]): Promise<number> {
  for (;;) {
    for (const address of monitoring) {
      const answer = await fetch(`${address}/jsz?streams=true`).catch(() => null);
      const { account_details: accounts } = ((await answer?.json()) ?? {}) as {
        account_details?: { stream_detail?: { name: string; cluster?: { leader?: string } }[] }[];
      };
      const stream = accounts?.flatMap((it) => it.stream_detail ?? []).find(({ name }) => name === 'tidemark-runs');
      const leader = /^n(\d)$/.exec(stream?.cluster?.leader ?? '')?.[1];
      if (leader !== undefined) return Number(leader) - 1;
    }
    await sleep(100);
  }
}

/** One trial on some servers. */
class Trial {
  readonly #store: Store;
  readonly #random: Random;
  readonly notes: Note[] = [];
  readonly problems: string[] = [];
  readonly swaps = new Map<string, number>();
  acked = 0;
  unknown = 0;
  rejected = 0;
  longestGapMs = 0;
  ended = false;

  constructor(store: Store, random: Random) {
    this.#store = store;
    this.#random = random;
  }

  /** Retries the same call until it is acknowledged. */
  async #untilAcked<T>(
    send: () => Promise<T>,
    note: (kind: 'sent' | 'unknown' | 'rejected', code: string) => void,
  ): Promise<T> {
    for (;;) {
      note('sent', '');
      try {
        return await send();
      } catch (error) {
        if (!isTidemarkError(error) || !error.retryable) throw error;
        const kind = error.outcome === 'unknown' ? 'unknown' : 'rejected';
        this[kind]++;
        note(kind, error.code);
      }
      await sleep(this.#random.between(5, 50));
    }
  }

  async #append(write: Write): Promise<void> {
    const { runSeq } = await this.#untilAcked(
      () => this.#store.runs.appendEvent(eventOf(write)),
      (kind, code) => this.notes.push(kind === 'sent' ? { kind, ...write } : { kind, ...write, code }),
    );
    this.notes.push({ kind: 'acked', ...write, runSeq });
    this.acked++;
  }

  /** Increments a field, each step with its own request id. */
  async #swap(key: string, count: number): Promise<void> {
    const requestId = randomUUID();
    const expected = count === 1 ? null : String(count - 1);
    const swapped = await this.#untilAcked(
      () => this.#store.kv.compareAndSwap(key, 'count', expected, String(count), { requestId }),
      () => {},
    );
    if (!swapped) this.problems.push(`${key} was not at ${expected}, where it had been acknowledged to be`);
    this.swaps.set(key, count);
  }

  async call(caller: number): Promise<void> {
    try {
      for (let count = 1; !this.ended && this.problems.length === 0; count++) {
        const run = count % 3 === 0 ? 'hot' : `run-${(caller + count) % RUNS}`;
        await this.#append({ run, key: `${caller}.${count}`, eventId: randomUUID() });
        await this.#swap(`counter.${caller}`, count);
      }
    } catch (error) {
      this.problems.push(`a call failed with ${isTidemarkError(error) ? error.code : 'no TidemarkError'}: ${error}`);
    }
  }

  /** Waits for a new acknowledgement. */
  async progress(): Promise<void> {
    const [before, began] = [this.acked, performance.now()];
    while (this.acked <= before && this.problems.length === 0) {
      if (performance.now() - began > RECOVERY_LIMIT_MS)
        this.problems.push(`nothing was acknowledged for ${RECOVERY_LIMIT_MS} ms`);
      await sleep(10);
    }
    this.longestGapMs = Math.max(this.longestGapMs, performance.now() - began);
  }

  async check(): Promise<Problem[]> {
    const logs = await readLogs(this.#store, new Set(this.notes.map(({ run }) => run)));
    this.problems.push(...(await verifyRuns(this.#store, logs)));
    for (const [key, count] of this.swaps) {
      const stored = Buffer.from((await this.#store.kv.get(key))?.fields.count ?? '').toString();
      if (stored !== String(count)) this.problems.push(`${key} was acknowledged at ${count} and stands at ${stored}`);
    }
    return checkHistory(this.notes, logs).problems;
  }
}

async function killRepeatedly(servers: Servers, trial: Trial, random: Random): Promise<number> {
  let round = 0;
  while (round < Number(values.rounds) && trial.problems.length === 0) {
    round++;
    await trial.progress();
    await sleep(random.between(0, MAX_DELAY_MS));
    const revive = await servers.kill();
    const writing = servers.title === 'one server' ? null : trial.progress();
    await sleep(random.between(0, 300));
    await writing;
    await revive();
    await trial.progress();
    console.error(`  round ${round}: ${trial.acked} acked, ${trial.unknown} unknown, ${trial.rejected} rejected`);
  }
  return round;
}

async function run(start: () => Promise<Servers>): Promise<void> {
  const random = new Random(Number(values.seed));
  const servers = await start();
  const began = performance.now();
  try {
    const store = await natsStore({ url: servers.url, timeoutMs: 10_000 });
    const trial = new Trial(store, random);
    const callers = Array.from({ length: Number(values.callers) }, (_, caller) => trial.call(caller));
    const done = await killRepeatedly(servers, trial, random);
    trial.ended = true;
    await Promise.all(callers);
    const problems = await trial.check();
    const count = (kind: Problem['kind']) => problems.filter((it) => it.kind === kind).length;
    const wrong = [...problems.map(({ kind, run, message }) => `${kind}: ${run}: ${message}`), ...trial.problems];
    faults.push(...wrong.slice(0, 20).map((sentence) => `${servers.title}: ${sentence}`));
    console.log(
      `nats-kill, ${servers.title}: ${done} rounds, ${trial.acked} acked, ${trial.unknown} unknown, ${trial.rejected} rejected, ` +
        `${count('lost')} lost, ${count('duplicated')} duplicated, ${wrong.length} problems, longest write gap ` +
        `${Math.ceil(trial.longestGapMs)} ms, ${Math.round((performance.now() - began) / 1000)} s, seed ${values.seed}`,
    );
    if (wrong.length > 0 || trial.acked === 0) process.exitCode = 1;
    await store.close();
  } finally {
    await servers.stop();
  }
}

/** All problems, printed at the end where they are not overlooked. */
const faults: string[] = [];

console.error(`nats-kill: ${values.rounds} rounds, seed ${values.seed}`);
process.on('uncaughtException', (error) => {
  console.error('The process would have crashed:', error);
  process.exit(1);
});
if (values.nodes !== '3') await run(single);
if (values.nodes !== '1') await run(cluster);
for (const fault of faults) console.error(fault);

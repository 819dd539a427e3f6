/**
 * Moves a large tenant back and forth between two PostgreSQL servers under load: callers append to it, and readers
 * follow the feed from cursors that were issued before the moves. Every second move begins in a process that is killed
 * with SIGKILL, or frozen until after its lease, and is resumed here. Every acknowledged event must be stored once, at
 * its sequence, and every reader must see it once and in order.
 * `--events 100000 --moves 4 --callers 8 --pause-ms 1000 --seed N`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { isTidemarkError, type RunEventInput, type Store } from '@tidemark/core';
import { type MoveReport, placementOf, postgresStore } from '@tidemark/postgres';
import { startOwnServer } from '../scripts/servers/index.ts';
import { WriterProcess } from './children.ts';
import { newSeed, Random } from './random.ts';
import { runEvent } from './run-event.ts';

const { values } = parseArgs({
  options: {
    events: { type: 'string', default: '100000' },
    moves: { type: 'string', default: '4' },
    callers: { type: 'string', default: '8' },
    'pause-ms': { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(newSeed()) },
  },
});

const TENANT = 'large';
const EVENTS_PER_RUN = 100;
const BATCH = 500;
const READ_LIMIT_MS = 120_000;
const RESUME_LIMIT_MS = 300_000;

const random = new Random(Number(values.seed));
const problems: string[] = [];
/** The sequence of every acknowledged event, by run and event. */
const acknowledged = new Map<string, number>();
const pauses: number[] = [];
let refused = 0;

const nameOf = ({ tenantId, runId, eventId }: { tenantId: string; runId: string; eventId: string }) =>
  `${tenantId} ${runId} ${eventId}`;

async function appendUntilAcked(store: Store, events: RunEventInput[]): Promise<void> {
  for (;;) {
    try {
      const results = await store.runs.appendEvents(events);
      for (const [at, { runSeq }] of results.entries()) {
        const { tenantId, runId, eventId } = events[at]!;
        acknowledged.set(nameOf({ tenantId: tenantId!, runId, eventId: eventId! }), runSeq);
      }
      return;
    } catch (error) {
      if (!isTidemarkError(error) || !error.retryable) {
        problems.push(`an append failed with ${error}`);
        return;
      }
      if (error.outcome === 'unknown') problems.push(`an append has an unknown outcome: ${error.message}`);
      refused++;
      await sleep(error.retryAfterMs ?? 20);
    }
  }
}

async function fill(store: Store, count: number): Promise<void> {
  for (let at = 0; at < count; at += BATCH) {
    const size = Math.min(BATCH, count - at);
    await appendUntilAcked(
      store,
      Array.from({ length: size }, (_, index) => ({
        ...runEvent(`run-${Math.floor((at + index) / EVENTS_PER_RUN)}`),
        tenantId: TENANT,
      })),
    );
  }
}

/** Appends one event at a time, and records the longest append of the tenant. */
async function write(store: Store, tenantId: string, caller: number, ended: AbortSignal): Promise<number> {
  let longest = 0;
  for (let at = 0; !ended.aborted; at++) {
    const runId = at % 4 === 0 ? `run-${random.between(0, 9)}` : `live-${caller}-${at % 7}`;
    const began = performance.now();
    await appendUntilAcked(store, [{ ...runEvent(runId), tenantId }]);
    longest = Math.max(longest, performance.now() - began);
    await sleep(random.between(0, 10));
  }
  return longest;
}

/** Follows the feed and checks that no event arrives twice or out of order. */
class Reader {
  readonly seen = new Map<string, number>();
  readonly #last = new Map<string, number>();
  readonly #store: Store;
  #cursor: string | undefined;
  #ended: 'at once' | 'when idle' | null = null;

  constructor(store: Store) {
    this.#store = store;
  }

  async run(): Promise<void> {
    for (;;) {
      const page = await this.#store.runs.feedPage({
        limit: 500,
        wait: 200,
        ...(this.#cursor === undefined ? {} : { cursor: this.#cursor }),
      });
      for (const { event } of page.items) {
        const [name, run] = [nameOf(event), `${event.tenantId} ${event.runId}`];
        if (this.seen.has(name)) problems.push(`a reader received ${name} twice`);
        if (event.runSeq !== (this.#last.get(run) ?? 0) + 1)
          problems.push(`a reader received ${run} ${event.runSeq} after ${this.#last.get(run)}`);
        this.#last.set(run, event.runSeq);
        this.seen.set(name, event.runSeq);
      }
      const isIdle = page.next === this.#cursor;
      this.#cursor = page.next;
      if (this.#ended === 'at once' || (this.#ended === 'when idle' && isIdle)) return;
    }
  }

  /** Ends after the current page, or once nothing new has been stored for a moment. */
  end(when: 'at once' | 'when idle'): void {
    this.#ended = when;
  }
}

/** Starts a move in a separate process, and kills or freezes that process at a random moment. */
async function interruptedMove(to: string): Promise<{ how: string; thaw: () => void; end: () => Promise<void> }> {
  const maxPause = ['--max-pause-ms', values['pause-ms']];
  const args = ['--main', servers[0]!.url, '--north', servers[1]!.url, '--tenant', TENANT, '--to', to, ...maxPause];
  const notes = join(folder, `mover-${movers++}`);
  const mover = new WriterProcess('tenant-mover-child', args, notes);
  await mover.hasWritten(notes, 0);
  await sleep(random.between(0, 4_000));
  if (random.next() < 0.5) {
    await mover.kill();
    return { how: 'killed', thaw: () => {}, end: async () => {} };
  }
  mover.freeze();
  // A frozen process continues during or after the move by another process. Its outcome does not matter.
  const end = async () => {
    mover.thaw();
    await mover.end();
  };
  return { how: 'frozen', thaw: () => mover.thaw(), end };
}

/** Moves the tenant. Waits until the lease of a stopped mover has ended. */
async function resumedMove(store: Store, to: string): Promise<MoveReport> {
  for (const until = Date.now() + RESUME_LIMIT_MS; ; ) {
    try {
      return await placementOf(store)!.move(TENANT, to, { maxPauseMs: Number(values['pause-ms']), keepOldMs: 0 });
    } catch (error) {
      const mayRetry = isTidemarkError(error) && ['CONFLICT', 'TIMEOUT'].includes(error.code);
      if (!mayRetry || Date.now() > until) throw error;
      await sleep(500);
    }
  }
}

function compare(what: string, found: ReadonlyMap<string, number>): void {
  let [lost, moved] = [0, 0];
  for (const [name, runSeq] of acknowledged) {
    if (!found.has(name)) lost++;
    else if (found.get(name) !== runSeq) moved++;
  }
  const extra = [...found.keys()].filter((name) => !acknowledged.has(name)).length;
  if (lost + moved + extra > 0) problems.push(`${what}: ${lost} lost, ${moved} at another sequence, ${extra} unknown`);
}

const folder = mkdtempSync(join(tmpdir(), 'tidemark-moves-'));
let movers = 0;
const servers = [await startOwnServer('postgres'), await startOwnServer('postgres')];
const options = { url: servers[0]!.url, servers: { north: servers[1]!.url }, placement: () => 'main' };
const stores: Store[] = [];
try {
  for (let at = 0; at < 3; at++) stores.push(await postgresStore(options));
  const [writing, resuming, reading] = stores as [Store, Store, Store];
  await fill(writing, Number(values.events));
  const reader = new Reader(reading);
  const following = reader.run();
  const ended = new AbortController();
  const callers = Array.from({ length: Number(values.callers) }, (_, at) =>
    write(writing, at % 4 === 3 ? 'neighbour' : TENANT, at, ended.signal),
  );
  for (let move = 0; move < Number(values.moves); move++) {
    const to = move % 2 === 0 ? 'north' : 'main';
    await sleep(500);
    const late = new Reader(reading);
    const catching = late.run();
    const interrupted = move % 2 === 1 ? await interruptedMove(to) : null;
    const thawing = interrupted && sleep(random.between(0, 25_000)).then(interrupted.thaw);
    const began = performance.now();
    const report = await resumedMove(resuming, to);
    if (report.pausedMs > 0) pauses.push(report.pausedMs);
    console.log(
      `move ${move + 1} to ${to}${interrupted ? `, ${interrupted.how}` : ''}: ${report.events} events, ${report.rows} rows, ${((performance.now() - began) / 1000).toFixed(1)} s, writers paused ${report.pausedMs.toFixed(0)} ms`,
    );
    late.end('at once');
    await catching;
    await thawing;
    await interrupted?.end();
    const stray = (await placementOf(resuming)!.list()).items.find(({ tenantId }) => tenantId === TENANT);
    if (stray?.server !== to || stray.move) problems.push(`after the move: ${JSON.stringify(stray)}`);
  }
  ended.abort();
  const longest = Math.max(...(await Promise.all(callers)));
  reader.end('when idle');
  await Promise.race([following, sleep(READ_LIMIT_MS, undefined, { ref: false })]);
  compare('the reader from before the moves', reader.seen);
  const anew = new Reader(resuming);
  anew.end('when idle');
  await anew.run();
  compare('a new reader', anew.seen);
  const longestPause = Math.max(0, ...pauses);
  if (longestPause > Number(values['pause-ms'])) problems.push(`writers were paused for ${longestPause.toFixed(0)} ms`);
  for (const problem of problems.slice(0, 20)) console.error(problem);
  console.log(
    `${acknowledged.size} acknowledged, ${refused} refused and retried, ${values.moves} moves, longest pause ${longestPause.toFixed(0)} ms, longest append with retries ${longest.toFixed(0)} ms, ${problems.length} problems (seed ${values.seed})`,
  );
} finally {
  await Promise.allSettled(stores.map((store) => store.close()));
  await Promise.all(servers.map((server) => server.stop()));
  rmSync(folder, { recursive: true });
}
process.exit(problems.length > 0 ? 1 : 0);

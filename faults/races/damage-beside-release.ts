/**
 * A run is damaged, repaired and released while it grows and two readers follow the feed. A reader that accepts a
 * released event only right after its watermark must get every event in order, and every other run must continue.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FeedItem, Store } from '@tidemark/core';
import { type Damage, damagedStore } from '../damaged-store.ts';
import { runEvent } from '../run-event.ts';
import { ignoring, until } from './actors.ts';
import type { Race } from './race.ts';

const EVENTS = 24;
const WAIT_LIMIT_MS = 10_000;

/** Follows the feed of a tenant by watermarks. */
class Reader {
  readonly problems: string[] = [];
  readonly #store: Store;
  readonly #watermarks = new Map<string, number>();
  #cursor: string | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  async read(limit: number): Promise<void> {
    const from = this.#cursor === undefined ? {} : { cursor: this.#cursor };
    const { items, next } = await this.#store.runs.feedPage({ limit, ...from });
    for (const item of items) this.#take(item);
    this.#cursor = next;
  }

  /** Passes over the events of earlier rounds in large pages. In small ones this takes longer with every round. */
  async skipStored(): Promise<void> {
    for (let before: string | undefined | null = null; before !== this.#cursor; ) {
      before = this.#cursor;
      await this.read(1_000);
    }
  }

  at(runId: string): number {
    return this.#watermarks.get(runId) ?? 0;
  }

  #take({ event: { runId, runSeq }, released }: FeedItem): void {
    const at = this.at(runId);
    // The reader has not reached the run's quarantine yet: the feed itself has these events later.
    if (released && runSeq > at + 1) return;
    if (runSeq > at + 1) this.problems.push(`event ${runSeq} of ${runId} came after ${at}`);
    if (runSeq > at) this.#watermarks.set(runId, runSeq);
  }
}

export const damageBesideRelease: Race = {
  summary: "' damage, repair and release during reads and writes",
  rounds: { short: 3, long: 60 },
  async round({ a, b, id, random }) {
    const tenantId = `tenant-${id}`;
    const [sick, well] = [`${id}-sick`, `${id}-well`];
    const damage: Damage = { run: null, runSeq: 0 };
    const [one, two] = [a, b].map((store) => damagedStore(store, damage).forTenant(tenantId)) as [Store, Store];
    const readers = [new Reader(one), new Reader(two)];
    for (const reader of readers) await reader.skipStored();
    const over = new AbortController();
    const write = async () => {
      for (let n = 1; n <= EVENTS; n++) {
        for (const runId of [sick, well])
          await a.forTenant(tenantId).runs.appendEvent({ ...runEvent(runId, `${n}`), tenantId });
        await sleep(random.between(0, 3));
      }
    };
    const harm = async () => {
      for (let times = 0; times < 3; times++) {
        await sleep(random.between(0, 20));
        Object.assign(damage, { run: { tenantId, runId: sick }, runSeq: random.between(1, EVENTS) });
        await sleep(random.between(5, 40));
        damage.run = null;
        await two.runs.releaseRun(sick).catch(ignoring('NOT_FOUND', 'RUN_NOT_FOUND'));
      }
    };
    // The memory engine never yields to the event loop. Without this sleep no other actor would run.
    const follow = async (reader: Reader) => {
      await reader.read(random.between(1, 12));
      await sleep(1);
    };
    const following = readers.map((reader) => until(over.signal, () => follow(reader)));
    await Promise.all([write(), harm()]);
    const isDone = () => readers.every((reader) => [sick, well].every((runId) => reader.at(runId) === EVENTS));
    const deadline = Date.now() + WAIT_LIMIT_MS;
    while (!isDone() && Date.now() < deadline) {
      await two.runs.releaseRun(sick).catch(ignoring('NOT_FOUND'));
      await sleep(20);
    }
    over.abort();
    await Promise.all(following);
    const problems = readers.flatMap((reader) => reader.problems);
    for (const reader of readers)
      for (const runId of [sick, well])
        if (reader.at(runId) !== EVENTS) problems.push(`a reader of ${runId} ends at ${reader.at(runId)}`);
    return { checks: 2 * EVENTS, problems };
  },
};

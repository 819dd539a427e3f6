/**
 * Moves tenants between three PostgreSQL servers at random, with few events in between, and reads the feed in pages of
 * random sizes: with readers that start before, during and after the moves. Every reader must get every event once, in
 * the order of its run. There must be few events: with busy tenants, every cursor advances, which hides a reader that
 * is stuck. `--rounds 20 --steps 30 --seed N`.
 */
import { parseArgs } from 'node:util';
import type { FeedItem, Store } from '@tidemark/core';
import { placementOf, postgresStore } from '@tidemark/postgres';
import { createPlaced } from '../packages/postgres/test/placed.ts';
import { startOwnServer } from '../scripts/servers/index.ts';
import { newSeed, Random } from './random.ts';
import { runEvent } from './run-event.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    steps: { type: 'string', default: '30' },
    seed: { type: 'string', default: String(newSeed()) },
  },
});
const SERVERS = ['main', 'north', 'south'];
const TENANTS = ['one', 'two', 'three'];
const RUNS = 2;
const MAX_READERS = 12;
let random = new Random(Number(values.seed));

/** Reads some pages at a time, and keeps the events it received. */
class Reader {
  readonly events: FeedItem[] = [];
  #cursor: string | undefined;

  /** Returns whether there was anything new. */
  async page(store: Store, limit: number): Promise<boolean> {
    const page = await store.runs.feedPage({ limit, ...(this.#cursor === undefined ? {} : { cursor: this.#cursor }) });
    this.events.push(...page.items);
    this.#cursor = page.next ?? this.#cursor;
    return page.items.length > 0;
  }

  async toEnd(store: Store): Promise<void> {
    while (await this.page(store, random.between(1, 9)));
  }
}

function problemsOf(reader: Reader, stored: ReadonlySet<string>): string[] {
  const [seen, last, problems] = [new Set<string>(), new Map<string, number>(), [] as string[]];
  for (const { event } of reader.events) {
    const run = `${event.tenantId} ${event.runId}`;
    if (seen.has(event.eventId)) problems.push(`${run} ${event.runSeq} came twice`);
    if (event.runSeq !== (last.get(run) ?? 0) + 1)
      problems.push(`${run} ${event.runSeq} came after ${last.get(run) ?? 0}`);
    seen.add(event.eventId);
    last.set(run, event.runSeq);
  }
  const missing = [...stored].filter((id) => !seen.has(id)).length;
  if (missing > 0) problems.push(`${missing} of ${stored.size} events are missing`);
  return problems;
}

async function round(url: string): Promise<string[]> {
  const { options, drop } = await createPlaced([url, url, url]);
  const store = await postgresStore({ ...options, placement: () => 'main' });
  try {
    const [homes, stored] = [new Map(TENANTS.map((tenant) => [tenant, 'main'])), new Set<string>()];
    const readers = [new Reader()];
    const history: string[] = [];
    for (let step = 0; step < Number(values.steps); step++) {
      const tenantId = random.pick(TENANTS);
      const choice = random.next();
      if (choice < 0.4 || stored.size === 0) {
        const event = { ...runEvent(`run-${random.between(0, RUNS)}`), tenantId };
        const { eventId, runSeq } = await store.runs.appendEvent(event);
        stored.add(eventId);
        history.push(`${tenantId} ${event.runId} ${runSeq}`);
      } else if (choice < 0.7) {
        const to = random.pick(SERVERS.filter((name) => name !== homes.get(tenantId)));
        const isPlaced = (await placementOf(store)!.list()).items.some((it) => it.tenantId === tenantId);
        if (!isPlaced) continue;
        await placementOf(store)!.move(tenantId, to, { keepOldMs: 0 });
        homes.set(tenantId, to);
        history.push(`${tenantId} to ${to}`);
      } else if (choice < 0.8 && readers.length < MAX_READERS) readers.push(new Reader());
      else await random.pick(readers).page(store, random.between(1, 9));
    }
    readers.push(new Reader());
    const problems: string[] = [];
    for (const [at, reader] of readers.entries()) {
      await reader.toEnd(store);
      problems.push(...problemsOf(reader, stored).map((problem) => `reader ${at}: ${problem}`));
    }
    if (problems.length > 0) problems.unshift(`after ${history.join(', ')}`);
    return problems;
  } finally {
    await store.close();
    await drop();
  }
}

const server = await startOwnServer('postgres');
let found = 0;
try {
  for (let n = 1; n <= Number(values.rounds); n++) {
    random = new Random(Number(values.seed) + n);
    const problems = await round(server.url);
    found += problems.length;
    for (const problem of problems.slice(0, 5)) console.error(`seed ${Number(values.seed) + n}: ${problem}`);
  }
} finally {
  await server.stop();
}
console.log(`${found === 0 ? 'ok' : 'FAILED'}  ${values.rounds} rounds, ${found} problems (seed ${values.seed})`);
process.exit(found === 0 ? 0 : 1);

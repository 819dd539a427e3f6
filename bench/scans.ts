/**
 * Scans of records and `deletePrefix` on every engine: one record among heavy neighbours against a `get`, a page in
 * reverse against the same page forwards, and appends while a prefix is deleted against appends alone. `--engines=sqlite,redis`
 * selects engines.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Store } from '@tidemark/core';
import { open } from 'tidemark';
import { type ServerName, startOwnServer } from '../scripts/servers/index.ts';
import { compareRates, type Figure, type Rates, type Round } from './measure.ts';

const NEIGHBOURS = 50;
const NEIGHBOUR_BYTES = 400 * 1024;
const SMALL_RECORDS = 1_000;
const PAGE = 200;
/** Enough that a round on the fastest engine takes a millisecond. */
const LOOKUPS = 2_000;
const PAGES = 50;
const ROUNDS = 9;
const AT_ONCE = 64;
/** How long to append alone, before and after the deletion. */
const ALONE_MS = 3_000;

const SCAN_COST = 3;
const REVERSE_COST = 1.2;
const APPEND_SHARE = 0.7;

const SERVERS: Record<string, ServerName> = { postgres: 'postgres', redis: 'redis', nats: 'nats' };

export async function benchScans(report: (line: string) => void, quick: boolean): Promise<Figure[]> {
  const { values } = parseArgs({ options: { engines: { type: 'string' } }, strict: false });
  const engines = ((values.engines as string | undefined) ?? 'memory,sqlite,postgres,redis,nats').split(',');
  const figures: Figure[] = [];
  for (const engine of engines) {
    const began = performance.now();
    const found = await onEngine(engine, quick);
    for (const { scenario, ratio, wanted } of found) report(`${scenario}: ${ratio.toFixed(2)}, wanted ${wanted}`);
    report(`${engine} took ${Math.round((performance.now() - began) / 1_000)} s`);
    figures.push(...found);
  }
  return figures;
}

async function onEngine(engine: string, quick: boolean): Promise<Figure[]> {
  const server = engine in SERVERS ? await startOwnServer(SERVERS[engine]!) : null;
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-scans-'));
  const url = server?.url ?? (engine === 'sqlite' ? `sqlite:${join(folder, 'state.db')}` : `${engine}:`);
  const store = await open(url, { timeoutMs: 60_000 });
  try {
    return [
      costOf(
        SCAN_COST,
        `${engine}: scan of one record among large ones, compared with get`,
        await oneAmongHeavy(store),
      ),
      costOf(REVERSE_COST, `${engine}: page of ${PAGE} in reverse, against forwards`, await reversePage(store)),
      await appendsBesideDeletion(store, engine, quick ? 20_000 : 100_000),
    ];
  } finally {
    await store.close();
    await server?.stop();
    rmSync(folder, { recursive: true });
  }
}

/** Returns our cost per unit as a multiple of the other's. */
function costOf(most: number, scenario: string, { ours, raw, ratio }: Rates): Figure {
  return { scenario, unit: '1/s', ours, raw, ratio: 1 / ratio, wanted: `≤ ${most}`, kept: 1 / ratio <= most };
}

async function oneAmongHeavy({ kv }: Store): Promise<Rates> {
  await kv.put('heavy.000', { value: 'small' });
  const bytes = new Uint8Array(NEIGHBOUR_BYTES).fill(7);
  for (let index = 1; index <= NEIGHBOURS; index++) await kv.put(`heavy.${String(index).padStart(3, '0')}`, { bytes });
  const scan = repeated(LOOKUPS, async () => {
    for await (const { key } of kv.scan('heavy.', { maxResults: 1 })) expectKey(key, 'heavy.000');
  });
  return compareRates(
    scan,
    repeated(LOOKUPS, () => kv.get('heavy.000')),
    ROUNDS,
  );
}

function expectKey(key: string, expected: string): void {
  if (key !== expected) throw new Error(`The scan returned ${key} instead of ${expected}`);
}

async function reversePage({ kv }: Store): Promise<Rates> {
  for (let index = 0; index < SMALL_RECORDS; index++) await kv.put(`small.${index + SMALL_RECORDS}`, { index });
  const page = (reverse: boolean) =>
    repeated(PAGES, async () => {
      const { items } = await kv.scanPage('small.', { reverse, limit: PAGE });
      if (items.length !== PAGE) throw new Error(`A page has ${items.length} records`);
    });
  return compareRates(page(true), page(false), ROUNDS);
}

function repeated(times: number, call: () => Promise<unknown>): Round {
  return () => async () => {
    for (let time = 0; time < times; time++) await call();
    return times;
  };
}

/** Compares the rate of appends before and after a deletion with their rate while it is in progress. */
async function appendsBesideDeletion(store: Store, engine: string, records: number): Promise<Figure> {
  for (let from = 0; from < records; from += AT_ONCE) {
    const size = Math.min(AT_ONCE, records - from);
    await Promise.all(Array.from({ length: size }, (_, at) => store.kv.put(`doomed.${from + at}`, { index: at })));
  }
  await appendRate(store, sleep(ALONE_MS));
  const before = await appendRate(store, sleep(ALONE_MS));
  const ours = await appendRate(store, deleteAll(store, records));
  const raw = (before + (await appendRate(store, sleep(ALONE_MS)))) / 2;
  const scenario = `${engine}: appends during deletePrefix of ${records} records`;
  const ratio = ours / raw;
  return { scenario, unit: '1/s', ours, raw, ratio, wanted: `≥ ${APPEND_SHARE}`, kept: ratio >= APPEND_SHARE };
}

async function deleteAll({ kv }: Store, records: number): Promise<void> {
  let deleted = 0;
  let cursor: string | undefined;
  do {
    const step = await kv.deletePrefix('doomed.', { ...(cursor === undefined ? {} : { cursor }) });
    deleted += step.deleted;
    cursor = step.next;
  } while (cursor !== undefined);
  if (deleted !== records) throw new Error(`${deleted} of ${records} records were deleted`);
}

/** Returns the appends per second of `AT_ONCE` callers, each with its own run, until the other work is done. */
async function appendRate(store: Store, other: Promise<unknown>): Promise<number> {
  const start = performance.now();
  let isOver = false;
  const ended = other.finally(() => {
    isOver = true;
  });
  let appended = 0;
  const append = async (caller: number) => {
    const run = store.runs.handle(`caller-${caller}`);
    for (; !isOver; appended++) {
      await run.append('Progress', { index: appended });
      // In memory a loop of appends never returns to the event loop, where the deletion waits for its turn.
      await nextTurn();
    }
  };
  await Promise.all([ended, ...Array.from({ length: AT_ONCE }, (_, caller) => append(caller))]);
  return (appended / (performance.now() - start)) * 1_000;
}

/**
 * One run of many is damaged: what a subscription, the projector, the feed and another tenant's writer do beside it, against
 * the same work without damage, in turn. Then the run is repaired and released, and the subscription has each event once and
 * in order. `--engines sqlite,redis --rounds 3 --runs 200`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { RunEventRecord, Store } from '@tidemark/core';
import { createProjector, subscribe } from '@tidemark/runtime';
import { type Damage, damagedStore } from './damaged-store.ts';
import { ENGINES, type EngineName, newPlace } from './races/engines.ts';
import { runEvent } from './run-event.ts';

const { values } = parseArgs({
  options: {
    engines: { type: 'string', default: ENGINES.join() },
    rounds: { type: 'string', default: '3' },
    runs: { type: 'string', default: '200' },
  },
});
const [EVENTS_A_RUN, LEAST_RATE, MOST_ALERT_MS, PATIENCE_MS] = [10, 0.95, 1_000, 120_000];
const RUNS = Number(values.runs);
const SICK = 'run-7';
const DAMAGED_SEQ = 4;

interface Round {
  /** Events a second, by what worked on them. */
  rates: Record<'subscription' | 'projector' | 'feed' | 'writer', number>;
  alertMs: number | null;
  problems: string[];
}

async function measure(engine: EngineName, isDamaged: boolean): Promise<Round> {
  const place = await newPlace(engine);
  const damage: Damage = { run: isDamaged ? { tenantId: 'default', runId: SICK } : null, runSeq: DAMAGED_SEQ };
  let alertedAt: number | null = null;
  const whole = await place.open({ onAlert: () => (alertedAt ??= performance.now()) });
  const store = damagedStore(whole, damage);
  try {
    await fill(whole);
    const began = performance.now();
    const rates = {
      feed: await readFeed(store),
      ...(await handled(store)),
      projector: await projected(store),
      writer: await written(whole.forTenant('other')),
    };
    const alertMs = alertedAt === null ? null : alertedAt - began;
    return { rates, alertMs, problems: isDamaged ? await released(store, damage) : [] };
  } finally {
    await whole.close();
    await place.remove();
  }
}

async function fill(store: Store): Promise<void> {
  for (let n = 0; n < RUNS; n += 50) {
    const runIds = Array.from({ length: Math.min(50, RUNS - n) }, (_, at) => `run-${n + at}`);
    for (let seq = 1; seq <= EVENTS_A_RUN; seq++)
      await store.runs.appendEvents(runIds.map((runId) => runEvent(runId, `${seq}`)));
  }
}

const perSecond = (count: number, began: number) => count / ((performance.now() - began) / 1_000);

async function readFeed(store: Store): Promise<number> {
  const began = performance.now();
  let [count, after] = [0, undefined as string | undefined];
  for (;;) {
    const { items, next } = await store.runs.feedPage(after === undefined ? {} : { after });
    count += items.length;
    if (next === undefined || next === after) return perSecond(count, began);
    after = next;
  }
}

/** What the subscription of this store has handled, of each run in order. */
const heard: Map<string, number[]> = new Map();

async function handled(store: Store): Promise<{ subscription: number }> {
  heard.clear();
  let count = 0;
  const expected = RUNS * EVENTS_A_RUN - (await passedOver(store));
  const began = performance.now();
  const subscription = await subscribe(store, {
    name: 'all',
    handler: (event) => {
      note(event);
      count++;
    },
  });
  await until(() => count >= expected);
  const rate = perSecond(count, began);
  await subscription.stop();
  return { subscription: rate };
}

function note({ runId, runSeq }: RunEventRecord): void {
  heard.set(runId, [...(heard.get(runId) ?? []), runSeq]);
}

async function passedOver(store: Store): Promise<number> {
  const { items } = await store.runs.listQuarantined();
  return items.length * (EVENTS_A_RUN - DAMAGED_SEQ + 1);
}

async function projected(store: Store): Promise<number> {
  const began = performance.now();
  const projector = await createProjector({ store });
  const expected = RUNS - (await store.runs.listQuarantined()).items.length;
  await until(() => projector.status().refreshed >= expected);
  const rate = perSecond(projector.status().folded, began);
  await projector.stop();
  return rate;
}

async function written(store: Store): Promise<number> {
  const began = performance.now();
  const events = Array.from({ length: 300 }, (_, n) => ({ ...runEvent('other', `${n}`), tenantId: 'other' }));
  for (const event of events) await store.runs.appendEvent(event);
  return perSecond(events.length, began);
}

/** After repair and release the subscription has every event of every run once and in order. */
async function released(store: Store, damage: Damage): Promise<string[]> {
  damage.run = null;
  await store.runs.releaseRun(SICK);
  await store.runs.appendEvent(runEvent(SICK, 'after'));
  const subscription = await subscribe(store, { name: 'all', filter: { tenantId: 'default' }, handler: note });
  await until(() => (heard.get(SICK)?.length ?? 0) >= EVENTS_A_RUN + 1);
  await sleep(500);
  await subscription.stop();
  return [...heard].flatMap(([runId, seqs]) => {
    const whole = Array.from({ length: runId === SICK ? EVENTS_A_RUN + 1 : EVENTS_A_RUN }, (_, at) => at + 1);
    return seqs.join() === whole.join() ? [] : [`${runId} was handled as ${seqs.join()}`];
  });
}

async function until(isSo: () => boolean): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!isSo()) {
    if (Date.now() > deadline) throw new Error(`It did not happen within ${PATIENCE_MS / 1_000} s`);
    await sleep(2);
  }
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)]!;
}

let failed = false;
for (const engine of values.engines.split(',') as EngineName[]) {
  const [sound, damaged]: [Round[], Round[]] = [[], []];
  // One round of each first, which counts for nothing: the process warms up.
  for (let round = 0; round <= Number(values.rounds); round++) {
    const [a, b] = [await measure(engine, false), await measure(engine, true)];
    if (round > 0) sound.push(a);
    if (round > 0) damaged.push(b);
  }
  const parts = Object.keys(sound[0]!.rates) as (keyof Round['rates'])[];
  const ratios = parts.map((part) => {
    const of = (rounds: Round[]) => median(rounds.map(({ rates }) => rates[part]));
    return { part, ratio: of(damaged) / of(sound), rate: of(damaged) };
  });
  const alerts = damaged.map(({ alertMs }) => alertMs ?? Number.POSITIVE_INFINITY);
  const problems = damaged.flatMap((round) => round.problems);
  const isBad =
    problems.length > 0 || Math.max(...alerts) > MOST_ALERT_MS || ratios.some(({ ratio }) => ratio < LEAST_RATE);
  failed ||= isBad;
  const told = ratios.map(({ part, ratio, rate }) => `${part} ${ratio.toFixed(2)} (${Math.round(rate)}/s)`).join(', ');
  console.log(
    `${engine}: ${told}; alert after ${Math.round(Math.max(...alerts))} ms at most; ${problems.length} problems`,
  );
  for (const problem of problems.slice(0, 10)) console.log(`  ${problem}`);
}
process.exitCode = failed ? 1 : 0;

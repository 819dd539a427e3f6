/**
 * Damages one of many runs and measures a subscription, the projector, the feed and another tenant's writer, compared
 * with the same work on an undamaged store. Both stores take turns for several rounds. Each round adds events to every
 * run, and the median of the rounds' ratios counts. Then the run is repaired and released, and the subscription must
 * have handled each event once and in order. `--engines sqlite,redis --rounds 9 --runs 200 --least-ms 1000`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { RunEventRecord, Store } from '@tidemark/core';
import { createProjector, subscribe } from '@tidemark/runtime';
import { type Damage, damagedStore } from './damaged-store.ts';
import { ENGINES, type EngineName, newDatabase } from './races/engines.ts';
import { runEvent } from './run-event.ts';

const { values } = parseArgs({
  options: {
    engines: { type: 'string', default: ENGINES.join() },
    rounds: { type: 'string', default: '9' },
    runs: { type: 'string', default: '200' },
    'least-ms': { type: 'string', default: '1000' },
  },
});
const [EVENTS_A_RUN, MIN_RATE, MAX_ALERT_MS, WAIT_LIMIT_MS] = [10, 0.95, 1_000, 120_000];
const [RUNS, ROUNDS, MIN_MS] = [Number(values.runs), Number(values.rounds), Number(values['least-ms'])];
const SICK = 'run-7';
const DAMAGED_SEQ = 4;

const PARTS = ['feed', 'subscription', 'projector', 'writer'] as const;
type Part = (typeof PARTS)[number];
/** Events per second of each consumer. */
type Rates = Record<Part, number>;

/** A store, damaged or not, that takes part in all rounds. */
class Subject {
  readonly #database: Awaited<ReturnType<typeof newDatabase>>;
  readonly #whole: Store;
  readonly #store: Store;
  readonly #damage: Damage;
  readonly #isDamaged: boolean;
  /** The number of events of each run so far. */
  #events = 0;
  #round = 0;
  #began = 0;
  /** How long after the first read the alert was raised. */
  alertMs: number | null = null;
  /** The sequences that the subscription of the last round has handled, by run. */
  readonly #handled = new Map<string, number[]>();

  static async open(engine: EngineName, isDamaged: boolean): Promise<Subject> {
    const database = await newDatabase(engine);
    let subject: Subject | undefined;
    const whole = await database.open({ onAlert: () => subject?.noteAlert() });
    subject = new Subject(database, whole, isDamaged);
    return subject;
  }

  private constructor(database: Awaited<ReturnType<typeof newDatabase>>, whole: Store, isDamaged: boolean) {
    this.#database = database;
    this.#whole = whole;
    this.#isDamaged = isDamaged;
    this.#damage = { run: isDamaged ? { tenantId: 'default', runId: SICK } : null, runSeq: DAMAGED_SEQ };
    this.#store = damagedStore(whole, this.#damage);
  }

  noteAlert(): void {
    this.alertMs ??= performance.now() - this.#began;
  }

  async round(): Promise<Rates> {
    this.#round++;
    await this.#fill();
    this.#began ||= performance.now();
    return {
      feed: await this.#readFeed(),
      subscription: await this.#handle(),
      projector: await this.#project(),
      writer: await this.#write(),
    };
  }

  async remove(): Promise<void> {
    await this.#whole.close();
    await this.#database.remove();
  }

  async #fill(): Promise<void> {
    for (let n = 0; n < RUNS; n += 50) {
      const runIds = Array.from({ length: Math.min(50, RUNS - n) }, (_, at) => `run-${n + at}`);
      for (let seq = 1; seq <= EVENTS_A_RUN; seq++)
        await this.#whole.runs.appendEvents(runIds.map((runId) => runEvent(runId, `${this.#events + seq}`)));
    }
    this.#events += EVENTS_A_RUN;
  }

  /** The number of events that are withheld from readers. */
  get #heldBack(): number {
    return this.#isDamaged ? this.#events - DAMAGED_SEQ + 1 : 0;
  }

  async #readFeed(): Promise<number> {
    let count = 0;
    const began = performance.now();
    do {
      for (let after: string | undefined; ; ) {
        const { items, next } = await this.#store.runs.feedPage(after === undefined ? {} : { cursor: after });
        count += items.length;
        if (next === undefined || next === after) break;
        after = next;
      }
    } while (performance.now() - began < MIN_MS);
    return perSecond(count, began);
  }

  async #handle(): Promise<number> {
    this.#handled.clear();
    let count = 0;
    const expected = RUNS * this.#events - this.#heldBack;
    const began = performance.now();
    const subscription = await subscribe(this.#store, {
      name: `all-${this.#round}`,
      filter: { tenantId: 'default' },
      handler: (event) => {
        this.#note(event);
        count++;
      },
    });
    await until(() => count >= expected);
    const rate = perSecond(count, began);
    await subscription.stop();
    return rate;
  }

  #note({ runId, runSeq }: RunEventRecord): void {
    const seqs = this.#handled.get(runId);
    if (seqs) seqs.push(runSeq);
    else this.#handled.set(runId, [runSeq]);
  }

  async #project(): Promise<number> {
    const began = performance.now();
    const projector = await createProjector({ store: this.#store, name: `snapshots-${this.#round}` });
    // Counts events and not snapshots, because a snapshot may be refreshed twice for the same events.
    const expected = (RUNS - (this.#isDamaged ? 1 : 0)) * EVENTS_A_RUN;
    await until(() => projector.status().folded >= expected);
    const rate = perSecond(projector.status().folded, began);
    await projector.stop();
    return rate;
  }

  async #write(): Promise<number> {
    const { runs } = this.#whole.forTenant('other');
    let count = 0;
    const began = performance.now();
    while (performance.now() - began < MIN_MS)
      await runs.appendEvent({ ...runEvent('other', `${this.#round}-${count++}`), tenantId: 'other' });
    return perSecond(count, began);
  }

  /** Repairs and releases the run. Returns a problem for every run whose events were not handled once and in order. */
  async released(): Promise<string[]> {
    this.#damage.run = null;
    await this.#store.runs.releaseRun(SICK);
    await this.#store.runs.appendEvent(runEvent(SICK, 'after'));
    const handler = (event: RunEventRecord) => this.#note(event);
    const options = { name: `all-${this.#round}`, filter: { tenantId: 'default' }, handler };
    const subscription = await subscribe(this.#store, options);
    await until(() => (this.#handled.get(SICK)?.length ?? 0) >= this.#events + 1);
    await sleep(500);
    await subscription.stop();
    return [...this.#handled].flatMap(([runId, seqs]) => {
      const length = runId === SICK ? this.#events + 1 : this.#events;
      const whole = Array.from({ length }, (_, at) => at + 1);
      return seqs.join() === whole.join() ? [] : [`${runId} was handled as ${seqs.join()}`];
    });
  }
}

const perSecond = (count: number, began: number) => count / ((performance.now() - began) / 1_000);

async function until(isSo: () => boolean): Promise<void> {
  const deadline = Date.now() + WAIT_LIMIT_MS;
  while (!isSo()) {
    if (Date.now() > deadline) throw new Error(`It did not happen within ${WAIT_LIMIT_MS / 1_000} s`);
    await sleep(2);
  }
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)]!;
}

/** Returns a summary of one engine and whether it meets the goals. */
async function judge(engine: EngineName): Promise<{ summary: string; isGood: boolean }> {
  const [sound, damaged] = [await Subject.open(engine, false), await Subject.open(engine, true)];
  try {
    const rounds: { sound: Rates; damaged: Rates }[] = [];
    // The first round warms up the process and does not count. The stores alternate in going first.
    for (let round = 0; round <= ROUNDS; round++) {
      const first = await (round % 2 ? sound : damaged).round();
      const second = await (round % 2 ? damaged : sound).round();
      if (round > 0) rounds.push(round % 2 ? { sound: first, damaged: second } : { sound: second, damaged: first });
    }
    const problems = await damaged.released();
    const summary = PARTS.map((part) => {
      const ratios = rounds.map((rates) => rates.damaged[part] / rates.sound[part]);
      const [least, most] = [Math.min(...ratios), Math.max(...ratios)].map((ratio) => ratio.toFixed(2));
      const rate = median(rounds.map((rates) => rates.damaged[part]));
      if (median(ratios) < MIN_RATE) problems.push(`${part} is slower while another run is damaged`);
      return `${part} ${median(ratios).toFixed(2)} (${least} to ${most}, ${Math.round(rate)}/s)`;
    }).join(', ');
    const { alertMs } = damaged;
    if (alertMs === null || alertMs > MAX_ALERT_MS) problems.push('the alert was late');
    const alert = alertMs === null ? 'no alert' : `alert after ${Math.round(alertMs)} ms`;
    const lines = [`${engine}: ${summary}; ${alert}; ${problems.length} problems`, ...problems.slice(0, 10)];
    return { summary: lines.join('\n  '), isGood: problems.length === 0 };
  } finally {
    await sound.remove();
    await damaged.remove();
  }
}

let failed = false;
for (const engine of values.engines.split(',') as EngineName[]) {
  const { summary, isGood } = await judge(engine);
  console.log(summary);
  failed ||= !isGood;
}
process.exitCode = failed ? 1 : 0;

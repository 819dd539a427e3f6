/**
 * One run of many is damaged: what a subscription, the projector, the feed and another tenant's writer do beside it, against
 * the same work on a store without damage. Both stores are kept, and take turns for several rounds; each round adds events to every run, and
 * the median of the rounds' ratios counts. Then the run is repaired and released, and the subscription has each event once and
 * in order. `--engines sqlite,redis --rounds 9 --runs 200 --least-ms 1000`.
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
    rounds: { type: 'string', default: '9' },
    runs: { type: 'string', default: '200' },
    'least-ms': { type: 'string', default: '1000' },
  },
});
const [EVENTS_A_RUN, LEAST_RATE, MOST_ALERT_MS, PATIENCE_MS] = [10, 0.95, 1_000, 120_000];
const [RUNS, ROUNDS, LEAST_MS] = [Number(values.runs), Number(values.rounds), Number(values['least-ms'])];
const SICK = 'run-7';
const DAMAGED_SEQ = 4;

const PARTS = ['feed', 'subscription', 'projector', 'writer'] as const;
type Part = (typeof PARTS)[number];
/** Events a second, by what worked on them. */
type Rates = Record<Part, number>;

/** A store, damaged or not, that takes part in all rounds. */
class Subject {
  readonly #place: Awaited<ReturnType<typeof newPlace>>;
  readonly #whole: Store;
  readonly #store: Store;
  readonly #damage: Damage;
  readonly #isDamaged: boolean;
  /** Events of each run so far. */
  #events = 0;
  #round = 0;
  #began = 0;
  /** How long after the first read the alert came. */
  alertMs: number | null = null;
  /** What the subscription of the last round has handled, of each run in order. */
  readonly #heard = new Map<string, number[]>();

  static async open(engine: EngineName, isDamaged: boolean): Promise<Subject> {
    const place = await newPlace(engine);
    let subject: Subject | undefined;
    const whole = await place.open({ onAlert: () => subject?.noteAlert() });
    subject = new Subject(place, whole, isDamaged);
    return subject;
  }

  private constructor(place: Awaited<ReturnType<typeof newPlace>>, whole: Store, isDamaged: boolean) {
    this.#place = place;
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
    await this.#place.remove();
  }

  async #fill(): Promise<void> {
    for (let n = 0; n < RUNS; n += 50) {
      const runIds = Array.from({ length: Math.min(50, RUNS - n) }, (_, at) => `run-${n + at}`);
      for (let seq = 1; seq <= EVENTS_A_RUN; seq++)
        await this.#whole.runs.appendEvents(runIds.map((runId) => runEvent(runId, `${this.#events + seq}`)));
    }
    this.#events += EVENTS_A_RUN;
  }

  /** Events that nobody gets. */
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
    } while (performance.now() - began < LEAST_MS);
    return perSecond(count, began);
  }

  async #handle(): Promise<number> {
    this.#heard.clear();
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
    const seqs = this.#heard.get(runId);
    if (seqs) seqs.push(runSeq);
    else this.#heard.set(runId, [runSeq]);
  }

  async #project(): Promise<number> {
    const began = performance.now();
    const projector = await createProjector({ store: this.#store, name: `snapshots-${this.#round}` });
    const expected = RUNS - (this.#isDamaged ? 1 : 0);
    await until(() => projector.status().refreshed >= expected);
    const rate = perSecond(projector.status().refreshed, began);
    await projector.stop();
    return rate;
  }

  async #write(): Promise<number> {
    const { runs } = this.#whole.forTenant('other');
    let count = 0;
    const began = performance.now();
    while (performance.now() - began < LEAST_MS)
      await runs.appendEvent({ ...runEvent('other', `${this.#round}-${count++}`), tenantId: 'other' });
    return perSecond(count, began);
  }

  /** After repair and release the subscription has every event of every run once and in order. */
  async released(): Promise<string[]> {
    this.#damage.run = null;
    await this.#store.runs.releaseRun(SICK);
    await this.#store.runs.appendEvent(runEvent(SICK, 'after'));
    const handler = (event: RunEventRecord) => this.#note(event);
    const options = { name: `all-${this.#round}`, filter: { tenantId: 'default' }, handler };
    const subscription = await subscribe(this.#store, options);
    await until(() => (this.#heard.get(SICK)?.length ?? 0) >= this.#events + 1);
    await sleep(500);
    await subscription.stop();
    return [...this.#heard].flatMap(([runId, seqs]) => {
      const length = runId === SICK ? this.#events + 1 : this.#events;
      const whole = Array.from({ length }, (_, at) => at + 1);
      return seqs.join() === whole.join() ? [] : [`${runId} was handled as ${seqs.join()}`];
    });
  }
}

const perSecond = (count: number, began: number) => count / ((performance.now() - began) / 1_000);

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

/** What was seen of one engine, in words, and whether it is good enough. */
async function judge(engine: EngineName): Promise<{ told: string; isGood: boolean }> {
  const [sound, damaged] = [await Subject.open(engine, false), await Subject.open(engine, true)];
  try {
    const rounds: { sound: Rates; damaged: Rates }[] = [];
    // The first round counts for nothing: the process warms up. Each goes first in every other round.
    for (let round = 0; round <= ROUNDS; round++) {
      const first = await (round % 2 ? sound : damaged).round();
      const second = await (round % 2 ? damaged : sound).round();
      if (round > 0) rounds.push(round % 2 ? { sound: first, damaged: second } : { sound: second, damaged: first });
    }
    const problems = await damaged.released();
    const told = PARTS.map((part) => {
      const ratios = rounds.map((rates) => rates.damaged[part] / rates.sound[part]);
      const [least, most] = [Math.min(...ratios), Math.max(...ratios)].map((ratio) => ratio.toFixed(2));
      const rate = median(rounds.map((rates) => rates.damaged[part]));
      if (median(ratios) < LEAST_RATE) problems.push(`${part} is slower beside damage`);
      return `${part} ${median(ratios).toFixed(2)} (${least} to ${most}, ${Math.round(rate)}/s)`;
    }).join(', ');
    const { alertMs } = damaged;
    if (alertMs === null || alertMs > MOST_ALERT_MS) problems.push('the alert was late');
    const alert = alertMs === null ? 'no alert' : `alert after ${Math.round(alertMs)} ms`;
    const lines = [`${engine}: ${told}; ${alert}; ${problems.length} problems`, ...problems.slice(0, 10)];
    return { told: lines.join('\n  '), isGood: problems.length === 0 };
  } finally {
    await sound.remove();
    await damaged.remove();
  }
}

let failed = false;
for (const engine of values.engines.split(',') as EngineName[]) {
  const { told, isGood } = await judge(engine);
  console.log(told);
  failed ||= !isGood;
}
process.exitCode = failed ? 1 : 0;

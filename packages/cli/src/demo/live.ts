/** Keeps a demo store changing: orders advance through their steps, jobs are completed, an agent writes updates. */

import { isTidemarkError, type Store, withRetries } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';

const TICK_MS = 700;
const STEPS = ['validate-cart', 'reserve-stock', 'charge-card', 'ship-parcel', 'send-receipt'];
const AT_ONCE = 3;

/** Runs until aborted and returns the number of ticks. */
export async function keepMoving(store: Store, signal: AbortSignal, tickMs = TICK_MS): Promise<number> {
  const moving = new MovingDemo(withRetries(store));
  let ticks = 0;
  while (!signal.aborted) {
    try {
      await moving.tick(ticks++);
    } catch (error) {
      // The store may be closed during a tick when the process ends.
      if (isTidemarkError(error, 'STORE_CLOSED')) return ticks;
      throw error;
    }
    await sleep(tickMs, signal);
  }
  return ticks;
}

interface LiveOrder {
  runId: string;
  /** Number of events written so far. */
  written: number;
}

class MovingDemo {
  readonly #store: Store;
  readonly #orders: LiveOrder[] = [];
  /** Distinguishes the orders of this process from the orders of an earlier process. */
  readonly #start = Date.now();
  #started = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  async tick(number: number): Promise<void> {
    if (this.#orders.length < AT_ONCE)
      this.#orders.push({ runId: `live-${this.#start}-${++this.#started}`, written: 0 });
    const order = this.#orders[number % this.#orders.length]!;
    if (await this.#advance(order)) this.#orders.splice(this.#orders.indexOf(order), 1);
    await this.#work(number);
    await this.#think(number);
  }

  /** Appends the next event of an order; returns true once it has ended. */
  async #advance(order: LiveOrder): Promise<boolean> {
    const run = this.#store.runs.handle(order.runId, {
      tenantId: 'acme',
      projectId: 'shop',
      environmentId: 'production',
      planId: 'checkout',
      planVersion: '8',
      labels: { channel: 'live' },
    });
    const at = order.written++;
    const stepId = STEPS[Math.floor((at - 1) / 2)];
    if (at === 0) await run.append('RunStarted', { by: 'demo' });
    else if (stepId === undefined) await run.append('RunCompleted', { events: at });
    else await run.append(at % 2 === 1 ? 'StepStarted' : 'StepCompleted', {}, { stepId });
    return stepId === undefined && at > 0;
  }

  async #work(number: number): Promise<void> {
    const { jobs } = this.#store;
    if (number % 3 === 0) await jobs.enqueue({ taskType: 'email-send', taskId: `live-${this.#start}-${number}` });
    if (number % 4 !== 0) return;
    const claimed = await jobs.claim(
      { taskType: 'email-send' },
      { worker: 'demo', claimId: `live-${this.#start}-${number}` },
    );
    if (claimed) await jobs.complete(claimed, { ttl: '1h' });
  }

  async #think(number: number): Promise<void> {
    if (number % 5 !== 0) return;
    const ids = { sessionId: 'session-01', taskId: 'session-01-task-2', updateId: `live-${this.#start}-${number}` };
    const content = { text: `Thought ${number}: is there more to know?` };
    await this.#store.agents.saveUpdate({
      ...ids,
      updateType: 'THINKING',
      content,
      createdAt: new Date().toISOString(),
    });
  }
}

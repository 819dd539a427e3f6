/**
 * Limits the amount of heavy work that each tenant has in progress. A store serves calls in order of arrival, so all
 * tenants wait for work that another tenant has already started.
 */
import { MAX_WAIT_MS, overShare, type Shares } from './shares.ts';

/** Limits in estimated milliseconds: while the process is idle, and while tenants are limited to their shares. */
const MAX_MS = 150;
const MAX_PACED_MS = 10;

interface Waiting {
  cost: number;
  begin(): void;
  /** The timeout of work that must not wait for an unlimited time. */
  timer?: NodeJS.Timeout;
}

interface Lane {
  underWay: number;
  waiting: Waiting[];
}

export class Work {
  readonly #shares: Shares;
  readonly #lanes = new Map<string, Lane>();

  constructor(shares: Shares) {
    this.#shares = shares;
  }

  /**
   * Begins the work at once, or returns a promise that resolves when the work may begin. The caller must then call
   * `end` with the same cost. A tenant without work in progress may always begin one piece of work. Work without
   * `mayWaitForever` is refused after `MAX_WAIT_MS`, so that a stalled sender blocks its own tenant only for a
   * limited time.
   */
  begin(account: string, cost: number, mayWaitForever = true): Promise<void> | undefined {
    const lane = this.#lanes.get(account) ?? { underWay: 0, waiting: [] };
    this.#lanes.set(account, lane);
    if (lane.waiting.length === 0 && this.#fits(lane, cost)) {
      lane.underWay += cost;
      return undefined;
    }
    return new Promise((begin, reject) => {
      const waiting: Waiting = { cost, begin };
      lane.waiting.push(waiting);
      if (mayWaitForever) return;
      waiting.timer = setTimeout(() => {
        lane.waiting.splice(lane.waiting.indexOf(waiting), 1);
        reject(overShare());
      }, MAX_WAIT_MS);
    });
  }

  /** Ends work. The next work begins in a later turn of the event loop, after other pending events. */
  end(account: string, cost: number): void {
    const lane = this.#lanes.get(account)!;
    lane.underWay = Math.max(0, lane.underWay - cost);
    for (let next = lane.waiting[0]; next && this.#fits(lane, next.cost); next = lane.waiting[0]) {
      lane.waiting.shift();
      clearTimeout(next.timer);
      lane.underWay += next.cost;
      setImmediate(next.begin);
    }
    if (lane.underWay < EMPTY_MS && lane.waiting.length === 0) this.#lanes.delete(account);
  }

  #fits({ underWay }: Lane, cost: number): boolean {
    return underWay < EMPTY_MS || underWay + cost <= (this.#shares.isPacing ? MAX_PACED_MS : MAX_MS);
  }
}

/** Sums below this value count as zero, because sums of fractions do not return to exactly zero. */
const EMPTY_MS = 0.001;

/**
 * Reads of topics, a few of each tenant at a time: a store serves its calls in the order they came, and ten thousand topics that
 * look at once would keep everybody else waiting.
 */
import { COST, type Shares } from '../limits/shares.ts';
import { Work } from '../limits/work.ts';
import type { StreamPage } from './source.ts';

/** How much of the work that may be under way a read takes: some twenty at a time, and one while the process is busy. */
const IN_STORE = 7;

export class Reads {
  readonly #shares: Shares;
  readonly #work: Work;

  constructor(shares: Shares) {
    this.#shares = shares;
    this.#work = new Work(shares);
  }

  /** Reads a page when it is the turn of its tenant. */
  async page(account: string, read: () => Promise<StreamPage>): Promise<StreamPage> {
    const begun = this.#work.begin(account, IN_STORE);
    if (begun) await begun;
    try {
      const turn = this.#shares.enter(account, COST.page, true);
      if (turn) await turn;
      const page = await read();
      this.#shares.charge(account, page.items.length * COST.row);
      return page;
    } finally {
      this.#work.end(account, IN_STORE);
    }
  }

  /** Pays for an item that one reader got. */
  chargeDelivery(account: string): void {
    this.#shares.charge(account, COST.delivery);
  }
}

/**
 * Limits the reads of topics to a few per tenant at a time. A store serves calls in order of arrival, so if ten
 * thousand topics read at once, all tenants would have to wait.
 */
import { COST, type Shares } from '../limits/shares.ts';
import { Work } from '../limits/work.ts';
import type { StreamPage } from './source.ts';

/**
 * The cost of a read, counted against the tenant's limit on work: about twenty reads at a time, or one while the
 * process is busy.
 */
const IN_STORE = 7;

export class Reads {
  readonly #shares: Shares;
  readonly #work: Work;

  constructor(shares: Shares) {
    this.#shares = shares;
    this.#work = new Work(shares);
  }

  /** Reads a page when it is the tenant's turn. */
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

  /** Charges an item that was delivered to one reader. */
  chargeDelivery(account: string): void {
    this.#shares.charge(account, COST.delivery);
  }
}

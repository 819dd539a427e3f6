/** Current and recent usage of one key, or of one tenant with all its keys. */
import type { CallerLimits } from '../limits.ts';
import { Bucket } from './bucket.ts';

/** Limits on concurrency. */
export type Held = 'requestsAtATime' | 'streamsAtATime' | 'waitsAtATime' | 'topicsAtATime';
/** Limits per second. */
export type Rate = 'requestsPerSecond' | 'bytesPerSecond' | 'rowsPerSecond' | 'readBytesPerSecond';

const RATES: readonly Rate[] = ['requestsPerSecond', 'bytesPerSecond', 'rowsPerSecond', 'readBytesPerSecond'];

export class Use {
  readonly limits: CallerLimits;
  /** Prefix of limit names in refusals: `tenant.` for tenants. */
  readonly prefix: string;
  readonly held: Record<Held, number> = {
    requestsAtATime: 0,
    streamsAtATime: 0,
    waitsAtATime: 0,
    topicsAtATime: 0,
  };
  readonly #rates: Record<Rate, Bucket>;

  constructor(limits: CallerLimits, prefix: string) {
    this.limits = limits;
    this.prefix = prefix;
    const entries = RATES.map((rate) => [rate, new Bucket(limits[rate], 2 * limits[rate])]);
    this.#rates = Object.fromEntries(entries) as Record<Rate, Bucket>;
  }

  rate(rate: Rate): Bucket {
    return this.#rates[rate];
  }

  /** Whether nothing is in progress and nothing was used recently. */
  get isIdle(): boolean {
    return Object.values(this.held).every((it) => it === 0) && RATES.every((rate) => this.#rates[rate].isFull);
  }
}

/**
 * Leases in KV: a record that lives as long as its holder renews it, by the engine's clock. Whoever holds it may work;
 * what it writes is guarded by a token besides, because a holder that was paused does not know that it lost.
 */
import type { KvStore } from '@tidemark/core';

export class Lease {
  readonly token: string;
  readonly #kv: KvStore;
  readonly #key: string;
  readonly #ms: number;
  /** By our own clock, counted from before the last renewal was sent: never later than the engine's. */
  #validUntil: number;

  private constructor(kv: KvStore, key: string, token: string, ms: number, validUntil: number) {
    this.#kv = kv;
    this.#key = key;
    this.token = token;
    this.#ms = ms;
    this.#validUntil = validUntil;
  }

  /** Takes the lease if nobody has it. */
  static async take(kv: KvStore, key: string, holder: { owner: string; ms: number }): Promise<Lease | null> {
    const [token, asked] = [crypto.randomUUID(), performance.now()];
    const { swapped } = await kv.swap(key, {
      expectedRevision: 0,
      set: { owner: holder.owner, token },
      ttl: holder.ms,
      requestId: token,
    });
    return swapped ? new Lease(kv, key, token, holder.ms, asked + holder.ms) : null;
  }

  /** Whether it is still certain that nobody else holds it. */
  get isValid(): boolean {
    return performance.now() < this.#validUntil;
  }

  /** Starts its time anew; false when it is lost. */
  async renew(): Promise<boolean> {
    const asked = performance.now();
    const { swapped } = await this.#kv.swap(this.#key, {
      expected: { token: this.token },
      set: { token: this.token },
      ttl: this.#ms,
    });
    this.#validUntil = swapped ? asked + this.#ms : 0;
    return swapped;
  }

  /** Gives it up, so that nobody need wait for it to run out. */
  async release(): Promise<void> {
    this.#validUntil = 0;
    await this.#kv.swap(this.#key, { expected: { token: this.token }, set: { owner: null, token: null } });
  }
}

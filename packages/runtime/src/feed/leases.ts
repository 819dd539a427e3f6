/**
 * Leases in KV: records that expire by the engine's clock unless their holders renew them. A token also guards the
 * writes of a holder, because a suspended holder does not know that it has lost the lease.
 */
import type { KvStore } from '@tidemark/core';

export class Lease {
  readonly token: string;
  readonly #kv: KvStore;
  readonly #key: string;
  readonly #ms: number;
  /**
   * In local time, counted from before the last renewal was sent. It is therefore never later than the expiry by the
   * engine's clock.
   */
  #validUntil: number;

  private constructor(kv: KvStore, key: string, token: string, ms: number, validUntil: number) {
    this.#kv = kv;
    this.#key = key;
    this.token = token;
    this.#ms = ms;
    this.#validUntil = validUntil;
  }

  /** Takes the lease if it is free. */
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

  /** Whether the lease is certain not to have expired. */
  get isValid(): boolean {
    return performance.now() < this.#validUntil;
  }

  /** Renews the lease. Returns false if it is lost. */
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

  /** Releases the lease, so that other processes need not wait until it expires. */
  async release(): Promise<void> {
    this.#validUntil = 0;
    await this.#kv.swap(this.#key, { expected: { token: this.token }, set: { owner: null, token: null } });
  }
}

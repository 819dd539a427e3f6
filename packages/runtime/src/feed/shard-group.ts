/**
 * Divides the shards of a name among processes. Each process takes leases up to its share, returns the rest, and takes
 * over shards that others release or lose. There is no coordinator.
 */
import type { KvStore } from '@tidemark/core';
import { Lease } from './leases.ts';

/** A shard that this process holds. */
export interface HeldShard {
  readonly number: number;
  readonly lease: Lease;
  /** Set when another process should take this shard: finish the current work, then call `giveBack`. */
  leaving: boolean;
}

export interface ShardGroupOptions {
  kv: KvStore;
  /** Prefix of all keys of the group. */
  prefix: string;
  shards: number;
  member: string;
  leaseMs: number;
  /** Called with the errors of a round. The next round retries. */
  onError: (error: unknown) => void;
}

/** Renewals per lease: two may fail before it expires. */
const ROUNDS_PER_LEASE = 3;

export class ShardGroup {
  readonly held = new Map<number, HeldShard>();
  readonly #options: ShardGroupOptions;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | null = null;
  #stopped = false;

  constructor(options: ShardGroupOptions) {
    this.#options = options;
  }

  /** Balances the shards immediately, and again every third of a lease. */
  async start(): Promise<void> {
    await this.#tend();
    if (this.#stopped) return;
    this.#timer = setInterval(() => void this.#tend(), this.#options.leaseMs / ROUNDS_PER_LEASE);
  }

  /** Releases all shards. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#round;
    await Promise.all([...this.held.values()].map((shard) => this.giveBack(shard)));
    await this.#options.kv.delete(this.#memberKey(this.#options.member)).catch(this.#options.onError);
  }

  /** Releases a shard for another process. */
  async giveBack(shard: HeldShard): Promise<void> {
    this.held.delete(shard.number);
    await shard.lease.release().catch(this.#options.onError);
  }

  #tend(): Promise<void> {
    this.#round ??= this.#balance()
      .catch(this.#options.onError)
      .finally(() => {
        this.#round = null;
      });
    return this.#round;
  }

  async #balance(): Promise<void> {
    const { kv, member, leaseMs, shards } = this.#options;
    await kv.put(this.#memberKey(member), { at: Date.now() }, { ttl: leaseMs });
    await Promise.all([...this.held.values()].map((shard) => this.#keep(shard)));
    const share = Math.ceil(shards / (await this.#countMembers()));
    const staying = [...this.held.values()].filter((shard) => !shard.leaving);
    for (const shard of staying.slice(share)) shard.leaving = true;
    if (staying.length < share) await this.#takeSome(share - staying.length);
  }

  async #keep(shard: HeldShard): Promise<void> {
    // An error does not mean that the lease is lost; it stays valid until it expires.
    const kept = await shard.lease.renew().catch((error) => {
      this.#options.onError(error);
      return shard.lease.isValid;
    });
    if (!kept) this.held.delete(shard.number);
  }

  async #countMembers(): Promise<number> {
    let members = 0;
    for await (const _ of this.#options.kv.scan(this.#memberKey(''))) members++;
    return Math.max(1, members);
  }

  async #takeSome(wanted: number): Promise<void> {
    const { kv, shards, member, leaseMs } = this.#options;
    const first = Math.floor(Math.random() * shards);
    const others = Array.from({ length: shards }, (_, at) => (first + at) % shards).filter((it) => !this.held.has(it));
    const leases = await kv.getMany(others.map((number) => this.#leaseKey(number)));
    for (const number of others.filter((_, at) => leases[at] === null)) {
      if (wanted === 0 || this.#stopped) return;
      const lease = await Lease.take(kv, this.#leaseKey(number), { owner: member, ms: leaseMs });
      if (!lease) continue;
      this.held.set(number, { number, lease, leaving: false });
      wanted--;
    }
  }

  #memberKey(member: string): string {
    return `${this.#options.prefix}.member.${member}`;
  }

  #leaseKey(shard: number): string {
    return `${this.#options.prefix}.lease.${shard}`;
  }
}

/**
 * Divides the processing time among tenants while the process is busy. Every request, page and stream costs its tenant
 * an estimated time. A tenant that has used up its share waits, and other tenants do not. While the process is not
 * busy, no tenant waits.
 *
 * The estimates need not be exact: the size of a share follows the utilization of the event loop, and never falls below
 * an equal part of the whole.
 */

import { performance } from 'node:perf_hooks';
import { sleep } from '@tidemark/core/engine';
import { Refusal } from '../http/refusal.ts';

/** Estimated milliseconds of work. */
export const COST = {
  request: 0.25,
  appendedEvent: 0.1,
  /** A page of a topic. Most pages are empty. */
  page: 0.15,
  row: 0.01,
  /** A row of a list, including its serialisation. */
  listedRow: 0.02,
  /** One item for one reader. */
  delivery: 0.02,
} as const;

const MS_PER_BYTE = 10 / 1_000_000;
export const LARGE_BYTES = 256 * 1_024;
/** A body is parsed in one go and blocks all callers, so its cost grows faster than its size. */
const MS_PER_LARGE_BYTE = 60 / 1_000_000;

export function costOfBytes(bytes: number): number {
  return bytes <= LARGE_BYTES ? bytes * MS_PER_BYTE : bytes * MS_PER_LARGE_BYTE;
}

const CONTROL_MS = 50;
const DRAIN_MS = 4;
/** Shares shrink while the utilisation of the event loop is above this value, and grow while it is below. */
const BUSY = 0.7;
const MAX_STEPS = 10;
const SHRINK = 0.75;
const GROW = 1.03;
/** Work per time that is effectively unlimited. */
const MAX_LEVEL = 4;
/** The work that a tenant may do at once after it was idle. */
const BURST_MS = 15;
/** Number of control steps for which a tenant counts as active after its last request. */
const ACTIVE_STEPS = 20;
export const MAX_WAIT_MS = 30_000;
const BLOCKS_APART = 100;
const MANY_ACCOUNTS = 10_000;

interface Waiting {
  cost: number;
  /** The time at which the waiting work is refused. */
  until: number;
  resolve(): void;
  reject(error: Refusal): void;
}

interface Account {
  name: string;
  /** Milliseconds of work that the tenant may still do; negative if it has done too much. */
  balance: number;
  filledAt: number;
  activeAt: number;
  /** When the tenant may send its next very large body. */
  nextBlockAt: number;
  queue: Waiting[];
}

export class Shares {
  readonly #accounts = new Map<string, Account>();
  readonly #queued = new Set<Account>();
  /** Milliseconds of work per millisecond for each tenant. */
  #level = MAX_LEVEL;
  #step = 0;
  #active = 0;
  #adjustedAt = 0;
  #utilization = performance.eventLoopUtilization();
  #control: NodeJS.Timeout | null = null;
  #drain: NodeJS.Timeout | null = null;
  /** Requests and reads that had to wait. */
  delayed = 0;

  /** Whether tenants are currently limited to their shares. */
  get isPacing(): boolean {
    return this.#level < MAX_LEVEL;
  }

  /** The estimated share of processing time that each tenant may use now. */
  get level(): number {
    return this.#level;
  }

  get waiting(): number {
    let waiting = 0;
    for (const { queue } of this.#queued) waiting += queue.length;
    return waiting;
  }

  /**
   * Charges work. Returns a promise if the work must wait, otherwise `undefined`. Work without `mayWaitForever` is
   * refused with 429 after `MAX_WAIT_MS`.
   */
  enter(name: string, cost: number, mayWaitForever = false): Promise<void> | undefined {
    const account = this.#accountOf(name);
    account.activeAt = this.#step;
    if (this.#control === null) this.#start();
    if (account.queue.length === 0) {
      if (this.#level >= MAX_LEVEL) return undefined;
      this.#fill(account, performance.now());
      if (account.balance > 0) {
        account.balance -= cost;
        return undefined;
      }
    }
    return this.#wait(account, cost, mayWaitForever ? Number.POSITIVE_INFINITY : performance.now() + MAX_WAIT_MS);
  }

  /**
   * Spaces out work that blocks the event loop for long while other tenants are active. Each block delays everyone's
   * requests, so the blocks of a tenant may take at most a hundredth of the time.
   */
  space(name: string, blockMs: number): Promise<void> | undefined {
    if (this.#active < 2) return undefined;
    const account = this.#accountOf(name);
    const now = performance.now();
    const at = Math.max(now, account.nextBlockAt);
    if (at - now > MAX_WAIT_MS) throw overShare();
    account.nextBlockAt = at + blockMs * BLOCKS_APART;
    if (at === now) return undefined;
    this.delayed++;
    return sleep(at - now);
  }

  /** Charges work that is already done. */
  charge(name: string, cost: number): void {
    if (this.#level >= MAX_LEVEL) return;
    this.#accountOf(name).balance -= cost;
  }

  close(): void {
    if (this.#control) clearInterval(this.#control);
    if (this.#drain) clearInterval(this.#drain);
    for (const { queue } of this.#queued) for (const { resolve } of queue.splice(0)) resolve();
    this.#queued.clear();
  }

  #wait(account: Account, cost: number, until: number): Promise<void> {
    this.delayed++;
    this.#queued.add(account);
    this.#drain ??= setInterval(() => this.#serve(), DRAIN_MS).unref();
    return new Promise((resolve, reject) => {
      account.queue.push({ cost, until, resolve, reject });
    });
  }

  #accountOf(name: string): Account {
    let account = this.#accounts.get(name);
    if (!account) {
      if (this.#accounts.size >= MANY_ACCOUNTS) this.#forgetIdle();
      account = {
        name,
        balance: BURST_MS,
        filledAt: performance.now(),
        activeAt: this.#step,
        nextBlockAt: 0,
        queue: [],
      };
      this.#accounts.set(name, account);
    }
    return account;
  }

  #forgetIdle(): void {
    for (const [name, { activeAt, queue }] of this.#accounts)
      if (queue.length === 0 && this.#step - activeAt > ACTIVE_STEPS) this.#accounts.delete(name);
  }

  #fill(account: Account, now: number): void {
    account.balance = Math.min(BURST_MS, account.balance + (now - account.filledAt) * this.#level);
    account.filledAt = now;
  }

  #start(): void {
    this.#utilization = performance.eventLoopUtilization();
    this.#adjustedAt = performance.now();
    this.#control = setInterval(() => this.#adjust(), CONTROL_MS).unref();
  }

  #adjust(): void {
    this.#step++;
    const before = this.#utilization;
    this.#utilization = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(this.#utilization, before);
    let active = 0;
    for (const { activeAt, queue } of this.#accounts.values())
      if (queue.length > 0 || this.#step - activeAt <= ACTIVE_STEPS) active++;
    this.#active = active;
    // A step that a long block has delayed counts as several steps.
    const now = performance.now();
    const steps = Math.min(MAX_STEPS, Math.max(1, Math.round((now - this.#adjustedAt) / CONTROL_MS)));
    this.#adjustedAt = now;
    const wasPacing = this.isPacing;
    if (active < 2) this.#level = MAX_LEVEL;
    else if (utilization > BUSY)
      this.#level = wasPacing ? Math.max(1 / active, this.#level * SHRINK ** steps) : 1 / active;
    else this.#level = Math.min(MAX_LEVEL, this.#level * GROW ** steps);
    if (!wasPacing && this.isPacing) this.#reset();
    if (active === 0) {
      clearInterval(this.#control!);
      this.#control = null;
    }
  }

  /** Discards earlier balances, because the work done since then was not measured. */
  #reset(): void {
    const now = performance.now();
    for (const account of this.#accounts.values()) {
      account.balance = BURST_MS;
      account.filledAt = now;
    }
  }

  /** Starts the queued work that each tenant may do now, tenant by tenant. */
  #serve(): void {
    const now = performance.now();
    for (const account of this.#queued) {
      this.#fill(account, now);
      while (account.queue.length > 0 && account.balance > 0) {
        const { cost, resolve } = account.queue.shift()!;
        account.balance -= cost;
        resolve();
      }
      while (account.queue.length > 0 && account.queue[0]!.until < now) account.queue.shift()!.reject(overShare());
      if (account.queue.length === 0) this.#queued.delete(account);
    }
    if (this.#queued.size === 0) this.#stopDraining();
  }

  #stopDraining(): void {
    if (this.#drain) clearInterval(this.#drain);
    this.#drain = null;
  }
}

export function overShare(): Refusal {
  return new Refusal(
    429,
    'OVERLOADED',
    'The server is busy and this tenant has used up its share; try again later',
    { field: 'share', rule: "within the tenant's share while the server is busy" },
    { 'retry-after': '5' },
  );
}

/**
 * Divides the time of the process among tenants while it is busy. Every request, page and stream costs its tenant an estimated
 * time. A tenant that has used up its share waits; the others pass. While the process has time left nobody waits.
 *
 * The estimates need not be right: the size of a share follows the utilization of the event loop, and never falls below an
 * equal part of the whole.
 */

import { performance } from 'node:perf_hooks';
import { sleep } from '@tidemark/core/engine';
import { Refusal } from '../http/refusal.ts';

/** Milliseconds of work by estimate. */
export const COST = {
  request: 0.25,
  appendedEvent: 0.1,
  /** A page of a topic; most are empty. */
  page: 0.15,
  row: 0.01,
  /** A row of a list with its text. */
  listedRow: 0.02,
  /** One item to one reader. */
  delivery: 0.02,
} as const;

const MS_PER_BYTE = 10 / 1_000_000;
export const LARGE_BYTES = 256 * 1_024;
/** A body is parsed in one go, and everybody waits for it: its cost grows faster than its size. */
const MS_PER_LARGE_BYTE = 60 / 1_000_000;

export function costOfBytes(bytes: number): number {
  return bytes <= LARGE_BYTES ? bytes * MS_PER_BYTE : bytes * MS_PER_LARGE_BYTE;
}

const CONTROL_MS = 50;
const DRAIN_MS = 4;
/** Above this utilization of the event loop shares become smaller, below it larger. */
const BUSY = 0.7;
const MOST_STEPS = 10;
const SHRINK = 0.75;
const GROW = 1.03;
/** Work per time that is as good as no bound. */
const MOST_LEVEL = 4;
/** Work a tenant may do at once after it was quiet. */
const BURST_MS = 15;
/** A tenant counts as active for so many control steps after its last request. */
const ACTIVE_STEPS = 20;
export const LONGEST_WAIT_MS = 30_000;
const BLOCKS_APART = 100;
const MANY_ACCOUNTS = 10_000;

interface Waiting {
  cost: number;
  /** When it gives up. */
  until: number;
  resolve(): void;
  reject(error: Refusal): void;
}

interface Account {
  name: string;
  /** Milliseconds of work it may still do; negative: it has done too much. */
  balance: number;
  filledAt: number;
  activeAt: number;
  /** When it may send the next very large body. */
  nextBlockAt: number;
  queue: Waiting[];
}

export class Shares {
  readonly #accounts = new Map<string, Account>();
  readonly #queued = new Set<Account>();
  /** Milliseconds of work in a millisecond that each tenant may do. */
  #level = MOST_LEVEL;
  #step = 0;
  #active = 0;
  #adjustedAt = 0;
  #utilization = performance.eventLoopUtilization();
  #control: NodeJS.Timeout | null = null;
  #drain: NodeJS.Timeout | null = null;
  /** Requests and reads that had to wait. */
  delayed = 0;

  /** Whether tenants are held to their shares now. */
  get isPacing(): boolean {
    return this.#level < MOST_LEVEL;
  }

  /** How much of the process's time a tenant may use now, by estimate. */
  get level(): number {
    return this.#level;
  }

  get waiting(): number {
    let waiting = 0;
    for (const { queue } of this.#queued) waiting += queue.length;
    return waiting;
  }

  /**
   * Pays for work. Returns a promise when the work must wait, and nothing when it may begin. Work that is not patient is refused
   * with 429 in the end.
   */
  enter(name: string, cost: number, isPatient = false): Promise<void> | undefined {
    const account = this.#accountOf(name);
    account.activeAt = this.#step;
    if (this.#control === null) this.#start();
    if (account.queue.length === 0) {
      if (this.#level >= MOST_LEVEL) return undefined;
      this.#fill(account, performance.now());
      if (account.balance > 0) {
        account.balance -= cost;
        return undefined;
      }
    }
    return this.#wait(account, cost, isPatient ? Number.POSITIVE_INFINITY : performance.now() + LONGEST_WAIT_MS);
  }

  /**
   * Spaces work that keeps the event loop for long, while others are active: one such block delays everybody's requests, so that
   * the blocks of a tenant may take a hundredth of the time at most.
   */
  space(name: string, blockMs: number): Promise<void> | undefined {
    if (this.#active < 2) return undefined;
    const account = this.#accountOf(name);
    const now = performance.now();
    const at = Math.max(now, account.nextBlockAt);
    if (at - now > LONGEST_WAIT_MS) throw overShare();
    account.nextBlockAt = at + blockMs * BLOCKS_APART;
    if (at === now) return undefined;
    this.delayed++;
    return sleep(at - now);
  }

  /** Pays for work that is done already. */
  charge(name: string, cost: number): void {
    if (this.#level >= MOST_LEVEL) return;
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
    // A step that came late, behind a long block, stands for several.
    const now = performance.now();
    const steps = Math.min(MOST_STEPS, Math.max(1, Math.round((now - this.#adjustedAt) / CONTROL_MS)));
    this.#adjustedAt = now;
    const wasPacing = this.isPacing;
    if (active < 2) this.#level = MOST_LEVEL;
    else if (utilization > BUSY)
      this.#level = wasPacing ? Math.max(1 / active, this.#level * SHRINK ** steps) : 1 / active;
    else this.#level = Math.min(MOST_LEVEL, this.#level * GROW ** steps);
    if (!wasPacing && this.isPacing) this.#reset();
    if (active === 0) {
      clearInterval(this.#control!);
      this.#control = null;
    }
  }

  /** Work from before counts for nothing: it was not measured. */
  #reset(): void {
    const now = performance.now();
    for (const account of this.#accounts.values()) {
      account.balance = BURST_MS;
      account.filledAt = now;
    }
  }

  /** Lets through what each tenant may do by now, in turn. */
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

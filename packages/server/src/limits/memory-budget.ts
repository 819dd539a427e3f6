/**
 * The budget for memory that callers make the server hold: bodies, lines of restores and bulk appends, live streams.
 * Every byte is reserved before it is kept and released when its request ends, so that the process refuses work instead
 * of running out of memory.
 *
 * A tenant may hold at most as much memory as is still free. A single tenant can therefore hold half of the budget, and
 * two tenants a third each. Some memory is always left for another tenant.
 */
import { Refusal } from '../http/refusal.ts';

/** The memory reserved by one request, stream or queue. Repeated calls of `release` have no effect. */
export interface MemoryLease {
  /** Reserves more bytes. Throws a refusal: 413 if they could never fit, 503 if they do not fit now. */
  grow(bytes: number): void;
  /** Whether `grow` would succeed now. */
  mayGrow(bytes: number): boolean;
  /** Releases some of the bytes early. */
  shrink(bytes: number): void;
  release(): void;
}

export class MemoryBudget {
  /** The whole budget. */
  readonly totalBytes: number;
  /** Number of refusals so far. */
  refusals = 0;
  #usedBytes = 0;
  readonly #tenants = new Map<string | null, number>();

  constructor(totalBytes: number) {
    this.totalBytes = totalBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Returns the bytes that a tenant holds. `null` stands for operators. */
  usedBy(tenantId: string | null): number {
    return this.#tenants.get(tenantId) ?? 0;
  }

  /** Opens an empty lease. */
  lease(tenantId: string | null): MemoryLease {
    return new Lease(this, tenantId);
  }

  /** Throws if a tenant could never hold this many bytes. */
  checkFits(bytes: number): void {
    const most = Math.floor(this.totalBytes / 2);
    if (bytes <= most) return;
    this.refusals++;
    const rule = `at most ${most} bytes of the server's memory`;
    throw new Refusal(
      413,
      'PAYLOAD_TOO_LARGE',
      `The request needs more than ${most} bytes of memory; send less at once`,
      {
        field: 'memory',
        rule,
      },
    );
  }

  /**
   * Whether a tenant may hold this many more bytes. It may if afterwards at least as many bytes are free as the tenant
   * holds.
   */
  allows(tenantId: string | null, bytes: number): boolean {
    return this.usedBy(tenantId) + bytes <= this.totalBytes - this.#usedBytes - bytes;
  }

  /** Called by leases only. */
  take(tenantId: string | null, bytes: number, heldBytes: number): void {
    if (!this.allows(tenantId, bytes)) {
      this.checkFits(heldBytes + bytes);
      this.refusals++;
      throw new Refusal(503, 'OVERLOADED', 'No memory is free for this request at the moment; retry later', {
        field: 'memory',
        rule: 'no more than what is free of the memory for bodies, restores and streams',
      });
    }
    this.#usedBytes += bytes;
    this.#tenants.set(tenantId, this.usedBy(tenantId) + bytes);
  }

  /** Called by leases only. */
  give(tenantId: string | null, bytes: number): void {
    this.#usedBytes -= bytes;
    const left = this.#tenants.get(tenantId)! - bytes;
    if (left > 0) this.#tenants.set(tenantId, left);
    else this.#tenants.delete(tenantId);
  }

  /** Returns lines in the Prometheus text format. */
  render(): string[] {
    return [
      '# HELP tidemark_memory_budget_bytes Memory that bodies, restores and streams may take.',
      '# TYPE tidemark_memory_budget_bytes gauge',
      `tidemark_memory_budget_bytes ${this.totalBytes}`,
      '# HELP tidemark_memory_reserved_bytes Memory that they take now.',
      '# TYPE tidemark_memory_reserved_bytes gauge',
      `tidemark_memory_reserved_bytes ${this.#usedBytes}`,
      '# HELP tidemark_memory_refusals_total Requests refused because they did not fit.',
      '# TYPE tidemark_memory_refusals_total counter',
      `tidemark_memory_refusals_total ${this.refusals}`,
    ];
  }
}

class Lease implements MemoryLease {
  readonly #budget: MemoryBudget;
  readonly #tenantId: string | null;
  #bytes = 0;
  #isReleased = false;

  constructor(budget: MemoryBudget, tenantId: string | null) {
    this.#budget = budget;
    this.#tenantId = tenantId;
  }

  grow(bytes: number): void {
    // A body may still arrive after the response, but none of it is kept.
    if (this.#isReleased) return;
    this.#budget.take(this.#tenantId, bytes, this.#bytes);
    this.#bytes += bytes;
  }

  mayGrow(bytes: number): boolean {
    return this.#isReleased || this.#budget.allows(this.#tenantId, bytes);
  }

  shrink(bytes: number): void {
    const given = Math.min(bytes, this.#bytes);
    if (given === 0) return;
    this.#bytes -= given;
    this.#budget.give(this.#tenantId, given);
  }

  release(): void {
    this.#isReleased = true;
    this.shrink(this.#bytes);
  }
}

/**
 * The port that each part of a store implements for copies. A unit is a single item or a short list that is copied and
 * compared.
 */
import type { Store, TenantPart } from '@tidemark/core';

/** The same tenant in both stores. */
export interface Sides {
  from: Store;
  to: Store;
  tenantId: string;
  /** Whether the source does not know the tenant. */
  isGone: boolean;
  /** Retries an idempotent call while it fails with transient errors. */
  send: <T>(call: () => Promise<T>) => Promise<T>;
  probe: (point: CopyPoint) => void;
}

/** Points at which tests simulate a crash. */
export type CopyPoint = 'copying' | 'run part' | 'replacing' | 'copied' | 'mirroring' | 'verifying';

/** The number of items of a unit that differ, and the reason. */
export interface Difference {
  count: number;
  reason: string;
}

export interface CopyUnit {
  id: string;
  /** Copies the unit to the target. Returns how many items were written and how many were already the same. */
  copy(): Promise<{ copied: number; same: number }>;
  /** Compares both sides. */
  compare(): Promise<Difference | null>;
}

/** Yields the units of a part. */
export type PartWalk = (sides: Sides) => AsyncIterable<CopyUnit>;

export type PartWalks = Record<TenantPart, PartWalk>;

/** Tolerance for expiry times: copying the remaining time to live takes a moment. */
const SAME_TIME_MS = 10_000;

export function isSameTime(left: number | null, right: number | null): boolean {
  if (left === null || right === null) return left === right;
  return Math.abs(left - right) <= SAME_TIME_MS;
}

/** The port each part of a store implements to be copied: things, or short lists of them, that are copied and compared. */
import type { Store, TenantPart } from '@tidemark/core';

/** The same tenant on both sides. */
export interface Sides {
  from: Store;
  to: Store;
  tenantId: string;
  /** The source has nothing of the tenant, not even its name. */
  isGone: boolean;
  /** Sends a call that may be repeated until it does not fail for the moment. */
  send: <T>(call: () => Promise<T>) => Promise<T>;
  probe: (point: CopyPoint) => void;
}

/** Points at which tests crash. */
export type CopyPoint = 'copying' | 'run part' | 'replacing' | 'copied' | 'mirroring' | 'verifying';

/** How much of a unit is not the same in the target, and why. */
export interface Difference {
  count: number;
  reason: string;
}

export interface CopyUnit {
  id: string;
  /** Makes the target the same as far as that goes; tells how many things were written and how many were there. */
  copy(): Promise<{ copied: number; same: number }>;
  /** Reads both sides and compares them. */
  compare(): Promise<Difference | null>;
}

/** How a part is walked through. */
export type PartWalk = (sides: Sides) => AsyncIterable<CopyUnit>;

export type PartWalks = Record<TenantPart, PartWalk>;

/** Times that say the same: the rest of a life is carried over, and takes a moment to be. */
const SAME_TIME_MS = 10_000;

export function isSameTime(left: number | null, right: number | null): boolean {
  if (left === null || right === null) return left === right;
  return Math.abs(left - right) <= SAME_TIME_MS;
}

/** The port that each kind of data implements, so that a single pass handles all kinds. */
import type { Store } from '@tidemark/core';
import { tenantsOf } from '../listing.ts';
import type { RetentionPolicies } from './policies.ts';

/** The fields that policies of all kinds share. */
export interface CheckedPolicy {
  name: string;
  tenantId?: string;
  action: 'delete' | 'archive' | 'keep';
}

/** An item that a policy removes. */
export interface Candidate {
  id: string;
  /** The number of events if the item is a run. */
  events: number;
  bytes(): Promise<number>;
  /** Removes the item if it has not changed. Long removals consist of several turns and call `rest` after each turn. */
  remove(rest: () => Promise<void>): Promise<'deleted' | 'archived' | 'spared'>;
}

/** The policies of one kind, and how to find the items they remove. */
export interface Keeper<P extends CheckedPolicy = CheckedPolicy> {
  kind: keyof RetentionPolicies;
  policies: readonly P[];
  /** Yields the items that this policy removes at `now`. */
  find(policy: P, now: number): AsyncIterable<Candidate>;
}

/** Whether a policy is the first one that matches. */
export function decides<P extends CheckedPolicy>(
  policies: readonly P[],
  policy: P,
  tenantId: string,
  matches: (policy: P) => boolean,
): boolean {
  return policies.find((it) => (it.tenantId ?? tenantId) === tenantId && matches(it)) === policy;
}

/** Yields the tenants to which a policy applies, each with a view. */
export async function* viewsOf(store: Store, { tenantId }: CheckedPolicy): AsyncIterable<[string, Store]> {
  if (tenantId !== undefined) {
    yield [tenantId, store.forTenant(tenantId)];
    return;
  }
  for await (const tenant of tenantsOf(store)) yield [tenant, store.forTenant(tenant)];
}

/** Returns the size of a value as JSON text. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}

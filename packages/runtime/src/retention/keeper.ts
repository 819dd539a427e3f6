/** The port each kind of thing implements, so that one pass deals with all of them alike. */
import type { Store } from '@tidemark/core';
import { tenantsOf } from '../listing.ts';
import type { RetentionPolicies } from './policies.ts';

/** A policy as the pass knows it, whatever it is about. */
export interface CheckedPolicy {
  name: string;
  tenantId?: string;
  action: 'delete' | 'archive' | 'keep';
}

/** Something whose time has come. */
export interface Candidate {
  id: string;
  /** How many events it has, if it is a run. */
  events: number;
  bytes(): Promise<number>;
  /** Removes it if it is still what was found. What takes long is done in turns, with a rest after each. */
  remove(rest: () => Promise<void>): Promise<'deleted' | 'archived' | 'spared'>;
}

/** The policies of one kind, and how to find what each of them lets go. */
export interface Keeper<P extends CheckedPolicy = CheckedPolicy> {
  kind: keyof RetentionPolicies;
  policies: readonly P[];
  /** What this policy decides on and lets go by `now`. */
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

/** The tenants a policy is about, each with a view of its own. */
export async function* viewsOf(store: Store, { tenantId }: CheckedPolicy): AsyncIterable<[string, Store]> {
  if (tenantId !== undefined) {
    yield [tenantId, store.forTenant(tenantId)];
    return;
  }
  for await (const tenant of tenantsOf(store)) yield [tenant, store.forTenant(tenant)];
}

/** Size of a value as JSON text. */
export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}

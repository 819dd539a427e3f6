/** Which requests the audit log has, and what it tells of them. */
import { LruMap } from '@tidemark/core/engine';
import type { Principal } from '../auth.ts';
import type { ANSWERED, Answer } from '../http/answer.ts';
import { Bucket } from '../limits/bucket.ts';
import type { Route } from '../routes/route.ts';
import type { AuditEntry } from './audit.ts';

/** Every request that only an administrator may make, reads included. */
export function isAudited({ scope }: Route): boolean {
  return scope === 'admin';
}

/** Ids of the path and the tenant that was named, besides who asked for what. */
export function entryOf(
  { method, path }: Route,
  principal: Principal,
  params: Record<string, string>,
  query: { tenant?: string; tenantId?: string },
  tenantId: string | null,
): AuditEntry {
  const tenant = query.tenantId ?? tenantId;
  const about = { ...params, ...(tenant === null ? {} : { tenant }) };
  return { action: `${method} ${path}`, by: principal.id, about };
}

export function statusOf(answer: Answer | typeof ANSWERED): number {
  if (typeof answer === 'symbol') return 200;
  return answer.status ?? (answer.body === undefined ? 204 : 200);
}

/** Refusals of one caller that the audit log has: so many at once, then one in ten seconds. */
const AT_ONCE = 20;
const PER_SECOND = 0.1;
const MOST_CALLERS = 1_000;

/** Rations the refusals of each caller: a key without scopes must not fill the store. */
export class RefusalRation {
  readonly #callers = new LruMap<string, { bucket: Bucket; leftOut: number }>(MOST_CALLERS);

  /** Returns how many were left out since the last one, or `null` when this one is left out too. */
  take({ id, tenantId }: Principal): number | null {
    const name = `${tenantId}\0${id}`;
    const caller = this.#callers.peek(name) ?? { bucket: new Bucket(PER_SECOND, AT_ONCE), leftOut: 0 };
    this.#callers.set(name, caller);
    if (!caller.bucket.take()) {
      caller.leftOut++;
      return null;
    }
    const { leftOut } = caller;
    caller.leftOut = 0;
    return leftOut;
  }
}

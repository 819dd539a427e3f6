/** Decides which requests are audited, and what the audit log records about them. */
import { LruMap } from '@tidemark/core/engine';
import type { Principal } from '../auth.ts';
import type { ANSWERED, Answer } from '../http/answer.ts';
import { Bucket } from '../limits/bucket.ts';
import type { Route } from '../routes/route.ts';
import type { AuditEntry } from './audit.ts';

/** Whether a request is audited: every request that needs the scope `admin`, including reads. */
export function isAudited({ scope }: Route): boolean {
  return scope === 'admin';
}

/** Returns the audit entry of a request: the action, the caller, the ids in the path, and the tenant that it names. */
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

/** Limits on the recorded refusals of each caller: this many at once, then one every ten seconds. */
const AT_ONCE = 20;
const PER_SECOND = 0.1;
const MAX_CALLERS = 1_000;

/** Limits the recorded refusals of each caller, so that a key without scopes cannot fill the store. */
export class RefusalRation {
  readonly #callers = new LruMap<string, { bucket: Bucket; leftOut: number }>(MAX_CALLERS);

  /**
   * Returns the number of refusals omitted since the last recorded refusal, or `null` if this refusal is omitted too.
   */
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

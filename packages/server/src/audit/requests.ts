/** Which requests the audit log has, and what it tells of them. */
import type { Principal } from '../auth.ts';
import type { ANSWERED, Answer } from '../http/answer.ts';
import type { Route } from '../routes/route.ts';
import type { AuditEntry } from './audit.ts';

/** Admin reads that show names and settings, not contents. */
const LOOKS = new Set(['GET /v1/doctor', 'GET /v1/admin/tenants', 'GET /v1/admin/traces']);

export function isAudited({ scope, method, path }: Route): boolean {
  return scope === 'admin' && !LOOKS.has(`${method} ${path}`);
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

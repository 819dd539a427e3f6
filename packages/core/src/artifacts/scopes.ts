/**
 * Scopes of artifacts (AGT-11): who owns an artifact and who may see it. Every part of a scope that is set must match;
 * an artifact without that part does not match. Absent and `null` are the same.
 */
import { checkObject, checkOptionalId } from '../checks/text.ts';
import type { ArtifactScope } from '../contracts/artifacts.ts';
import { TidemarkError } from '../contracts/errors.ts';
import type { ArtifactMatch, ArtifactRow } from '../engine/artifacts.ts';

/** The tenant of a store. With `confined`, calls cannot name another tenant (GEN-10). */
export interface ArtifactView {
  tenantId: string;
  confined: boolean;
}

/** A validated scope with every part, and the tenant whose storage it is in. */
export interface CheckedScope {
  owner: string;
  scopeTenantId: string | null;
  userId: string | null;
  sessionId: string | null;
  traceId: string | null;
}

/** Validates a caller's scope. Throws `TENANT_MISMATCH` when it names a tenant outside the view. */
export function checkScope(view: ArtifactView, scope: ArtifactScope | undefined): CheckedScope {
  if (scope !== undefined) checkObject(scope, 'scope');
  const scopeTenantId = checkOptionalId(scope?.tenantId, 'scope.tenantId');
  if (view.confined && scopeTenantId !== null && scopeTenantId !== view.tenantId) {
    throw new TidemarkError('TENANT_MISMATCH', 'This view of the store is confined to another tenant', {
      field: 'scope.tenantId',
      rule: 'the tenant of the view, or absent',
    });
  }
  return {
    owner: view.confined ? view.tenantId : (scopeTenantId ?? view.tenantId),
    scopeTenantId,
    userId: checkOptionalId(scope?.userId, 'scope.userId'),
    sessionId: checkOptionalId(scope?.sessionId, 'scope.sessionId'),
    traceId: checkOptionalId(scope?.traceId, 'scope.traceId'),
  };
}

type ScopeMatch = Omit<ArtifactMatch, 'isUnscoped'>;

/** Returns the parts of a scope that are set, for an engine to match. */
export function matchOf(scope: CheckedScope): ScopeMatch {
  const match: ScopeMatch = {};
  for (const part of ['scopeTenantId', 'userId', 'sessionId', 'traceId'] as const) {
    const value = scope[part];
    if (value !== null) match[part] = value;
  }
  return match;
}

/** Whether an artifact is visible in this scope. */
export function isWithin(row: ArtifactRow, scope: CheckedScope): boolean {
  return Object.entries(matchOf(scope)).every(([part, value]) => row[part as keyof ScopeMatch] === value);
}

/** Whether an artifact has not expired. It expires at the millisecond of `expiresAt`. */
export function isLive(row: ArtifactRow, now: number): boolean {
  return row.expiresAt === null || row.expiresAt > now;
}

/** Returns a row's scope as its owner set it, without absent parts. */
export function scopeOf(row: ArtifactRow): ArtifactScope {
  const scope: ArtifactScope = {};
  if (row.scopeTenantId !== null) scope.tenantId = row.scopeTenantId;
  if (row.userId !== null) scope.userId = row.userId;
  if (row.sessionId !== null) scope.sessionId = row.sessionId;
  if (row.traceId !== null) scope.traceId = row.traceId;
  return scope;
}

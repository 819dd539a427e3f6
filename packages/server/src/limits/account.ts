/** Whose share of the process's time a request uses. */
import type { Principal } from '../auth.ts';

/** Who pays: a tenant with all its keys, or all operators together. */
export function accountOf({ tenantId }: Pick<Principal, 'tenantId'>): string {
  return tenantId === null ? 'operators' : `tenant ${tenantId}`;
}

/** The account that a request's processing time is charged to. */
import type { Principal } from '../auth.ts';

/** Returns the account: a tenant with all its keys, or all operators together. */
export function accountOf({ tenantId }: Pick<Principal, 'tenantId'>): string {
  return tenantId === null ? 'operators' : `tenant ${tenantId}`;
}

/** The runs that a store can access: all runs, or the runs of one tenant (GEN-10). */
import { checkId } from '../checks/text.ts';
import { TidemarkError } from '../contracts/errors.ts';

/** The tenant of calls that do not name one (GEN-10). */
export const DEFAULT_TENANT = 'default';

export type RunView = { tenantId: string } | null;

/**
 * Returns the tenant of a call: the view's, or the named one, or `null` without either. Throws `TENANT_MISMATCH` when
 * the named tenant is not the view's.
 */
export function checkTenant(view: RunView, named: unknown): string | null {
  const tenantId = named === undefined ? null : checkId(named, 'tenantId');
  if (!view) return tenantId;
  if (tenantId === null || tenantId === view.tenantId) return view.tenantId;
  throw new TidemarkError(
    'TENANT_MISMATCH',
    'This view of the store is confined to another tenant than the one named',
    {
      field: 'tenantId',
      rule: 'the tenant of the view',
    },
  );
}

export function runNotFound(runId: string): TidemarkError {
  return new TidemarkError('RUN_NOT_FOUND', `There is no run ${JSON.stringify(runId)}`, { runId });
}

/** Checks the tenant that a call names, in the same way as a local store does. */
import { checkId, TidemarkError } from '@tidemark/core/portable';
import type { Transport } from './transport.ts';

/** Throws `TENANT_MISMATCH` for any tenant other than the view's own. */
export function checkTenant({ tenantId }: Pick<Transport, 'tenantId'>, named: string): void {
  if (tenantId === null || tenantId === named) return;
  throw new TidemarkError(
    'TENANT_MISMATCH',
    'This view of the store is confined to another tenant than the one named',
    {
      field: 'tenantId',
      rule: 'the tenant of the view',
    },
  );
}

/** Returns the query parameter for the tenant. Only `undefined` means that no tenant is named. */
export function tenantIn(
  transport: Pick<Transport, 'tenantId'>,
  options: { tenantId?: unknown } | null | undefined,
): { tenantId?: string } {
  if (options?.tenantId === undefined) return {};
  const tenantId = checkId(options.tenantId, 'tenantId');
  checkTenant(transport, tenantId);
  return { tenantId };
}

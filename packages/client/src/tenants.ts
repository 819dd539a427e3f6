/** The tenant that a call names, checked as the store checks it. */
import { checkId, TidemarkError } from '@tidemark/core/portable';
import type { Transport } from './transport.ts';

/** Refuses another tenant than the view's. */
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

/** The query parameter for the tenant; only `undefined` means that none is named. */
export function tenantIn(
  transport: Pick<Transport, 'tenantId'>,
  options: { tenantId?: unknown } | null | undefined,
): { tenantId?: string } {
  if (options?.tenantId === undefined) return {};
  const tenantId = checkId(options.tenantId, 'tenantId');
  checkTenant(transport, tenantId);
  return { tenantId };
}

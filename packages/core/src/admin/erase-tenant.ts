/** `eraseTenant`: erases one part after another until the engine finds no more data of the tenant. */

import { type ErasureOptions, type ErasureReport, TENANT_PARTS } from '../contracts/admin.ts';
import type { StoreContext } from '../tools/context.ts';
import type { AdminEngines } from './engines.ts';
import { Erasure, STEP } from './erasure.ts';

export async function eraseTenant(
  context: StoreContext,
  { tenancy, parts }: AdminEngines,
  tenantId: string,
  options: ErasureOptions | undefined,
): Promise<ErasureReport> {
  const erasure = new Erasure(context, { tenantId }, options);
  for (const part of TENANT_PARTS) {
    if (parts.has(part)) await erasure.all(part, (call) => tenancy.erase(part, tenantId, STEP, call));
  }
  return erasure.report;
}

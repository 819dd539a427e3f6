/** The doctor's deep check for browsers, where it is loaded on demand, because few pages need it. */
import type { AdminStore } from '../contracts/admin.ts';
import type { CallOptions } from '../contracts/common.ts';
import type { DoctorFinding } from '../contracts/store.ts';

export async function deepFindings(admin: AdminStore, options: CallOptions): Promise<DoctorFinding[]> {
  const late = await import('./deep-findings.ts');
  return late.deepFindings(admin, options);
}

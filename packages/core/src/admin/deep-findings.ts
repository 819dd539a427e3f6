/** The doctor's findings from a check of everything that is stored. */
import type { AdminStore, DamagedValue } from '../contracts/admin.ts';
import type { CallOptions } from '../contracts/common.ts';
import type { DoctorFinding } from '../contracts/store.ts';

/** The maximum number of damaged values listed in the message. The count includes all of them. */
const NAMED = 10;

export async function deepFindings(admin: AdminStore, { signal, timeoutMs }: CallOptions): Promise<DoctorFinding[]> {
  const total = { checked: 0, unsummed: 0, damaged: 0 };
  const first: DamagedValue[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await admin.check({ signal, timeoutMs, cursor });
    total.checked += page.checked;
    total.unsummed += page.unsummed;
    total.damaged += page.damaged.length;
    first.push(...page.damaged.slice(0, NAMED - first.length));
    if (page.next === undefined) break;
    cursor = page.next;
  }
  return [damageFinding(total, first), ...unsummedFinding(total.unsummed)];
}

/** Returns the finding for damaged values. */
export function damageFinding(
  { checked, damaged }: { checked: number; damaged: number },
  first: readonly DamagedValue[],
): DoctorFinding {
  const check = 'stored values';
  if (damaged === 0) return { check, status: 'ok', message: `${checked} values match their chains and checksums` };
  const names = first.map(({ tenantId, part, name }) => `${part} ${tenantId} / ${name}`).join(', ');
  return {
    check,
    status: 'fail',
    message: `${damaged} of ${checked} values are damaged: ${names}${damaged > first.length ? ', …' : ''}`,
    fix: 'Store them again, or restore them from a backup',
  };
}

/** Returns the finding for values without a checksum, which older versions stored. */
export function unsummedFinding(unsummed: number): DoctorFinding[] {
  if (unsummed === 0) return [];
  const message = `${unsummed} values were stored before there were checksums, so that damage to them cannot be seen`;
  return [{ check: 'checksums', status: 'warn', message, fix: 'Writing a value again adds its checksum' }];
}

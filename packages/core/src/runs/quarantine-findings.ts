/** The doctor's finding for quarantined runs: their number and, for operators, their ids. */
import type { DoctorFinding } from '../contracts/store.ts';
import type { EngineCall } from '../engine/call.ts';
import type { RunEngine } from '../engine/runs.ts';

const MAX_COUNTED = 1_000;
const MAX_NAMED = 5;

/** Returns an empty list while no run is quarantined. */
export async function quarantineFindings(
  { quarantines }: RunEngine,
  tenantId: string | null,
  call: EngineCall,
): Promise<DoctorFinding[]> {
  const query = { tenantId: tenantId ?? undefined, state: 'quarantined' as const, limit: MAX_COUNTED };
  const open = await quarantines.list(query, call);
  if (open.length === 0) return [];
  const count = open.length === MAX_COUNTED ? `${MAX_COUNTED} or more runs are` : runs(open.length);
  const names = open.slice(0, MAX_NAMED).map(({ tenantId: tenant, runId, fromSeq }) => {
    return `${JSON.stringify(runId)} of ${JSON.stringify(tenant)} from ${fromSeq} on`;
  });
  const more = open.length > MAX_NAMED ? ', …' : '';
  return [
    {
      check: 'quarantine',
      status: 'fail',
      message: `${count} quarantined${tenantId === null ? `: ${names.join(', ')}${more}` : ''}`,
      fix: 'Repair each run, for example from a backup, and release it: tidemark quarantine release <run>',
    },
  ];
}

function runs(count: number): string {
  return count === 1 ? '1 run is' : `${count} runs are`;
}

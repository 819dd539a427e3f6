/** Addresses of runs and events. */
import { hrefOf, route } from '../shell/router.ts';
import type { RunName } from './api.ts';

export function hrefOfRun({ runId, tenantId }: RunName, seq?: string): string {
  return hrefOf(['runs', runId], { tenant: tenantId, seq });
}

/** Returns the address of an event of the current run, opened next to the log. */
export function hrefOfEvent(seq: number): string {
  return hrefOf(route.value.segments, { tenant: route.value.query.get('tenant') ?? '', seq, open: seq });
}

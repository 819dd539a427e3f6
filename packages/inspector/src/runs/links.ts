/** Where a run, or one of its events, is shown. */
import { hrefOf, place } from '../shell/router.ts';
import type { RunName } from './api.ts';

export function hrefOfRun({ runId, tenantId }: RunName, seq?: string): string {
  return hrefOf(['runs', runId], { tenant: tenantId, seq });
}

/** An event of the run that is shown, opened beside the log. */
export function hrefOfEvent(seq: number): string {
  return hrefOf(place.value.segments, { tenant: place.value.query.get('tenant') ?? '', seq, open: seq });
}

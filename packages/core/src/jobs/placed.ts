/**
 * Reads jobs through the index of places. Engines whose index and records are read one after the other return records that
 * have moved on since: a row counts only if its record, as it was read, still has the place. Whoever then writes against
 * the revision of such a row writes against the very state that put the job there.
 */

import type { EngineCall } from '../engine/call.ts';
import type { PlacedRecord, Records } from '../engine/records.ts';
import { placesOf } from './places.ts';

type PlaceRange = Parameters<Records['scanPlaces']>[1];

/** Records that have a place of the range, in order, up to its limit; fewer only when there are no more. */
export async function scanJobs(
  records: Pick<Records, 'scanPlaces'>,
  tenantId: string,
  range: PlaceRange,
  call: EngineCall,
): Promise<PlacedRecord[]> {
  const found: PlacedRecord[] = [];
  let { after } = range;
  for (;;) {
    const limit = range.limit - found.length;
    const rows = await records.scanPlaces(tenantId, { ...range, after, limit }, call);
    // A damaged job is left out: the others go on, and `doctor` finds it.
    for (const row of rows) if (!row.damaged && placesOf(row.key, row.fields).includes(row.place)) found.push(row);
    if (rows.length < limit || found.length === range.limit) return found;
    const { place, key } = rows.at(-1)!;
    after = { place, key };
  }
}

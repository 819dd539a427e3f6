/** Every race by name. */
import { claimRetriesAtOnce } from './claim-retries-at-once.ts';
import { pauseLeaseBesideRelease } from './pause-lease-beside-release.ts';
import type { Race } from './race.ts';
import { requestIdsBesideDeletes } from './request-ids-beside-deletes.ts';
import { sweepBesideHeartbeat } from './sweep-beside-heartbeat.ts';

export const RACES: Record<string, Race> = {
  'claim-retries-at-once': claimRetriesAtOnce,
  'pause-lease-beside-release': pauseLeaseBesideRelease,
  'request-ids-beside-deletes': requestIdsBesideDeletes,
  'sweep-beside-heartbeat': sweepBesideHeartbeat,
};

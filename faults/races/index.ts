import { claimExpiredBesideHeartbeat } from './claim-expired-beside-heartbeat.ts';
import { claimRetriesAtOnce } from './claim-retries-at-once.ts';
import { copyBesideDeletes } from './copy-beside-deletes.ts';
import { damageBesideRelease } from './damage-beside-release.ts';
import { eraseSessionBesidePut } from './erase-session-beside-put.ts';
import { evictionBesidePut } from './eviction-beside-put.ts';
import { expiryBesideAppends } from './expiry-beside-appends.ts';
import { EXPORTED_RUNS } from './exported-runs.ts';
import { livesBesideDeletes } from './lives-beside-deletes.ts';
import { noticesBesideWriters } from './notices-beside-writers.ts';
import { pauseLeaseBesideRelease } from './pause-lease-beside-release.ts';
import { putBesideDelete } from './put-beside-delete.ts';
import type { Race } from './race.ts';
import { REDACTED_ARCHIVES } from './redacted-archives.ts';
import { REDACTED_PROJECTIONS } from './redacted-projections.ts';
import { REDACTED_SNAPSHOTS } from './redacted-snapshots.ts';
import { requestIdsBesideDeletes } from './request-ids-beside-deletes.ts';
import { RESTORED_RUNS } from './restored-runs.ts';
import { sweepBesideHeartbeat } from './sweep-beside-heartbeat.ts';
import { sweepBesidePut } from './sweep-beside-put.ts';
import { TWO_RUN_BATCHES } from './two-run-batches.ts';
import { upgradeBesideOldWriter } from './upgrade-beside-old-writer.ts';
import { verifyBesideRefresh } from './verify-beside-refresh.ts';

export const RACES: Record<string, Race> = {
  'claim-expired-beside-heartbeat': claimExpiredBesideHeartbeat,
  'claim-retries-at-once': claimRetriesAtOnce,
  'copy-beside-deletes': copyBesideDeletes,
  'damage-beside-release': damageBesideRelease,
  'erase-session-beside-large-put': eraseSessionBesidePut('large'),
  'erase-session-beside-small-put': eraseSessionBesidePut('small'),
  'erase-session-beside-stream': eraseSessionBesidePut('stream'),
  'eviction-beside-put': evictionBesidePut,
  'expiry-beside-appends': expiryBesideAppends,
  'exported-runs': EXPORTED_RUNS,
  'lives-beside-deletes': livesBesideDeletes,
  'notices-beside-writers': noticesBesideWriters,
  'pause-lease-beside-release': pauseLeaseBesideRelease,
  'put-beside-delete': putBesideDelete,
  'redacted-archives': REDACTED_ARCHIVES,
  'redacted-projections': REDACTED_PROJECTIONS,
  'redacted-snapshots': REDACTED_SNAPSHOTS,
  'request-ids-beside-deletes': requestIdsBesideDeletes,
  'restored-runs': RESTORED_RUNS,
  'sweep-beside-heartbeat': sweepBesideHeartbeat,
  'sweep-beside-put': sweepBesidePut,
  'two-run-batches': TWO_RUN_BATCHES,
  'upgrade-beside-old-writer': upgradeBesideOldWriter,
  'verify-beside-refresh': verifyBesideRefresh,
};

import type { ConformanceCase } from '../../kit.ts';
import { APPEND_CASES } from './append.ts';
import { ARCHIVE_CASES } from './archive.ts';
import { BATCH_CASES } from './batches.ts';
import { BOUND_SNAPSHOT_CASES } from './bound-snapshots.ts';
import { CONCURRENCY_CASES } from './concurrency.ts';
import { DUPLICATE_CASES } from './duplicates.ts';
import { ENVELOPE_CASES } from './envelope.ts';
import { EXPIRY_CASES } from './expiry.ts';
import { EXPORT_CASES } from './export.ts';
import { FORK_CASES } from './forks.ts';
import { ID_CASES } from './ids.ts';
import { INLINE_PROJECTION_CASES } from './inline-projections.ts';
import { INTEGRITY_CASES } from './integrity.ts';
import { KEY_CASES } from './keys.ts';
import { LATE_SNAPSHOT_CASES } from './late-snapshots.ts';
import { LIST_CASES } from './lists.ts';
import { LIVE_CASES } from './live.ts';
import { LIVE_RESUME_CASES } from './live-resume.ts';
import { LIFE_CASES } from './lives.ts';
import { NOTICE_CASES } from './notices.ts';
import { PAYLOAD_CASES } from './payloads.ts';
import { QUARANTINE_CASES } from './quarantine.ts';
import { READ_CASES } from './reads.ts';
import { REDACTION_CASES } from './redaction.ts';
import { REFRESH_CASES } from './refresh.ts';
import { REMOVAL_CASES } from './removal.ts';
import { RESTORE_CASES } from './restore.ts';
import { RESTORE_RULE_CASES } from './restore-rules.ts';
import { REVERSE_CASES } from './reverse.ts';
import { REWRITE_CASES } from './rewrites.ts';
import { SNAPSHOT_CASES } from './snapshots.ts';
import { TENANCY_CASES } from './tenancy.ts';
import { TRANSITION_CASES } from './transitions.ts';
import { UPCAST_CASES } from './upcast.ts';
import { UPDATED_LIST_CASES } from './updated-lists.ts';
import { VALIDATION_CASES } from './validation.ts';

export const RUN_CASES: readonly ConformanceCase[] = [
  ...APPEND_CASES,
  ...DUPLICATE_CASES,
  ...KEY_CASES,
  ...BATCH_CASES,
  ...VALIDATION_CASES,
  ...ENVELOPE_CASES,
  ...PAYLOAD_CASES,
  ...ID_CASES,
  ...TENANCY_CASES,
  ...READ_CASES,
  ...REVERSE_CASES,
  ...SNAPSHOT_CASES,
  ...REFRESH_CASES,
  ...LATE_SNAPSHOT_CASES,
  ...BOUND_SNAPSHOT_CASES,
  ...TRANSITION_CASES,
  ...LIST_CASES,
  ...UPDATED_LIST_CASES,
  ...LIVE_CASES,
  ...LIVE_RESUME_CASES,
  ...REMOVAL_CASES,
  ...LIFE_CASES,
  ...EXPIRY_CASES,
  ...EXPORT_CASES,
  ...ARCHIVE_CASES,
  ...RESTORE_CASES,
  ...RESTORE_RULE_CASES,
  ...REDACTION_CASES,
  ...REWRITE_CASES,
  ...INLINE_PROJECTION_CASES,
  ...FORK_CASES,
  ...INTEGRITY_CASES,
  ...QUARANTINE_CASES,
  ...NOTICE_CASES,
  ...UPCAST_CASES,
  ...CONCURRENCY_CASES,
];

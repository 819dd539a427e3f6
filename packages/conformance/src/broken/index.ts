/** Every broken store. They are not part of the package: the kit's own tests use them. */

import { BROKEN_ADMINS } from './admin.ts';
import { BROKEN_AGENT_STORES } from './agents.ts';
import { BROKEN_BINDINGS } from './agents-bindings.ts';
import { BROKEN_MEMORY } from './agents-memory.ts';
import { BROKEN_ARTIFACT_RACES } from './artifact-races.ts';
import { BROKEN_ARTIFACT_STORES } from './artifacts.ts';
import { BROKEN_BOUND_SNAPSHOTS } from './bound-snapshots.ts';
import { BROKEN_CARRIED_RUNS } from './carried-runs.ts';
import { BROKEN_CODECS } from './codec.ts';
import { BROKEN_DAMAGE } from './damage.ts';
import { BROKEN_ENDINGS } from './endings.ts';
import { BROKEN_ENVELOPES } from './envelope.ts';
import { BROKEN_EXPIRY } from './expiry.ts';
import { BROKEN_GENERAL } from './general.ts';
import { BROKEN_INLINE_PROJECTIONS } from './inline-projections.ts';
import { BROKEN_JOB_ENDINGS } from './job-endings.ts';
import { BROKEN_JOB_WAITS } from './job-waits.ts';
import { BROKEN_JOBS } from './jobs.ts';
import { BROKEN_KV } from './kv.ts';
import { BROKEN_KV_BATCHES } from './kv-batches.ts';
import { BROKEN_KV_RANGES } from './kv-ranges.ts';
import { BROKEN_KV_REQUESTS } from './kv-requests.ts';
import { BROKEN_LIVES } from './lives.ts';
import { BROKEN_LIVING_STORES } from './living.ts';
import { BROKEN_NOTICES } from './notices.ts';
import { BROKEN_QUARANTINES } from './quarantine.ts';
import { BROKEN_REDACTIONS } from './redaction.ts';
import { BROKEN_REWRITES } from './rewrites.ts';
import { BROKEN_RUN_EDGES } from './run-edges.ts';
import { BROKEN_RUN_READS } from './run-reads.ts';
import { BROKEN_RUN_REVERSE } from './run-reverse.ts';
import { BROKEN_APPENDS } from './runs.ts';
import { BROKEN_SEALING } from './sealed.ts';
import { BROKEN_UPDATED_LISTS } from './updated-lists.ts';
import type { BrokenStore } from './wrap.ts';

export const BROKEN_STORES: readonly BrokenStore[] = [
  ...BROKEN_GENERAL,
  ...BROKEN_CODECS,
  ...BROKEN_ADMINS,
  ...BROKEN_APPENDS,
  ...BROKEN_ENVELOPES,
  ...BROKEN_RUN_READS,
  ...BROKEN_RUN_REVERSE,
  ...BROKEN_REDACTIONS,
  ...BROKEN_QUARANTINES,
  ...BROKEN_NOTICES,
  ...BROKEN_UPDATED_LISTS,
  ...BROKEN_REWRITES,
  ...BROKEN_BOUND_SNAPSHOTS,
  ...BROKEN_RUN_EDGES,
  ...BROKEN_CARRIED_RUNS,
  ...BROKEN_LIVES,
  ...BROKEN_EXPIRY,
  ...BROKEN_LIVING_STORES,
  ...BROKEN_INLINE_PROJECTIONS,
  ...BROKEN_KV,
  ...BROKEN_DAMAGE,
  ...BROKEN_KV_RANGES,
  ...BROKEN_KV_REQUESTS,
  ...BROKEN_KV_BATCHES,
  ...BROKEN_SEALING,
  ...BROKEN_JOBS,
  ...BROKEN_JOB_ENDINGS,
  ...BROKEN_JOB_WAITS,
  ...BROKEN_AGENT_STORES,
  ...BROKEN_BINDINGS,
  ...BROKEN_MEMORY,
  ...BROKEN_ENDINGS,
  ...BROKEN_ARTIFACT_STORES,
  ...BROKEN_ARTIFACT_RACES,
];

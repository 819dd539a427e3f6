import type { ConformanceCase } from '../../kit.ts';
import { ARTIFACT_LISTING_CASES } from './artifacts.ts';
import { CARRIED_PAUSE_CASES } from './carried-pauses.ts';
import { ERASURE_CASES } from './erasure.ts';
import { LISTING_CASES } from './listing.ts';
import { REMOVED_RUN_CASES } from './removed-runs.ts';
import { SESSION_ERASURE_CASES } from './session-erasure.ts';

export const ADMIN_CASES: readonly ConformanceCase[] = [
  ...LISTING_CASES,
  ...CARRIED_PAUSE_CASES,
  ...REMOVED_RUN_CASES,
  ...ARTIFACT_LISTING_CASES,
  ...ERASURE_CASES,
  ...SESSION_ERASURE_CASES,
];

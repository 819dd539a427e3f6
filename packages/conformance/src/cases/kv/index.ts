import type { ConformanceCase } from '../../kit.ts';
import { BATCH_CASES } from './batches.ts';
import { CONCURRENCY_CASES } from './concurrency.ts';
import { DAMAGE_CASES } from './damage.ts';
import { FILTER_CASES } from './filters.ts';
import { KEY_CASES } from './keys.ts';
import { RANGE_CASES } from './ranges.ts';
import { RECORD_CASES } from './records.ts';
import { REQUEST_CASES } from './requests.ts';
import { SCAN_CASES } from './scans.ts';
import { SWAP_CASES } from './swaps.ts';
import { TTL_CASES } from './ttl.ts';
import { WATCH_CASES } from './watches.ts';

export const KV_CASES: readonly ConformanceCase[] = [
  ...RECORD_CASES,
  ...TTL_CASES,
  ...SWAP_CASES,
  ...REQUEST_CASES,
  ...BATCH_CASES,
  ...SCAN_CASES,
  ...RANGE_CASES,
  ...FILTER_CASES,
  ...KEY_CASES,
  ...WATCH_CASES,
  ...CONCURRENCY_CASES,
  ...DAMAGE_CASES,
];

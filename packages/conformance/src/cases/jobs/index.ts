/** Cases of jobs (KV-7, KV-8, KV-9). */
import type { ConformanceCase } from '../../kit.ts';
import { ARGUMENT_CASES } from './arguments.ts';
import { CLAIM_CASES } from './claims.ts';
import { ENDING_CASES } from './endings.ts';
import { EXPIRED_CASES } from './expired.ts';
import { FENCING_CASES } from './fencing.ts';
import { LIST_CASES } from './lists.ts';
import { PLAIN_KV_CASES } from './plain-kv.ts';
import { QUEUE_CASES } from './queue.ts';
import { SWEEP_CASES } from './sweeps.ts';
import { WAITING_CASES } from './waiting.ts';

export const JOB_CASES: readonly ConformanceCase[] = [
  ...QUEUE_CASES,
  ...CLAIM_CASES,
  ...FENCING_CASES,
  ...ENDING_CASES,
  ...WAITING_CASES,
  ...LIST_CASES,
  ...SWEEP_CASES,
  ...EXPIRED_CASES,
  ...PLAIN_KV_CASES,
  ...ARGUMENT_CASES,
];

/** Every case of the kit. */
import type { ConformanceCase } from '../kit.ts';
import { MODEL_CASES } from '../model/index.ts';
import { ADMIN_CASES } from './admin/index.ts';
import { AGENT_CASES } from './agents/index.ts';
import { ARTIFACT_CASES } from './artifacts.ts';
import { CLOCK_CASES } from './clocks.ts';
import { CODEC_CASES } from './codec/index.ts';
import { CURSOR_CASES } from './cursors.ts';
import { CLOSING_CASES, GENERAL_CASES } from './general.ts';
import { JOB_CASES } from './jobs/index.ts';
import { KV_CASES } from './kv/index.ts';
import { RUN_CASES } from './runs/index.ts';

export const ALL_CASES: readonly ConformanceCase[] = [
  ...GENERAL_CASES,
  ...CURSOR_CASES,
  ...CLOCK_CASES,
  ...CODEC_CASES,
  ...ADMIN_CASES,
  ...RUN_CASES,
  ...KV_CASES,
  ...JOB_CASES,
  ...AGENT_CASES,
  ...ARTIFACT_CASES,
  ...MODEL_CASES,
  ...CLOSING_CASES,
];

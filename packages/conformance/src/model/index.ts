/** The model-based cases: random commands, with the memory store as the model. */
import type { ConformanceCase } from '../kit.ts';
import { KV_MODEL_CASE } from './kv.ts';
import { RUN_MODEL_CASE } from './runs.ts';

export const MODEL_CASES: readonly ConformanceCase[] = [RUN_MODEL_CASE, KV_MODEL_CASE];

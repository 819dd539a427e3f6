import type { ConformanceCase } from '../kit.ts';
import { PART_CASES } from './artifacts/parts.ts';
import { ARTIFACT_RACE_CASES } from './artifacts/races.ts';
import { RETENTION_CASES } from './artifacts/retention.ts';
import { SCOPE_CASES } from './artifacts/scopes.ts';
import { STORING_CASES } from './artifacts/storing.ts';

export const ARTIFACT_CASES: readonly ConformanceCase[] = [
  ...STORING_CASES,
  ...PART_CASES,
  ...SCOPE_CASES,
  ...RETENTION_CASES,
  ...ARTIFACT_RACE_CASES,
];

/** Payload codecs: values are returned unchanged, stored unreadable and never confused with plain ones. */
import type { ConformanceCase } from '../../kit.ts';
import { ARTIFACT_CODEC_CASES } from './artifacts.ts';
import { KEY_CASES } from './keys.ts';
import { PAYLOAD_CODEC_CASES } from './payloads.ts';
import { SEALED_CASES } from './sealed.ts';

export const CODEC_CASES: readonly ConformanceCase[] = [
  ...PAYLOAD_CODEC_CASES,
  ...KEY_CASES,
  ...ARTIFACT_CODEC_CASES,
  ...SEALED_CASES,
];

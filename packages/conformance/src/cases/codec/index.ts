/** Payload codecs: what passes one comes back as it was, is stored unreadable, and is never mixed up with what is plain. */
import type { ConformanceCase } from '../../kit.ts';
import { ARTIFACT_CODEC_CASES } from './artifacts.ts';
import { KEY_CASES } from './keys.ts';
import { PAYLOAD_CODEC_CASES } from './payloads.ts';

export const CODEC_CASES: readonly ConformanceCase[] = [...PAYLOAD_CODEC_CASES, ...KEY_CASES, ...ARTIFACT_CODEC_CASES];

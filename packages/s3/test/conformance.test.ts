/** The kit's cases about artifacts, with the bytes in a bucket where there is a server, and in memory everywhere. */
import { registerConformance } from '@tidemark/conformance';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { type S3Options, s3Bytes } from '../src/index.ts';
import { BYTE_CASES, openWithBytes } from './kit-parts.ts';
import { MemoryBytes } from './memory-bytes.ts';
import { newBucket, WITHOUT_S3 } from './server.ts';

const runner = { describe, it: it.concurrent, afterAll };

const inMemory = new MemoryBytes();
registerConformance(runner, 'SQLite with bytes in memory', () => openWithBytes(() => inMemory), { cases: BYTE_CASES });

describe.skipIf(WITHOUT_S3)('On an S3 server', () => {
  let options: S3Options;
  beforeAll(async () => {
    options = await newBucket();
  });
  registerConformance(runner, 'SQLite with bytes in a bucket', () => openWithBytes(() => s3Bytes(options)), {
    cases: BYTE_CASES,
  });
});

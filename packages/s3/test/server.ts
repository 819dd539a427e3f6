/** The S3 server of the tests, which `npm test` started or found configured. Each test gets its own bucket. */
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { S3_KEYS } from '../../../scripts/servers/ceph.ts';
import { needsS3, offeredUrl } from '../../../scripts/servers/index.ts';
import type { S3Options } from '../src/index.ts';

/** Declared: tests that need an S3 server run only where one is installed or offered, and in `npm run test:matrix`. */
export const WITHOUT_S3 = !needsS3();

export type S3User = keyof typeof S3_KEYS;

/** Returns the options of a new bucket, at the server or at a proxy in front of it. */
export async function newBucket({
  endpoint = offeredUrl('s3')!,
  user = 'tidemark' as S3User,
  bucket = `test-${crypto.randomUUID()}`,
} = {}): Promise<S3Options> {
  const client = adminOf(user, offeredUrl('s3') ?? endpoint);
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  client.destroy();
  return { url: `s3://${bucket}/tests`, endpoint, credentials: S3_KEYS[user] };
}

/** A client of the tests' own, to look into buckets. */
export function adminOf(user: S3User = 'tidemark', endpoint = offeredUrl('s3')!): S3Client {
  return new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: S3_KEYS[user],
    requestChecksumCalculation: 'WHEN_REQUIRED',
  });
}

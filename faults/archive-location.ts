/**
 * Where a rig keeps its archive: a directory, or a new bucket of an S3 server that is configured or started for the
 * rig.
 */
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { type ArchiveTarget, directoryTarget } from '@tidemark/runtime';
import { s3Target } from '@tidemark/s3';
import { S3_KEYS } from '../scripts/servers/ceph.ts';
import { offeredUrl, startOwnServer } from '../scripts/servers/index.ts';

/** Opens the archive at a path or a URL. The keys of a bucket are in the environment. */
export function openArchive(location: string): ArchiveTarget {
  return location.startsWith('s3:') ? s3Target(location) : directoryTarget(location);
}

/** Creates a bucket, and puts its keys into the environment of this process and those that it starts. */
export async function newBucketUrl(): Promise<{ location: string; stop(): Promise<void> }> {
  const offered = offeredUrl('s3');
  const server = offered === undefined ? await startOwnServer('s3') : { url: offered, stop: async () => {} };
  const bucket = `rig-${crypto.randomUUID()}`;
  process.env.AWS_ACCESS_KEY_ID = S3_KEYS.tidemark.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = S3_KEYS.tidemark.secretAccessKey;
  const client = new S3Client({ endpoint: server.url, region: 'us-east-1', forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  client.destroy();
  return { location: `s3://${bucket}/rig?endpoint=${encodeURIComponent(server.url)}`, stop: () => server.stop() };
}

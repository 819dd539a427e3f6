/** Archives and artifact bytes in buckets of S3 and of servers with the S3 API. */
export { type S3Target, s3Target } from './archive-target.ts';
export { s3Bytes } from './byte-store.ts';
export type { S3Credentials, S3Options } from './options.ts';

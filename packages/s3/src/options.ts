/** The options of a bucket, which may be set in code or in the query of its URL. */
import { invalidArgument } from '@tidemark/core';
import { checkInteger, type UrlReadings, withUrlOptions } from '@tidemark/core/engine';

/** Credentials for S3, in the form that the AWS SDK returns. */
export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  /** When the session ends. Shortly before, a function that returns credentials is called again. */
  expiration?: Date;
}

/** The bucket, and how to reach it. */
export interface S3Options {
  /**
   * `s3://bucket/prefix`. The query may contain most of the options below:
   * `s3://bucket/prefix?region=eu-central-1&encryption=aws:kms`.
   */
  url: string;
  /**
   * The region. Default: `AWS_REGION` or the profile, in the way that the AWS SDK determines it; with an endpoint,
   * `us-east-1`.
   */
  region?: string;
  /** The address of a server other than AWS, such as `https://minio.example.com`. Default: AWS. */
  endpoint?: string;
  /** Whether requests contain the bucket in their path rather than in the host name. Default: only with an endpoint. */
  pathStyle?: boolean;
  /**
   * Credentials, or a function that returns them. Default: the credential chain of the AWS SDK, that is, the
   * environment, the profiles of `~/.aws`, single sign-on, web identity, and the role of the container or machine.
   * Never part of the URL.
   */
  credentials?: S3Credentials | (() => Promise<S3Credentials>);
  /** How S3 encrypts new objects. Default: the setting of the bucket. */
  encryption?: 'AES256' | 'aws:kms' | 'aws:kms:dsse';
  /** The KMS key for `aws:kms`. Default: the key of the bucket or of the account. */
  kmsKeyId?: string;
  /** The storage class of new objects, such as `STANDARD_IA`. Default: `STANDARD`. */
  storageClass?: string;
  /** How long one request may take, in milliseconds. A stream may also pause for this long. Default 30 000. */
  requestTimeoutMs?: number;
  /** How long to retry a request after a transient failure, in milliseconds. Default 20 000. */
  retryForMs?: number;
  /**
   * The size of the parts of a large upload, in bytes. Up to three parts are held in memory. Default 8 MiB, at least 5
   * MiB.
   */
  partBytes?: number;
}

/** The checked options. */
export interface Settings extends Omit<S3Options, 'url'> {
  bucket: string;
  /** The prefix of all names, which is empty or ends with a slash. */
  prefix: string;
  requestTimeoutMs: number;
  retryForMs: number;
  partBytes: number;
}

const URL_OPTIONS: UrlReadings = {
  region: 'text',
  endpoint: 'text',
  pathStyle: 'switch',
  encryption: 'text',
  kmsKeyId: 'text',
  storageClass: 'text',
  requestTimeoutMs: 'number',
  retryForMs: 'number',
  partBytes: 'number',
};

const URL_RULE = 's3://bucket or s3://bucket/prefix, without keys: they come from the environment or an option';
const BUCKET = /^[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]$/;
/** Allows only characters that every S3 server and every tool leaves unchanged. */
const PREFIX = /^[A-Za-z0-9!_.*'()/-]{0,512}$/;
const ENCRYPTIONS = ['AES256', 'aws:kms', 'aws:kms:dsse'];
const MIB = 1024 * 1024;
/** S3 refuses parts that are smaller than this, and uploads of more than 10 000 parts. */
const MIN_PART_BYTES = 5 * MIB;

export function readSettings(given: S3Options | string): Settings {
  const options = withUrlOptions(typeof given === 'string' ? { url: given } : given, URL_OPTIONS, []) as S3Options;
  const { url, region, endpoint, encryption, kmsKeyId, storageClass, pathStyle, credentials } = options;
  const parts = typeof url === 'string' ? /^s3:\/\/([^/?#@:]+)(?:\/([^?#@]*))?$/.exec(url) : null;
  const [bucket, path = ''] = parts?.slice(1) ?? [];
  if (bucket === undefined || !BUCKET.test(bucket) || !PREFIX.test(path) || hasEmptyPart(path))
    throw invalidArgument('url', URL_RULE);
  if (endpoint !== undefined && !/^https?:$/.test(URL.parse(endpoint)?.protocol ?? ''))
    throw invalidArgument('endpoint', 'a URL that starts with http: or https:');
  if (encryption !== undefined && !ENCRYPTIONS.includes(encryption))
    throw invalidArgument('encryption', `one of ${ENCRYPTIONS.join(', ')}`, encryption);
  if (kmsKeyId !== undefined && !encryption?.startsWith('aws:kms'))
    throw invalidArgument('kmsKeyId', 'used with the encryption aws:kms');
  return {
    bucket,
    prefix: path === '' ? '' : `${path.replace(/\/$/, '')}/`,
    region: checkText(region, 'region'),
    endpoint,
    pathStyle: pathStyle ?? endpoint !== undefined,
    credentials,
    encryption,
    kmsKeyId: checkText(kmsKeyId, 'kmsKeyId'),
    storageClass: checkText(storageClass, 'storageClass'),
    requestTimeoutMs: checkInteger(options.requestTimeoutMs ?? 30_000, 'requestTimeoutMs', 1),
    retryForMs: checkInteger(options.retryForMs ?? 20_000, 'retryForMs', 0),
    partBytes: checkInteger(options.partBytes ?? 8 * MIB, 'partBytes', MIN_PART_BYTES),
  };
}

/**
 * Whether a path has an empty part. S3 has no directories, so `a//b` and `a/b` are different names, which some tools
 * confuse.
 */
function hasEmptyPart(path: string): boolean {
  return (
    path
      .replace(/\/$/, '')
      .split('/')
      .some((part) => part === '.' || part === '..') || path.includes('//')
  );
}

function checkText(value: unknown, field: string): string | undefined {
  if (value === undefined || (typeof value === 'string' && value !== '')) return value as string | undefined;
  throw invalidArgument(field, 'a string that is not empty', value);
}

/**
 * Translates errors of S3 and of the connection, and decides whether a request may be retried or may have succeeded
 * (GEN-8).
 */
import { isTidemarkError, TidemarkError } from '@tidemark/core';

/** The details of a failed request. */
export interface Failure {
  /** The error code from S3, or from Node for errors of the connection. */
  code: string;
  /** The HTTP status; `null` if no response arrived. */
  status: number | null;
  message: string;
}

/** The purpose of a request, for error messages. */
export interface Purpose {
  /** The permission that the request needs, such as `s3:PutObject`. */
  permission: string;
  /** The bucket and the key, such as `s3://bucket/prefix/name`. */
  location: string;
  bucket: string;
}

interface SdkError {
  name?: string;
  Code?: string;
  code?: string;
  message?: string;
  $metadata?: { httpStatusCode?: number };
  cause?: { code?: string };
}

export function failureOf(error: unknown): Failure {
  const { name, Code, code, message, $metadata, cause } = error as SdkError;
  const status = $metadata?.httpStatusCode ?? null;
  const connection = code ?? cause?.code ?? name;
  return { code: (status === null ? connection : (Code ?? name)) ?? 'Error', status, message: String(message) };
}

const NOT_IMPLEMENTED = 501;
/** Errors that occur before a request is sent. */
const UNSENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
const SLOW_DOWN = new Set(['SlowDown', 'Throttling', 'ThrottlingException', 'TooManyRequests', 'RequestLimitExceeded']);
/** Transient refusals. Nothing was stored. */
const NOT_NOW = new Set([
  ...['ServiceUnavailable', 'RequestTimeout', 'OperationAborted', 'ConditionalRequestConflict'],
  // The body was altered in transit.
  ...['BadDigest', 'XAmzContentSHA256Mismatch', 'IncompleteBody'],
]);
const EXPIRED = new Set(['ExpiredToken', 'ExpiredTokenException', 'TokenRefreshRequired', 'RequestExpired']);
const WRONG_KEY = new Set([
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
  'InvalidToken',
  'UnrecognizedClientException',
]);
const WRONG_REGION = new Set([
  'PermanentRedirect',
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
]);
const FULL = new Set(['QuotaExceeded', 'XMinioStorageFull', 'XMinioAdminBucketQuotaExceeded', 'InsufficientStorage']);

function isSlowDown({ code, status }: Failure): boolean {
  return SLOW_DOWN.has(code) || status === 429;
}

/** Whether the session of the credentials has ended, so that new credentials may help. */
export function isExpired({ code }: Failure): boolean {
  return EXPIRED.has(code);
}

/** Whether nothing was stored and the same request may succeed later. */
export function isRefusedForNow(failure: Failure): boolean {
  const { code, status } = failure;
  return UNSENT.has(code) || NOT_NOW.has(code) || isSlowDown(failure) || status === 503;
}

/** Whether the response is missing or does not show the outcome, so that the request may have succeeded. */
export function isUnsettled(failure: Failure): boolean {
  const { code, status } = failure;
  if (isRefusedForNow(failure)) return false;
  if (status === null) return code !== 'CredentialsProviderError';
  return status >= 500 && status !== NOT_IMPLEMENTED && !isFull(failure);
}

function isFull({ code, status }: Failure): boolean {
  return FULL.has(code) || status === 507;
}

/** Translates a failure that is permanent, or that lasted until the time for retries ran out. */
export function translate(error: unknown, purpose: Purpose, mayHaveWorked: boolean): unknown {
  if (isTidemarkError(error)) return error;
  const failure = failureOf(error);
  const { location } = purpose;
  const said = `${failure.code}${failure.status === null ? '' : ` (${failure.status})`}`;
  if (mayHaveWorked) {
    const message = `The reply of S3 about ${location} was lost (${said}), so that the object may have been stored`;
    return new TidemarkError('OUTCOME_UNKNOWN', message, { cause: error });
  }
  if (isSlowDown(failure))
    return new TidemarkError('OVERLOADED', `S3 asks for fewer requests to ${location} (${said})`, { cause: error });
  if (isFull(failure)) {
    const message = `S3 has no room for ${location} (${said}): raise the quota of the bucket or of its owner, or remove objects`;
    return new TidemarkError('STORAGE_FULL', message, { cause: error });
  }
  const advice = adviceOn(failure, purpose);
  if (advice !== null) return new TidemarkError('STORAGE_ERROR', `${advice} (${said})`, { cause: error });
  if (isRefusedForNow(failure) || isUnsettled(failure)) {
    const message = `S3 cannot be reached right now for ${location}: ${failure.message} (${said})`;
    return new TidemarkError('UNAVAILABLE', message, { cause: error });
  }
  return new TidemarkError('STORAGE_ERROR', `S3 rejected ${location}: ${failure.message} (${said})`, { cause: error });
}

/** Returns a remedy for the operator, or `null` if none is known. */
function adviceOn({ code, status, message }: Failure, { permission, location, bucket }: Purpose): string | null {
  if (code === 'CredentialsProviderError')
    return 'There are no keys for S3: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, select a profile with AWS_PROFILE, or pass credentials';
  if (EXPIRED.has(code))
    return 'The session token of the keys for S3 has expired: sign in again, or set new AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN';
  if (code === 'InvalidAccessKeyId')
    return `S3 does not know the access key used for the bucket ${bucket}: check AWS_ACCESS_KEY_ID and the endpoint`;
  if (WRONG_KEY.has(code))
    return `The secret for the bucket ${bucket} is wrong: check AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN if the keys are temporary`;
  if (code === 'NoSuchBucket')
    return `The bucket ${bucket} does not exist: create it, or check the name and the endpoint`;
  if (WRONG_REGION.has(code))
    return `The bucket ${bucket} is in another region: add its region to the URL, such as ?region=eu-central-1. S3 says: ${message}`;
  if (code === 'RequestTimeTooSkewed')
    return 'The clock of this machine differs from that of S3: set it, for example with NTP';
  if (code === 'InvalidObjectState')
    return `${location} is in an archive class of S3: restore the object there first, or keep archives in a class that can be read at once`;
  if (code.startsWith('KMS') || code.startsWith('kms'))
    return `S3 could not use the KMS key for ${location}: check the key and its policy. S3 says: ${message}`;
  if (code === 'AccessDenied' || status === 403)
    return `The keys do not permit ${permission} on ${location}: add it to their policy, or check the policy of the bucket`;
  if (code === 'NotImplemented')
    return `This S3 server lacks something that Tidemark needs for ${location}, perhaps conditional writes (If-None-Match). It says: ${message}`;
  return null;
}

/**
 * Classifies failures of DynamoDB by what they reveal about the request, and translates them for the caller (GEN-8).
 */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { isTidemarkError, TidemarkError } from '@tidemark/core';

/**
 * The meaning of a failure. `refused`: the request is refused permanently. `later`: nothing was done, and the same
 * request may succeed later. `unsent`: the request never arrived. `unknown`: the request may have been applied.
 */
export type FailureKind = 'refused' | 'later' | 'unsent' | 'unknown';

interface AwsError {
  name: string;
  message: string;
  code?: string;
  $metadata?: { httpStatusCode?: number };
  CancellationReasons?: CancellationReason[];
  Item?: Record<string, AttributeValue>;
}

interface CancellationReason {
  Code?: string;
  Message?: string;
  Item?: Record<string, AttributeValue>;
}

const LATER = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'RequestLimitExceeded',
  'LimitExceededException',
  'TransactionConflictException',
  'TransactionInProgressException',
  'ReplicatedWriteConflictException',
]);
/** Transient reasons for a cancelled transaction. */
const LATER_REASONS = new Set([
  'None',
  'TransactionConflict',
  'ProvisionedThroughputExceeded',
  'ThrottlingError',
  'RequestLimitExceeded',
]);
const UNSENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
const NO_ACCESS = new Set([
  'AccessDeniedException',
  'UnrecognizedClientException',
  'InvalidSignatureException',
  'MissingAuthenticationTokenException',
  'ExpiredTokenException',
  'CredentialsProviderError',
]);

export function kindOf(error: unknown): FailureKind {
  const { name, code, $metadata, CancellationReasons } = error as AwsError;
  if (name === 'TransactionCanceledException') {
    const reasons = CancellationReasons ?? [];
    return reasons.every(({ Code }) => LATER_REASONS.has(Code ?? 'None')) ? 'later' : 'refused';
  }
  if (LATER.has(name)) return 'later';
  if (code !== undefined && UNSENT.has(code)) return 'unsent';
  const status = $metadata?.httpStatusCode ?? 0;
  if (status >= 400 && status < 500) return 'refused';
  return NO_ACCESS.has(name) ? 'refused' : 'unknown';
}

/** Returns the reasons of a transaction that a condition cancelled, or `null` for any other failure. */
export function cancellationOf(error: unknown): readonly CancellationReason[] | null {
  const { name, CancellationReasons } = error as AwsError;
  const reasons = name === 'TransactionCanceledException' ? (CancellationReasons ?? []) : [];
  return reasons.some(({ Code }) => Code === 'ConditionalCheckFailed') ? reasons : null;
}

export function isConditionFailure(error: unknown): error is { Item?: Record<string, AttributeValue> } {
  return (error as AwsError).name === 'ConditionalCheckFailedException';
}

/** Whether a table is missing. */
export function isMissing(error: unknown): boolean {
  return (error as AwsError).name === 'ResourceNotFoundException';
}

/** Whether DynamoDB refused an item because it is larger than 400 KB. */
export function isTooLarge(error: unknown): boolean {
  const { name, message, CancellationReasons } = error as AwsError;
  const texts = [message, ...(CancellationReasons ?? []).map(({ Message }) => Message ?? '')];
  return (
    /^(ValidationException|TransactionCanceledException)$/.test(name) && texts.some((text) => /item size/i.test(text))
  );
}

/** Translates the failure of a request that is not retried. */
export function translate(error: unknown): unknown {
  if (isTidemarkError(error)) return error;
  const { name, message } = error as AwsError;
  if (isMissing(error))
    return new TidemarkError(
      'SCHEMA_MISMATCH',
      `The tables do not exist in DynamoDB: create them with \`tidemark migrate up\` or a template (${message})`,
      { cause: plainCause(error) },
    );
  if (NO_ACCESS.has(name))
    return new TidemarkError('STORAGE_ERROR', `DynamoDB rejected the credentials or the action: ${message}`, {
      cause: plainCause(error),
    });
  if (kindOf(error) !== 'refused') return unavailable(error);
  return new TidemarkError('STORAGE_ERROR', `DynamoDB reported an error: ${name}: ${message}`, {
    cause: plainCause(error),
  });
}

/** Returns a plain cause. The SDK's errors contain whole connections and items, which must not appear in logs. */
function plainCause(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const { name, message, CancellationReasons } = error as AwsError & Error;
  const reasons = (CancellationReasons ?? []).flatMap(({ Message }) => Message ?? []);
  return Object.assign(new Error([message, ...new Set(reasons)].join('; ')), { name });
}

export function unavailable(cause: unknown): TidemarkError {
  const reason = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
  return new TidemarkError('UNAVAILABLE', `DynamoDB cannot be reached right now, nothing was written: ${reason}`, {
    cause: plainCause(cause),
  });
}

export function overloaded(cause: unknown): TidemarkError {
  const reason = cause instanceof Error ? cause.name : String(cause);
  return new TidemarkError(
    'OVERLOADED',
    `DynamoDB did not accept the request in time, nothing was written: ${reason}; try again in a moment`,
    { cause: plainCause(cause) },
  );
}

export function outcomeUnknown(cause: unknown): TidemarkError {
  const reason = cause instanceof Error ? cause.name : String(cause);
  return new TidemarkError(
    'OUTCOME_UNKNOWN',
    `The reply of DynamoDB to the write was lost (${reason}); retry it to find out its outcome`,
    { cause: plainCause(cause) },
  );
}

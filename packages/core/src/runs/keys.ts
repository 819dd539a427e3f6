/** Derives idempotency keys by the specification's formula (RUN-5). The store treats keys as opaque. */
import { checkInteger } from '../checks/numbers.ts';
import { checkId } from '../checks/text.ts';
import { invalidArgument } from '../contracts/errors.ts';
import { sha256Hex } from '../hash.ts';

/** The parts of a derived idempotency key. */
export interface KeyParts {
  runId: string;
  /** Omit for events of the run itself. */
  stepId?: string | null;
  logicalAttemptId: number;
  eventType: string;
  /** Not part of a version 1 key. */
  planId?: string;
  planVersion: string;
}

const SEPARATOR = '|';

/**
 * Derives an idempotency key: the lowercase hex SHA-256 of `runId|step|logicalAttemptId|eventType|planId|planVersion`.
 * `step` is `RUN` without a `stepId`. Version 1 omits `planId`. Parts are hashed verbatim and must not contain `|`,
 * because otherwise two different events could get the same key.
 *
 * @throws `INVALID_ARGUMENT` when a part is missing, invalid or contains `|`, or the version is not 1 or 2.
 *
 * @example
 * const plan = { planId: 'checkout', planVersion: '2' };
 * const key = deriveIdempotencyKey({ runId: 'order-42', logicalAttemptId: 1, eventType: 'RunStarted', ...plan });
 * console.log(key.length); // 64
 */
export function deriveIdempotencyKey(parts: KeyParts, options: { version?: 1 | 2 } = {}): string {
  const version = options.version ?? 2;
  if (version !== 1 && version !== 2) throw invalidArgument('version', '1 or 2', version);
  const texts = [
    checkPart(parts.runId, 'runId'),
    parts.stepId === undefined || parts.stepId === null ? 'RUN' : checkPart(parts.stepId, 'stepId'),
    String(checkInteger(parts.logicalAttemptId, 'logicalAttemptId', 1)),
    checkPart(parts.eventType, 'eventType'),
  ];
  if (version === 2) texts.push(checkPart(parts.planId, 'planId'));
  texts.push(checkPart(parts.planVersion, 'planVersion'));
  return sha256Hex(texts.join(SEPARATOR));
}

function checkPart(value: unknown, field: string): string {
  const text = checkId(value, field);
  if (text.includes(SEPARATOR))
    throw invalidArgument(field, `free of '${SEPARATOR}', which separates the parts of a key`, text);
  return text;
}

const ONCE_PER_ATTEMPT = new Set([
  'RunQueued',
  'RunStarted',
  'RunCompleted',
  'RunFailed',
  'RunCancelled',
  'StepStarted',
  'StepCompleted',
  'StepFailed',
  'StepSkipped',
]);

/**
 * Returns the key of an event that was sent without one. Types that occur once per attempt get the derived key. All
 * others get the `eventId`, as do events with a part that contains the separator, because with the formula a second
 * `RunPaused` would be a duplicate of the first.
 */
export function defaultIdempotencyKey(
  event: Required<Omit<KeyParts, 'stepId'>> & { stepId: string | null; eventId: string },
): string {
  return derivedKeyOf(event) ?? event.eventId;
}

/** Returns the derived key of an event whose type occurs once per attempt, or `null` for all others. */
export function derivedKeyOf(event: Required<Omit<KeyParts, 'stepId'>> & { stepId?: string | null }): string | null {
  if (!ONCE_PER_ATTEMPT.has(event.eventType)) return null;
  const texts = [event.runId, event.stepId ?? 'RUN', event.planId, event.planVersion];
  if (texts.some((text) => text.includes(SEPARATOR))) return null;
  return sha256Hex(
    `${event.runId}|${event.stepId ?? 'RUN'}|${event.logicalAttemptId}|${event.eventType}|${event.planId}|${event.planVersion}`,
  );
}

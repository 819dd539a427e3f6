/** Idempotency keys (RUN-5): opaque to the store; this derives the specification's ones. */
import { checkInteger } from '../checks/numbers.ts';
import { checkId } from '../checks/text.ts';
import { invalidArgument } from '../contracts/errors.ts';
import { sha256Hex } from '../hash.ts';

/** What a key is made of. */
export interface KeyParts {
  runId: string;
  /** Absent for events of the run itself. */
  stepId?: string | null;
  logicalAttemptId: number;
  eventType: string;
  /** Not part of a version 1 key. */
  planId?: string;
  planVersion: string;
}

const SEPARATOR = '|';

/**
 * Lowercase hex SHA-256 of `runId|step|logicalAttemptId|eventType|planId|planVersion`; version 1 has no `planId`.
 * Parts are taken verbatim, so one that contains the separator is refused: two different events could meet.
 *
 * @example
 * deriveIdempotencyKey({ runId: 'r', logicalAttemptId: 1, eventType: 'RunStarted', planId: 'p', planVersion: '2' })
 */
export function deriveIdempotencyKey(parts: KeyParts, options: { version?: 1 | 2 } = {}): string {
  const version = options.version ?? 2;
  if (version !== 1 && version !== 2) throw invalidArgument('version', '1 or 2', version);
  const texts = [
    part(parts.runId, 'runId'),
    parts.stepId === undefined || parts.stepId === null ? 'RUN' : part(parts.stepId, 'stepId'),
    String(checkInteger(parts.logicalAttemptId, 'logicalAttemptId', 1)),
    part(parts.eventType, 'eventType'),
  ];
  if (version === 2) texts.push(part(parts.planId, 'planId'));
  texts.push(part(parts.planVersion, 'planVersion'));
  return sha256Hex(texts.join(SEPARATOR));
}

function part(value: unknown, field: string): string {
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
 * The key of an event that was sent without one. Types that happen once an attempt get the derived key; all
 * others, and parts that contain the separator, get the `eventId`: the formula would make a second pause a duplicate.
 */
export function defaultIdempotencyKey(
  event: Required<Omit<KeyParts, 'stepId'>> & { stepId: string | null; eventId: string },
): string {
  return derivedKeyOf(event) ?? event.eventId;
}

/** The key that the formula gives an event of a type that happens once an attempt; `null` for all others. */
export function derivedKeyOf(event: Required<Omit<KeyParts, 'stepId'>> & { stepId?: string | null }): string | null {
  if (!ONCE_PER_ATTEMPT.has(event.eventType)) return null;
  const texts = [event.runId, event.stepId ?? 'RUN', event.planId, event.planVersion];
  if (texts.some((text) => text.includes(SEPARATOR))) return null;
  return sha256Hex(
    `${event.runId}|${event.stepId ?? 'RUN'}|${event.logicalAttemptId}|${event.eventType}|${event.planId}|${event.planVersion}`,
  );
}

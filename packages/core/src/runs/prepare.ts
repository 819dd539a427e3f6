/** Validates and encodes an event before anything is written (RUN-9, GEN-4), and decodes a stored one. */
import { decodeJson, encodeJsonObject } from '../checks/json.ts';
import { checkLabels } from '../checks/labels.ts';
import { checkInteger, checkTime, timeText } from '../checks/numbers.ts';
import { checkId, checkObject, checkOptionalId } from '../checks/text.ts';
import { damagedAt, isDamagedPayload } from '../codec/failure.ts';
import type { Payloads } from '../codec/payloads.ts';
import type { StoreContext } from '../context.ts';
import type { PayloadPlace } from '../contracts/codec.ts';
import { invalidArgument, isTidemarkError } from '../contracts/errors.ts';
import type { Redaction, RunEventRecord } from '../contracts/run-events.ts';
import type { PreparedEvent, RunKey, StoredRedaction, StoredRunEvent } from '../engine/runs.ts';
import { corruptEvent, leafOf, undecodable } from './chain.ts';
import { defaultIdempotencyKey } from './keys.ts';
import { isRunType, isStepType } from './transitions.ts';
import { UUID_V4 } from './upcast.ts';
import { checkTenant, type RunView } from './view.ts';

export const MAX_EXTRA_BYTES = 64 * 1024;

/** The fields that have a place of their own; all others are kept together. */
const ENVELOPE = new Set([
  'eventId',
  'eventType',
  'emittedAt',
  'runId',
  'tenantId',
  'projectId',
  'environmentId',
  'planId',
  'planVersion',
  'engineAttemptId',
  'logicalAttemptId',
  'idempotencyKey',
  'stepId',
  'payload',
]);

/** What the store says of an event, and no producer. */
const ASSIGNED = new Set(['runSeq', 'persistedAt', 'redacted']);

/** An event that may be handed to an engine. */
export interface Prepared {
  run: RunKey;
  event: PreparedEvent;
  labels: Record<string, string>;
  parentRunId: string | null;
}

/** Checks every field and encodes the event. */
export function prepareEvent(context: StoreContext, input: unknown, view: RunView): Prepared {
  const it = checkObject(input, 'event');
  const tenantId = checkId(it.tenantId, 'tenantId');
  checkTenant(view, tenantId);
  const run = { tenantId, runId: checkId(it.runId, 'runId') };
  const eventType = checkId(it.eventType, 'eventType');
  const event: PreparedEvent = {
    eventId: checkUuid(it.eventId),
    eventType,
    emittedAt: checkTime(it.emittedAt, 'emittedAt'),
    projectId: checkId(it.projectId, 'projectId'),
    environmentId: checkId(it.environmentId, 'environmentId'),
    planId: checkId(it.planId, 'planId'),
    planVersion: checkId(it.planVersion, 'planVersion'),
    engineAttemptId: checkInteger(it.engineAttemptId, 'engineAttemptId', 1),
    logicalAttemptId: checkInteger(it.logicalAttemptId, 'logicalAttemptId', 1),
    idempotencyKey: '',
    stepId: checkStep(it.stepId, eventType),
    extra: encodeExtra(it),
    payload:
      it.payload === undefined ? null : encodeJsonObject(it.payload, 'payload', context.limits.eventPayloadBytes),
    leaf: '',
  };
  event.idempotencyKey =
    it.idempotencyKey === undefined
      ? defaultIdempotencyKey({ ...event, runId: run.runId })
      : checkId(it.idempotencyKey, 'idempotencyKey');
  if (event.payload !== null) event.payload = context.payloads.encode(event.payload, placeOf(run, event));
  event.leaf = leafOf(run, event);
  return {
    run,
    event,
    labels: (it.labels as Record<string, string> | undefined) ?? {},
    parentRunId: (it.parentRunId as string | undefined) ?? null,
  };
}

export function checkUuid(value: unknown): string {
  if (typeof value === 'string' && UUID_V4.test(value)) return value;
  throw invalidArgument('eventId', 'a version 4 UUID', value ?? null);
}

export function checkStep(value: unknown, eventType: string): string | null {
  const stepId = value === undefined ? null : checkId(value, 'stepId');
  if (stepId === null && isStepType(eventType)) throw invalidArgument('stepId', `given for ${eventType}`);
  if (stepId !== null && isRunType(eventType)) throw invalidArgument('stepId', `absent for ${eventType}`, stepId);
  return stepId;
}

function encodeExtra(it: Record<string, unknown>): string | null {
  let extra: Record<string, unknown> | null = null;
  for (const key of Object.keys(it)) {
    if (ENVELOPE.has(key) || it[key] === undefined) continue;
    if (ASSIGNED.has(key)) throw invalidArgument(key, 'absent: the store assigns it');
    checkExtension(key, it[key]);
    extra ??= Object.create(null) as Record<string, unknown>;
    extra[key] = it[key];
  }
  return extra === null ? null : encodeJsonObject(extra, 'event', MAX_EXTRA_BYTES);
}

/** Throws unless every member may stand beside the fields that have a place of their own. */
export function checkExtra(extra: Record<string, unknown>): void {
  for (const key of Object.keys(extra)) {
    if (ENVELOPE.has(key) || ASSIGNED.has(key))
      throw invalidArgument(`extra.${key}`, 'absent: it has a place of its own');
    checkExtension(key, extra[key]);
  }
  encodeJsonObject(extra, 'extra', MAX_EXTRA_BYTES);
}

function checkExtension(key: string, value: unknown): void {
  if (key === 'labels') checkLabels(value, 'labels');
  else if (key === 'parentRunId') checkId(value, 'parentRunId');
  else if (key === 'traceparent' || key === 'adapterVersion') checkOptionalId(value, key);
}

/** Where the payload of an event is kept: an event is known by its key before it has a sequence. */
export function placeOf({ tenantId, runId }: RunKey, { idempotencyKey }: { idempotencyKey: string }): PayloadPlace {
  return { tenantId, kind: 'event', owner: runId, item: idempotencyKey };
}

/**
 * A stored event as readers get it: a new object each time. Throws `CORRUPT_EVENT` for one whose parts cannot be decoded, and
 * `CODEC_FAILED` for a payload that the keys and the codec of this store do not open.
 */
export function recordOf(
  payloads: Payloads,
  run: RunKey,
  stored: Omit<StoredRunEvent, 'commitIndex' | 'link'>,
): RunEventRecord {
  try {
    return decodeRecord(payloads, run, stored);
  } catch (error) {
    if (isDamagedPayload(error) && error.keyId !== undefined) throw damagedAt(error, stored.runSeq);
    if (isDamagedPayload(error))
      throw corruptEvent(run, stored.runSeq, `its payload cannot be decoded: ${error.rule}`, error);
    // What parsing and formatting throw; a codec's own failure is passed on as it is.
    if (error instanceof SyntaxError || error instanceof RangeError) throw undecodable(run, stored.runSeq);
    throw error;
  }
}

/** Why an event is damaged, where an error says that; `null` for every other error. */
export function damageIn(error: unknown): { runSeq?: number; reason: string } | null {
  if (!isTidemarkError(error, 'CORRUPT_EVENT') && !isDamagedPayload(error)) return null;
  return { runSeq: error.runSeq, reason: error.rule ?? error.message };
}

function decodeRecord(
  payloads: Payloads,
  run: RunKey,
  stored: Omit<StoredRunEvent, 'commitIndex' | 'link'>,
): RunEventRecord {
  return {
    eventId: stored.eventId,
    eventType: stored.eventType,
    emittedAt: stored.emittedAt,
    runId: run.runId,
    tenantId: run.tenantId,
    projectId: stored.projectId,
    environmentId: stored.environmentId,
    planId: stored.planId,
    planVersion: stored.planVersion,
    engineAttemptId: stored.engineAttemptId,
    logicalAttemptId: stored.logicalAttemptId,
    idempotencyKey: stored.idempotencyKey,
    ...(stored.stepId === null ? undefined : { stepId: stored.stepId }),
    ...(stored.payload === null
      ? undefined
      : { payload: payloads.decode<Record<string, unknown>>(stored.payload, placeOf(run, stored)) }),
    ...(stored.extra === null ? undefined : decodeJson<Record<string, unknown>>(stored.extra)),
    runSeq: stored.runSeq,
    persistedAt: timeText(stored.persistedAt),
    ...(stored.redaction === undefined ? undefined : { redacted: redactionOf(stored.redaction) }),
  };
}

function redactionOf({ at, by, reason }: StoredRedaction): Redaction {
  return { at: timeText(at), by, reason };
}

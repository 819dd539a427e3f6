/** Runs and events in the form they are carried in: plain JSON, with hashes in hex and times as text. */
import { checkJsonObject, decodeJson } from '../checks/json.ts';
import { checkLabels } from '../checks/labels.ts';
import { checkInteger, checkTime, timeText } from '../checks/numbers.ts';
import { checkId, checkObject, checkOneOf, checkOptionalId, checkText } from '../checks/text.ts';
import { invalidArgument } from '../contracts/errors.ts';
import type { ExportedEvent, ExportedRun, RunPart } from '../contracts/run-parts.ts';
import type { RunStatus } from '../contracts/run-state.ts';
import type { RestoredPart, RunHead, StoredRedaction, StoredRunEvent } from '../engine/runs.ts';
import { type Digest, digestBytes } from '../hash.ts';
import { checkUuid } from './prepare.ts';

const STATUSES: readonly RunStatus[] = ['PENDING', 'RUNNING', 'PAUSED', 'COMPLETED', 'FAILED', 'CANCELLED'];
const MAX_EVENTS = 1_000;
/** Far more than there can be, and far enough from the largest safe integer to count on from. */
const MAX_REWRITES = 2 ** 50;
const MAX_TEXT_BYTES = 64 * 1024 * 1024;

export function hexOf(digest: Digest): string {
  return digestBytes(digest).toString('hex');
}

export function exportedRun(head: RunHead): ExportedRun {
  return {
    tenantId: head.tenantId,
    runId: head.runId,
    projectId: head.projectId,
    environmentId: head.environmentId,
    planId: head.planId,
    planVersion: head.planVersion,
    status: head.status,
    lastEventSeq: head.seq,
    head: hexOf(head.link),
    createdAt: timeText(head.createdAt),
    updatedAt: timeText(head.updatedAt),
    labels: { ...head.labels },
    parentRunId: head.parentRunId,
    rewrites: head.rewrites,
  };
}

export function exportedEvent(event: StoredRunEvent): ExportedEvent {
  const { redaction } = event;
  return {
    runSeq: event.runSeq,
    eventId: event.eventId,
    eventType: event.eventType,
    emittedAt: event.emittedAt,
    persistedAt: timeText(event.persistedAt),
    projectId: event.projectId,
    environmentId: event.environmentId,
    planId: event.planId,
    planVersion: event.planVersion,
    engineAttemptId: event.engineAttemptId,
    logicalAttemptId: event.logicalAttemptId,
    idempotencyKey: event.idempotencyKey,
    stepId: event.stepId,
    extra: event.extra,
    payload: event.payload,
    commitIndex: event.commitIndex,
    link: hexOf(event.link),
    ...(redaction && { redaction: { ...redaction, at: timeText(redaction.at) } }),
  };
}

/** A part as engines take it; `INVALID_ARGUMENT` for what cannot have been exported. */
export function restoredPart(part: RunPart): RestoredPart {
  const it = checkObject(part, 'part');
  if (!Array.isArray(it.events) || it.events.length > MAX_EVENTS)
    throw invalidArgument('part.events', `an array of at most ${MAX_EVENTS} events`);
  if (typeof it.isLast !== 'boolean') throw invalidArgument('part.isLast', 'true or false', it.isLast ?? null);
  return { head: restoredHead(it.run), events: it.events.map(restoredEvent), isLast: it.isLast };
}

function restoredHead(run: unknown): RunHead {
  const it = checkObject(run, 'part.run');
  return {
    tenantId: checkId(it.tenantId, 'tenantId'),
    runId: checkId(it.runId, 'runId'),
    projectId: checkId(it.projectId, 'projectId'),
    environmentId: checkId(it.environmentId, 'environmentId'),
    planId: checkId(it.planId, 'planId'),
    planVersion: checkId(it.planVersion, 'planVersion'),
    status: it.status === null ? null : checkOneOf(it.status, 'status', STATUSES),
    seq: checkInteger(it.lastEventSeq, 'lastEventSeq', 1),
    link: checkDigest(it.head, 'head'),
    createdAt: checkMs(it.createdAt, 'createdAt'),
    updatedAt: checkMs(it.updatedAt, 'updatedAt'),
    labels: checkLabels(it.labels, 'labels'),
    parentRunId: checkOptionalId(it.parentRunId, 'parentRunId'),
    rewrites: it.rewrites === undefined ? 0 : checkInteger(it.rewrites, 'rewrites', 0, MAX_REWRITES),
  };
}

function restoredEvent(event: unknown): StoredRunEvent {
  const it = checkObject(event, 'event');
  return {
    runSeq: checkInteger(it.runSeq, 'runSeq', 1),
    eventId: checkUuid(it.eventId),
    eventType: checkId(it.eventType, 'eventType'),
    emittedAt: checkTime(it.emittedAt, 'emittedAt'),
    persistedAt: checkMs(it.persistedAt, 'persistedAt'),
    projectId: checkId(it.projectId, 'projectId'),
    environmentId: checkId(it.environmentId, 'environmentId'),
    planId: checkId(it.planId, 'planId'),
    planVersion: checkId(it.planVersion, 'planVersion'),
    engineAttemptId: checkInteger(it.engineAttemptId, 'engineAttemptId', 1),
    logicalAttemptId: checkInteger(it.logicalAttemptId, 'logicalAttemptId', 1),
    idempotencyKey: checkId(it.idempotencyKey, 'idempotencyKey'),
    stepId: checkOptionalId(it.stepId, 'stepId'),
    extra: checkJsonText(it.extra, 'extra'),
    payload: checkJsonText(it.payload, 'payload'),
    commitIndex: checkInteger(it.commitIndex, 'commitIndex', 1),
    link: checkDigest(it.link, 'link'),
    ...(it.redaction === undefined ? undefined : { redaction: restoredRedaction(it.redaction) }),
  };
}

function restoredRedaction(redaction: unknown): StoredRedaction {
  const it = checkObject(redaction, 'redaction');
  checkDigest(it.payloadHash, 'redaction.payloadHash');
  return {
    payloadHash: it.payloadHash as string,
    at: checkMs(it.at, 'redaction.at'),
    by: checkId(it.by, 'redaction.by'),
    reason: checkText(it.reason, 'redaction.reason', MAX_TEXT_BYTES),
  };
}

function checkDigest(value: unknown, field: string): Digest {
  if (typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)) return Buffer.from(value, 'hex').toString('latin1');
  throw invalidArgument(field, 'a SHA-256 in hex', value ?? null);
}

function checkMs(value: unknown, field: string): number {
  return Date.parse(checkTime(value, field));
}

function checkJsonText(value: unknown, field: string): string | null {
  if (value === null) return null;
  const text = checkText(value, field, MAX_TEXT_BYTES);
  try {
    checkJsonObject(decodeJson(text), field);
  } catch {
    throw invalidArgument(field, 'the JSON text of an object, or null', text);
  }
  return text;
}

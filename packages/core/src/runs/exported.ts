/** Runs and events in the form they are carried in: plain JSON, with hashes in hex and times as text. */
import { timeText } from '../checks/numbers.ts';
import type { ExportedEvent, ExportedRun } from '../contracts/run-parts.ts';
import type { RunHead, StoredRunEvent } from '../engine/runs.ts';
import { type Digest, digestBytes } from '../hash.ts';

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

/** Converts a run's head to its export form: plain JSON, with hashes in hex and times as text. */

import { laterLife } from '../checks/life.ts';
import { timeText } from '../checks/numbers.ts';
import type { ExportedRun } from '../contracts/run-parts.ts';
import type { RunHead } from '../engine/runs.ts';
import { hexOf } from './event-forms.ts';

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
    ...laterLife(head.life),
    rewrites: head.rewrites,
  };
}

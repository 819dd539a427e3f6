/** Table columns for runs, events and steps. */
import type { RunEventRecord, RunSummary, StepSnapshot } from '@tidemark/core';
import { at, durationText, inShort, state } from '../../cells.ts';
import type { View } from '../../output.ts';

export const RUNS: View<RunSummary> = {
  columns: [
    { title: 'RUN', of: ({ runId }) => runId },
    { title: 'STATUS', of: ({ status }) => state(status) },
    { title: 'PLAN', of: ({ planId }) => planId },
    { title: 'TENANT', of: ({ tenantId }) => tenantId },
    { title: 'PROJECT', of: ({ projectId, environmentId }) => `${projectId}/${environmentId}` },
    { title: 'EVENTS', of: ({ lastEventSeq }) => lastEventSeq },
    { title: 'CREATED', of: ({ createdAt }) => at(createdAt) },
    { title: 'UPDATED', of: ({ updatedAt }) => at(updatedAt) },
  ],
  id: ({ runId }) => runId,
};

export const EVENTS: View<RunEventRecord> = {
  columns: [
    { title: 'SEQ', of: ({ runSeq }) => runSeq, width: 6 },
    { title: 'WHEN', of: ({ persistedAt }) => at(persistedAt), width: 10 },
    { title: 'TYPE', of: ({ eventType }) => eventType, width: 16 },
    { title: 'STEP', of: ({ stepId }) => stepId, width: 16 },
    { title: 'ATTEMPT', of: ({ logicalAttemptId }) => logicalAttemptId, width: 7 },
    { title: 'PAYLOAD', of: ({ payload, redacted }) => (redacted ? `redacted by ${redacted.by}` : inShort(payload)) },
  ],
  id: ({ eventId }) => eventId,
};

export const STEPS: View<StepSnapshot> = {
  columns: [
    { title: 'STEP', of: ({ stepId }) => stepId },
    { title: 'STATUS', of: ({ status }) => state(status) },
    { title: 'ATTEMPT', of: ({ logicalAttemptId }) => logicalAttemptId },
    { title: 'STARTED', of: ({ startedAt }) => at(startedAt) },
    { title: 'TOOK', of: ({ durationMs }) => (durationMs === undefined ? '' : durationText(durationMs)) },
    { title: 'ERROR', of: ({ error }) => [error?.code, error?.message].filter(Boolean).join(': ') },
  ],
  id: ({ stepId }) => stepId,
};

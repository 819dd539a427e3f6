/** A handle on one run: fills in the envelope, so that a first program is ten lines. Sugar over the store. */
import { timeText } from '../checks/numbers.ts';
import type { StoreContext } from '../context.ts';
import type { CallOptions, JsonObject } from '../contracts/common.ts';
import type { HandleEventFields, RunDefaults, RunEventInput, RunHandle, RunStore } from '../contracts/runs.ts';

const DEFAULT_NAME = 'default';
const DEFAULT_PLAN_VERSION = '1';

export function createHandle(runs: RunStore, context: StoreContext, runId: string, defaults: RunDefaults): RunHandle {
  const tenantId = defaults.tenantId ?? DEFAULT_NAME;
  const reading = { tenantId };
  return {
    runId,
    append(eventType: string, payload?: JsonObject, fields: HandleEventFields = {}) {
      const { signal, timeoutMs, ...envelope } = fields;
      const event: RunEventInput = {
        eventId: context.uuid(),
        eventType,
        emittedAt: timeText(context.clock()),
        runId,
        tenantId,
        projectId: defaults.projectId ?? DEFAULT_NAME,
        environmentId: defaults.environmentId ?? DEFAULT_NAME,
        planId: defaults.planId ?? DEFAULT_NAME,
        planVersion: defaults.planVersion ?? DEFAULT_PLAN_VERSION,
        engineAttemptId: 1,
        logicalAttemptId: 1,
        ...(defaults.labels === undefined ? {} : { labels: defaults.labels }),
        ...envelope,
        ...(payload === undefined ? {} : { payload }),
      };
      return runs.appendEvent(event, { signal, timeoutMs });
    },
    events: (options?: { afterSeq?: number } & CallOptions) => runs.readEvents(runId, { ...options, ...reading }),
    tail: (options?: { afterSeq?: number } & CallOptions) => runs.tail(runId, { ...options, ...reading }),
    snapshot: (options?: { atSeq?: number } & CallOptions) => runs.projectSnapshot(runId, { ...options, ...reading }),
    headSeq: (options?: CallOptions) => runs.headSeq(runId, { ...options, ...reading }),
  };
}

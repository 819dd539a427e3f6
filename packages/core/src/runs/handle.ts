/** A handle on one run: fills in the event envelope and delegates to the store. */
import { timeText } from '../checks/numbers.ts';
import type { CallOptions, JsonObject } from '../contracts/common.ts';
import type { EventDefinitions, RunEventInput, RunEventRecord } from '../contracts/run-events.ts';
import type { HandleEventFields, RunDefaults, RunHandle } from '../contracts/run-handle.ts';
import type { RunStore } from '../contracts/runs.ts';
import type { EventSchemas } from '../contracts/schemas.ts';

const DEFAULT_NAME = 'default';
const DEFAULT_PLAN_VERSION = '1';

/** Generates ids and times for new events. */
export interface Stamps {
  uuid(): string;
  clock(): number;
}

export type HandleDefaults = RunDefaults & { events?: EventDefinitions<EventSchemas> };

export function createHandle(runs: RunStore, stamps: Stamps, runId: string, defaults: HandleDefaults): RunHandle {
  const tenantId = defaults.tenantId ?? DEFAULT_NAME;
  const reading = { tenantId };
  const { events } = defaults;
  const parsed = events ? (log: AsyncIterable<RunEventRecord>) => parseAll(events, log) : <T>(log: T) => log;
  return {
    runId,
    async append(eventType: string, payload?: JsonObject, fields: HandleEventFields = {}) {
      if (events) await events.parsePayload(eventType, payload);
      const { signal, timeoutMs, ...envelope } = fields;
      const event: RunEventInput = {
        eventId: stamps.uuid(),
        eventType,
        emittedAt: timeText(stamps.clock()),
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
      return runs.appendEvent(event, { signal, timeoutMs, projections: defaults.projections });
    },
    events: (options?: { afterSeq?: number } & CallOptions) =>
      parsed(runs.readEvents(runId, { ...options, ...reading })),
    tail: (options?: { afterSeq?: number } & CallOptions) => parsed(runs.tail(runId, { ...options, ...reading })),
    snapshot: (options?: { atSeq?: number } & CallOptions) => runs.projectSnapshot(runId, { ...options, ...reading }),
    headSeq: (options?: CallOptions) => runs.headSeq(runId, { ...options, ...reading }),
  };
}

async function* parseAll(
  events: EventDefinitions<EventSchemas>,
  log: AsyncIterable<RunEventRecord>,
): AsyncIterable<RunEventRecord> {
  for await (const event of log) yield (await events.parseEvent(event)) as RunEventRecord;
}

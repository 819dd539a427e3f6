/** A handle on one run: adds the fields that its events share and delegates to the store, which fills in the rest. */

import { expiryLabel } from '../checks/expiry.ts';
import { checkOptionalLife } from '../checks/life.ts';
import type { CallOptions, JsonObject } from '../contracts/common.ts';
import { EXPIRY_LABEL } from '../contracts/expiry.ts';
import type { EventDefinitions, RunEventInput, RunEventRecord } from '../contracts/run-events.ts';
import type { HandleEventFields, RunDefaults, RunHandle } from '../contracts/run-handle.ts';
import type { RunStore } from '../contracts/runs.ts';
import type { EventSchemas } from '../contracts/schemas.ts';
import { DEFAULT_TENANT } from './view.ts';

export type HandleDefaults = RunDefaults & { events?: EventDefinitions<EventSchemas> };

export function createHandle(runs: RunStore, runId: string, defaults: HandleDefaults): RunHandle {
  const { events, tenantId = DEFAULT_TENANT, projectId, environmentId, planId, planVersion } = defaults;
  const life = checkOptionalLife(defaults.life);
  const scope = { tenantId, projectId, environmentId, planId, planVersion };
  const labels = labelsOf(defaults);
  const shared = labels === undefined ? scope : { ...scope, labels };
  const reading = life === undefined ? { tenantId } : { tenantId, life };
  const parsed = events ? (log: AsyncIterable<RunEventRecord>) => parseAll(events, log) : <T>(log: T) => log;
  return {
    runId,
    async append(eventType: string, payload?: JsonObject, fields: HandleEventFields = {}) {
      if (events) await events.parsePayload(eventType, payload);
      const { signal, timeoutMs, expectedSeq, rejectInvalidTransitions, transaction, projections, ...rest } = fields;
      const { life: named = life, ...envelope } = rest;
      const event: RunEventInput = {
        ...shared,
        ...envelope,
        runId,
        eventType,
        ...(payload === undefined ? {} : { payload }),
      };
      return runs.appendEvent(event, {
        signal,
        timeoutMs,
        expectedSeq,
        rejectInvalidTransitions,
        transaction,
        projections: projections ?? defaults.projections,
        ...(named === undefined ? {} : { life: named }),
      });
    },
    events: (options?: { afterSeq?: number; beforeSeq?: number; order?: 'newest' | 'oldest' } & CallOptions) =>
      parsed(runs.readEvents(runId, { ...options, ...reading })),
    tail: (options?: { afterSeq?: number } & CallOptions) => parsed(runs.tail(runId, { ...options, ...reading })),
    snapshot: (options?: { atSeq?: number } & CallOptions) => runs.projectSnapshot(runId, { ...options, ...reading }),
    headSeq: (options?: CallOptions) => runs.headSeq(runId, { ...options, ...reading }),
  };
}

/** The setting of the expiry is a label, so that the first event stores it. */
function labelsOf({ labels, expires }: HandleDefaults): Record<string, string> | undefined {
  return expires === undefined ? labels : { ...labels, [EXPIRY_LABEL]: expiryLabel(expires) };
}

async function* parseAll(
  events: EventDefinitions<EventSchemas>,
  log: AsyncIterable<RunEventRecord>,
): AsyncIterable<RunEventRecord> {
  for await (const event of log) yield (await events.parseEvent(event)) as RunEventRecord;
}

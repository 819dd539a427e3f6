/** Sample events: complete and valid unless a case overrides fields. */
import { randomUUID } from 'node:crypto';
import type { AppendResult, RunEventInput, RunEventRecord, Store } from '@tidemark/core';
import type { Bench } from '../../kit.ts';

const STEP_TYPES = new Set(['StepStarted', 'StepCompleted', 'StepFailed', 'StepSkipped']);

/**
 * Returns a valid event of the case's tenant with its own key. Overrides take precedence, even if they make it invalid.
 */
export function runEvent(
  bench: Pick<Bench, 'tenantId'>,
  overrides: Partial<RunEventInput> & { runId: string },
): RunEventInput {
  const eventType = overrides.eventType ?? 'Progress';
  return {
    eventId: randomUUID(),
    eventType,
    emittedAt: '2026-02-16T09:30:00.000Z',
    tenantId: bench.tenantId,
    projectId: 'project',
    environmentId: 'test',
    planId: 'plan',
    planVersion: '1',
    engineAttemptId: 1,
    logicalAttemptId: 1,
    idempotencyKey: randomUUID(),
    ...(STEP_TYPES.has(eventType) ? { stepId: 'step' } : {}),
    ...overrides,
  };
}

/** Returns the same event without a key, so that the store derives one. */
export function keylessEvent(
  bench: Pick<Bench, 'tenantId'>,
  overrides: Partial<RunEventInput> & { runId: string },
): RunEventInput {
  const { idempotencyKey: _, ...event } = runEvent(bench, overrides);
  return event as RunEventInput;
}

/** Appends events of the given types to a run, one call each. */
export async function appendTypes(bench: Bench, runId: string, ...types: string[]): Promise<AppendResult[]> {
  const results: AppendResult[] = [];
  for (const eventType of types)
    results.push(await bench.tenant.runs.appendEvent(runEvent(bench, { runId, eventType })));
  return results;
}

/** Appends `count` events with payloads `{ n: 1 }`, `{ n: 2 }`, … in one batch. */
export function appendNumbered(bench: Bench, runId: string, count: number, from = 1): Promise<AppendResult[]> {
  const events = Array.from({ length: count }, (_, index) => runEvent(bench, { runId, payload: { n: from + index } }));
  return bench.tenant.runs.appendEvents(events);
}

/** Returns the whole log of a run, read in several pages. */
export async function wholeLog(store: Store, runId: string, limit = 1_000): Promise<RunEventRecord[]> {
  const log: RunEventRecord[] = [];
  for (;;) {
    const page = await store.runs.fetchEvents(runId, { afterSeq: log.at(-1)?.runSeq ?? 0, limit });
    log.push(...page);
    if (page.length < limit) return log;
  }
}

export function numbersOf(events: readonly RunEventRecord[]): unknown[] {
  return events.map((it) => it.payload?.n);
}

/**
 * The events of every append benchmark, created before the clock starts, with the same shape for our store and the bare
 * driver.
 */
import type { RunEventEnvelope, RunEventInput } from '@tidemark/core';

/** An event with its whole envelope. */
export type WholeEvent = RunEventInput & RunEventEnvelope;

export function makeEvents(count: number, runOf: (index: number) => string): WholeEvent[] {
  return Array.from({ length: count }, (_, index) => ({
    eventId: crypto.randomUUID(),
    eventType: 'Progress',
    emittedAt: '2026-02-16T09:30:00.000Z',
    runId: runOf(index),
    tenantId: 'bench',
    projectId: 'shop',
    environmentId: 'prod',
    planId: 'checkout',
    planVersion: '3',
    engineAttemptId: 1,
    logicalAttemptId: 1,
    stepId: 'charge',
    payload: {
      index,
      done: index * 0.5,
      message: 'charging the card of a customer',
      tags: ['a', 'b', 'c'],
      card: { brand: 'visa', last4: '4242' },
    },
  }));
}

/** Appends each event separately, with a number of concurrent callers. */
export async function appendAll(
  append: (event: RunEventInput) => Promise<unknown>,
  events: readonly RunEventInput[],
  callers: number,
): Promise<number> {
  let next = 0;
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (next < events.length) await append(events[next++]!);
    }),
  );
  return events.length;
}

/** Lists that read more than one page of the engine. */
import { expect, it } from 'vitest';
import type { RunEventInput } from '../contracts/run-events.ts';
import { memoryStore } from '../memory/store.ts';

/** More runs than an engine reads at a time. */
const MANY = 1_100;

function started(n: number, labels: Record<string, string> = {}): RunEventInput {
  return {
    ...{ eventId: crypto.randomUUID(), eventType: 'RunStarted', emittedAt: '2026-02-16T09:30:00.000Z' },
    ...{ runId: `run-${n}`, tenantId: 'acme', projectId: 'p', environmentId: 'e', planId: 'plan', planVersion: '1' },
    ...{ engineAttemptId: 1, logicalAttemptId: 1, idempotencyKey: 'start', labels },
  };
}

it('finds the one matching run after more than a thousand others', async () => {
  let now = Date.parse('2026-02-16T09:30:00.000Z');
  const { runs } = memoryStore({ clock: () => now++ }).forTenant('acme');
  for (let n = 0; n < MANY; n++) await runs.appendEvent(started(n, n === 0 ? { team: 'ops' } : {}));
  const newest = await runs.listRuns({ labels: { team: 'ops' }, order: 'newest' });
  expect(newest.items.map(({ runId }) => runId)).toEqual(['run-0']);
  expect(newest.next).toBeUndefined();
});

it('counts to the end of a list of more than a thousand runs, and exactly', async () => {
  const { runs } = memoryStore().forTenant('acme');
  for (let n = 0; n < MANY; n++) await runs.appendEvent(started(n, n % 2 === 0 ? { team: 'ops' } : {}));
  expect(await runs.countRuns()).toEqual({ count: MANY, exact: true });
  expect(await runs.countRuns({ labels: { team: 'ops' } })).toEqual({ count: MANY / 2, exact: true });
});

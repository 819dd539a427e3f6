/** `verify` and `doctor({ deep: true })` compare a run's head, which lists show, with its events. */
import { describe, expect, it } from 'vitest';
import type { RunEventInput } from '../contracts/run-events.ts';
import type { RunHead } from '../engine/runs.ts';
import { memoryStore } from '../memory/store.ts';
import { withRuns } from '../store.ts';

function event(eventType: string): RunEventInput {
  return {
    ...{ eventId: crypto.randomUUID(), eventType, emittedAt: '2026-02-16T09:30:00.000Z' },
    ...{ runId: 'r', tenantId: 't', projectId: 'p', environmentId: 'e', planId: 'plan', planVersion: '1' },
    ...{ engineAttemptId: 1, logicalAttemptId: 1, labels: { team: 'blue' }, parentRunId: 'parent' },
  };
}

/** Returns a store with a run of three events whose head is read with these changes. */
async function runWith(changes: Partial<RunHead>) {
  const whole = memoryStore();
  for (const type of ['RunQueued', 'RunStarted', 'RunCompleted']) await whole.runs.appendEvent(event(type));
  return withRuns(whole, (engine) => ({
    head: async (...args) => {
      const head = await engine.head(...args);
      return head && { ...head, ...changes };
    },
  }))!;
}

describe('a head', () => {
  it('that matches its events passes', async () => {
    const { runs } = await runWith({});
    expect(await runs.verify('r')).toMatchObject({ ok: true, events: 3 });
  });

  const different: Partial<RunHead>[] = [
    { status: 'RUNNING' },
    { createdAt: 1 },
    { updatedAt: 1 },
    { labels: { team: 'blve' } },
    { parentRunId: null },
    { planId: 'plam' },
    { planVersion: '0' },
    { projectId: 'q' },
    { environmentId: 'd' },
  ];
  it.each(different)('with %j is reported, and its run is not quarantined', async (changes) => {
    const store = await runWith(changes);
    const [field] = Object.keys(changes);
    expect(await store.runs.verify('r')).toMatchObject({ ok: false, events: 3, summary: { field } });
    const { ok, findings } = await store.doctor({ deep: true });
    expect(ok).toBe(false);
    expect(findings.find(({ check }) => check === 'stored values')).toMatchObject({ status: 'fail' });
    expect((await store.runs.listQuarantined()).items).toEqual([]);
    expect(await store.runs.fetchEvents('r')).toHaveLength(3);
  });
});

describe('a listed run that cannot be found', () => {
  it('is reported by the doctor, unless it has been removed', async () => {
    const whole = memoryStore();
    for (const type of ['RunQueued', 'RunStarted']) await whole.runs.appendEvent(event(type));
    const lost = withRuns(whole, () => ({ head: async () => null }))!;
    const findings = async (store: typeof lost) =>
      (await store.doctor({ deep: true })).findings.find(({ check }) => check === 'stored values');
    expect(await findings(lost)).toMatchObject({ status: 'fail', message: /runs t \/ r/ });
    const removed = withRuns(whole, (engine) => ({
      head: async (run, call) => {
        await whole.runs.deleteRun('r', { tenantId: 't' });
        return engine.head(run, call);
      },
    }))!;
    expect(await findings(removed)).toMatchObject({ status: 'ok' });
  });
});

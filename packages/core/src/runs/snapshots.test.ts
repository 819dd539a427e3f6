/**
 * Snapshots on an engine with chosen faults and timing: write-back, staleness, removal, redaction (RUN-13 to RUN-15).
 */
import { describe, expect, it, vi } from 'vitest';
import type { RunEventInput } from '../contracts/run-events.ts';
import type { Records } from '../engine/records.ts';
import type { RunEngine } from '../engine/runs.ts';
import { KeyedRuns } from '../keyed/runs.ts';
import { memoryJournal } from '../memory/journal.ts';
import { memoryRecords } from '../memory/records.ts';
import { StoreContext } from '../tools/context.ts';
import { Runs } from './store.ts';

function setUp(
  change: (engine: RunEngine) => Partial<RunEngine> = () => ({}),
  changeRecords: (records: Records) => Partial<Records> = () => ({}),
) {
  const context = new StoreContext();
  const inner = memoryRecords(context);
  const changed = changeRecords(inner);
  const records = new Proxy<Records>(inner, {
    get: (target, key) => {
      const method = changed[key as keyof Records] ?? Reflect.get(target, key, target);
      return (method as (...args: unknown[]) => unknown).bind(target);
    },
  });
  const engine: RunEngine = new KeyedRuns(memoryJournal(context), records);
  const calls = { fetch: 0, load: 0, save: 0 };
  const counted = new Proxy(engine, {
    get(target, key) {
      const changed = change(target)[key as keyof RunEngine] as unknown;
      const method = (changed ?? Reflect.get(target, key, target)) as (...args: unknown[]) => unknown;
      return (...args: unknown[]) => {
        if (key === 'fetch') calls.fetch++;
        if (key === 'loadSnapshot') calls.load++;
        if (key === 'saveSnapshot') calls.save++;
        return method.apply(target, args);
      };
    },
  });
  const abilities = {
    canRedact: true,
    canNotice: true,
    canListByUpdate: true,
    inlineAppends: () => null,
    dropStates: async () => {},
  };
  return { runs: new Runs(context, counted, { tenantId: 't' }, abilities), calls, records: inner };
}

const ORDER = { by: 'officer', reason: 'request 4711' };
const NAME = { space: 'snapshots', tenantId: 't', key: 'r' } as const;

/** Appends a run whose second event puts a secret into its snapshot. */
async function appendSecret(runs: Runs): Promise<void> {
  await append(runs, 1, 'RunStarted');
  await append(runs, 1, 'RunFailed', { errorMessage: 'secret' });
}

async function append(
  runs: Runs,
  count: number,
  eventType = 'Progress',
  payload?: RunEventInput['payload'],
): Promise<void> {
  const events = Array.from({ length: count }, (): RunEventInput => {
    const eventId = crypto.randomUUID();
    return {
      ...{ eventId, eventType, emittedAt: '2026-02-16T09:30:00.000Z', runId: 'r', tenantId: 't' },
      ...{ projectId: 'p', environmentId: 'e', planId: 'plan', planVersion: '1' },
      ...{ engineAttemptId: 1, logicalAttemptId: 1, payload },
    };
  });
  for (let at = 0; at < count; at += 1_000) await runs.appendEvents(events.slice(at, at + 1_000));
}

const settled = () => new Promise((done) => setTimeout(done, 20));

describe('snapshots', () => {
  it('as of an event exist up to the last event of the run', async () => {
    const { runs } = setUp();
    await append(runs, 3);
    expect(await runs.projectSnapshot('r', { atSeq: 3 })).toMatchObject({ lastEventSeq: 3 });
    expect(await runs.projectSnapshot('r', { atSeq: 2 })).toMatchObject({ lastEventSeq: 2 });
    await expect(runs.projectSnapshot('r', { atSeq: 4 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      field: 'atSeq',
      rule: 'at most 3, the last of the run',
    });
  });

  it('are read as one row, regardless of the length of the run', async () => {
    const { runs, calls } = setUp();
    await append(runs, 5_000);
    await runs.refreshSnapshot('r');
    Object.assign(calls, { fetch: 0, load: 0 });
    expect((await runs.getSnapshot('r'))?.lastEventSeq).toBe(5_000);
    expect(calls).toMatchObject({ fetch: 0, load: 1 });
  });

  it('keep their version and the time they were stored until another event follows', async () => {
    const { runs } = setUp();
    await append(runs, 3);
    const { version, projectedAt } = (await runs.refreshSnapshot('r')).snapshot;
    await settled();
    expect(await runs.projectSnapshot('r')).toMatchObject({ version, projectedAt, freshness: 'FRESH' });
    await append(runs, 1);
    const next = await runs.projectSnapshot('r');
    expect([next.version, next.projectedAt > projectedAt]).toEqual([version + 1, true]);
  });

  it('are written back after a long tail, and not after a short one', async () => {
    const { runs, calls } = setUp();
    await append(runs, 1);
    await runs.refreshSnapshot('r');
    await append(runs, 199);
    await runs.projectSnapshot('r');
    await settled();
    expect(calls.save).toBe(1);
    await append(runs, 1);
    expect((await runs.projectSnapshot('r')).lastEventSeq).toBe(201);
    await settled();
    expect(calls.save).toBe(2);
    expect((await runs.getSnapshot('r'))?.lastEventSeq).toBe(201);
  });

  it('are returned even if the write-back fails or never completes', async () => {
    for (const saveSnapshot of [() => Promise.reject(new Error('disk full')), () => new Promise<boolean>(() => {})]) {
      const { runs } = setUp(() => ({ saveSnapshot }));
      await append(runs, 300);
      expect((await runs.projectSnapshot('r')).lastEventSeq).toBe(300);
      expect((await runs.getSnapshot('r'))?.lastEventSeq).toBe(300);
    }
  });

  it('are written back once for concurrent readers', async () => {
    const { runs, calls } = setUp();
    await append(runs, 300);
    await Promise.all(Array.from({ length: 10 }, () => runs.projectSnapshot('r')));
    await settled();
    expect(calls.save).toBeLessThan(4);
    expect((await runs.getSnapshot('r'))?.lastEventSeq).toBe(300);
  });

  it('are stored in part when the call is aborted', async () => {
    const controller = new AbortController();
    let isStuck = true;
    const { runs, calls } = setUp((engine) => ({
      async fetch(run, afterSeq, limit, call) {
        if (isStuck && afterSeq >= 20_000) {
          controller.abort();
          await new Promise(() => {});
        }
        return engine.fetch(run, afterSeq, limit, call);
      },
    }));
    await append(runs, 22_000);
    const reading = runs.projectSnapshot('r', { signal: controller.signal, timeoutMs: 60_000 });
    await expect(reading).rejects.toMatchObject({ code: 'ABORTED' });
    isStuck = false;
    await settled();
    expect((await runs.getSnapshot('r'))?.lastEventSeq).toBe(20_000);
    calls.fetch = 0;
    expect((await runs.projectSnapshot('r')).lastEventSeq).toBe(22_000);
    expect(calls.fetch).toBeLessThan(3);
  });

  it('are not overwritten by an older snapshot that is stored late', async () => {
    let isHeld = true;
    let release = () => {};
    const released = new Promise<void>((done) => {
      release = done;
    });
    const { runs } = setUp((engine) => ({
      async saveSnapshot(run, snapshot, call, over) {
        if (isHeld) {
          isHeld = false;
          await released;
        }
        return engine.saveSnapshot(run, snapshot, call, over);
      },
    }));
    await append(runs, 3);
    const late = runs.refreshSnapshot('r');
    await vi.waitFor(() => expect(isHeld).toBe(false));
    await append(runs, 2);
    await runs.refreshSnapshot('r');
    release();
    expect((await late).snapshot.lastEventSeq).toBe(5);
    expect((await runs.getSnapshot('r'))?.lastEventSeq).toBe(5);
  });

  it('are stored before they are returned, so that a late write-back cannot make readers go back', async () => {
    const releases: (() => void)[] = [];
    const { runs } = setUp((engine) => ({
      async saveSnapshot(run, snapshot, call, over) {
        if (releases.length < 1) await new Promise<void>((done) => releases.push(done));
        return engine.saveSnapshot(run, snapshot, call, over);
      },
    }));
    await append(runs, 1);
    await runs.projectSnapshot('r');
    await append(runs, 1);
    const read = runs.getSnapshot('r');
    setTimeout(() => releases[0]!(), 20);
    const seen = (await read)!.lastEventSeq;
    await settled();
    expect((await runs.getSnapshot('r'))!.lastEventSeq).toBeGreaterThanOrEqual(seen);
  });

  it('are written back by appends that check transitions', async () => {
    const { runs, calls } = setUp();
    await append(runs, 3_000);
    await append(runs, 1, 'RunStarted');
    const event = (await runs.fetchEvents('r', { limit: 1 }))[0]!;
    const valid = { ...event, runSeq: undefined, persistedAt: undefined, idempotencyKey: 'next' };
    await runs.appendEvent(valid, { rejectInvalidTransitions: true });
    await settled();
    calls.fetch = 0;
    await runs.appendEvent({ ...valid, idempotencyKey: 'after' }, { rejectInvalidTransitions: true });
    expect(calls.fetch).toBe(1);
  });

  it('are not kept for a run that was deleted while it was folded', async () => {
    let deleteNow = async () => {};
    const { runs } = setUp((engine) => ({
      async saveSnapshot(run, snapshot, call, over) {
        await deleteNow();
        return engine.saveSnapshot(run, snapshot, call, over);
      },
    }));
    await append(runs, 10);
    deleteNow = async () => void (await runs.deleteRun('r'));
    await expect(runs.refreshSnapshot('r')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    expect(await runs.getSnapshot('r')).toBeNull();
  });

  it('are removed again by a keyed engine if a redaction ran during the save', async () => {
    let redactNow = async () => {};
    const { runs, records } = setUp(undefined, (inner) => ({
      async write(write, call) {
        // Runs between reading the stored snapshot and overwriting it.
        const redact = redactNow;
        redactNow = async () => {};
        await redact();
        return inner.write(write, call);
      },
    }));
    await appendSecret(runs);
    redactNow = async () => void (await runs.redactEvent('r', 2, ORDER));
    const { snapshot } = await runs.refreshSnapshot('r');
    expect(JSON.stringify(snapshot)).not.toContain('secret');
    const [record] = await records.get([NAME]);
    expect(Buffer.from(record!.fields.get('body')!).toString()).not.toContain('secret');
  });

  it('are ignored and replaced if their writer stopped before it could remove them', async () => {
    const { runs, records } = setUp();
    await appendSecret(runs);
    await runs.refreshSnapshot('r');
    const [outdated] = await records.get([NAME]);
    await runs.redactEvent('r', 2, ORDER);
    await records.write({ name: NAME, mode: 'replace', set: outdated!.fields });
    for (const read of [() => runs.getSnapshot('r'), () => runs.projectSnapshot('r')])
      expect(JSON.stringify(await read())).not.toContain('secret');
    expect((await runs.refreshSnapshot('r')).snapshot.redactions).toBe(1);
    const [record] = await records.get([NAME]);
    expect(Buffer.from(record!.fields.get('body')!).toString()).not.toContain('secret');
  });

  it('are read and continued if they were stored without a rewrite counter', async () => {
    const { runs, records } = setUp();
    await append(runs, 3);
    const { snapshot } = await runs.refreshSnapshot('r');
    const set = new Map([['rewrites', null]]);
    await records.write({ name: NAME, mode: 'merge', set });
    expect(await runs.getSnapshot('r')).toEqual(snapshot);
    await append(runs, 1);
    expect((await runs.refreshSnapshot('r')).folded).toBe(1);
  });

  it('are not returned for a run that was archived while it was folded', async () => {
    let archiveNow = async () => {};
    const { runs } = setUp((engine) => ({
      async fetch(run, afterSeq, limit, call) {
        if (afterSeq > 0) await archiveNow();
        return engine.fetch(run, afterSeq, limit, call);
      },
    }));
    await append(runs, 2_500);
    archiveNow = async () => void (await runs.archiveRun('r', { location: 'x', expectedSeq: 2_500 }));
    await expect(runs.projectSnapshot('r')).rejects.toMatchObject({ code: 'RUN_ARCHIVED' });
  });

  it('are stale from markStale until the next refresh, while projectSnapshot is always fresh', async () => {
    const { runs } = setUp();
    expect(await runs.markStale('r')).toBe(false);
    await append(runs, 3);
    expect(await runs.markStale('r')).toBe(false);
    await runs.refreshSnapshot('r');
    expect(await runs.markStale('r')).toBe(true);
    expect((await runs.getSnapshot('r'))?.freshness).toBe('STALE');
    expect((await runs.projectSnapshot('r')).freshness).toBe('FRESH');
    await append(runs, 1);
    expect((await runs.projectSnapshot('r')).freshness).toBe('FRESH');
    expect((await runs.getSnapshot('r'))?.freshness).toBe('STALE');
    expect(await runs.refreshSnapshot('r')).toMatchObject({ folded: 1, snapshot: { freshness: 'FRESH' } });
    await runs.markStale('r');
    expect(await runs.refreshSnapshot('r')).toMatchObject({ folded: 0, snapshot: { freshness: 'FRESH' } });
    expect(await runs.getSnapshot('r')).toMatchObject({ freshness: 'FRESH', lastEventSeq: 4 });
  });

  it('fold to a past sequence from the stored snapshot, or from the beginning if it is later', async () => {
    const { runs, calls } = setUp();
    await append(runs, 4_000);
    await runs.refreshSnapshot('r');
    await append(runs, 100);
    calls.fetch = 0;
    expect((await runs.projectSnapshot('r', { atSeq: 4_050 })).lastEventSeq).toBe(4_050);
    expect(calls.fetch).toBe(1);
    expect((await runs.projectSnapshot('r', { atSeq: 3_999 })).lastEventSeq).toBe(3_999);
    expect(calls.fetch).toBe(3);
  });
});

/** Runs that are removed or restored between the reads of one page are never reported as corrupt (RUN-15, RUN-17). */
import { describe, expect, it } from 'vitest';
import type { RunEventInput } from '../contracts/run-events.ts';
import type { RunPart } from '../contracts/run-parts.ts';
import type { Journal } from '../engine/journal.ts';
import { KeyedRuns } from '../keyed/runs.ts';
import { memoryJournal } from '../memory/journal.ts';
import { memoryRecords } from '../memory/records.ts';
import { StoreContext } from '../tools/context.ts';
import { Runs } from './store.ts';

type Hook = 'feed' | 'read';

/**
 * Returns a store whose journal runs a hook right after a read, as another process might, and a second store without.
 */
function setUp() {
  const context = new StoreContext();
  const journal = memoryJournal(context);
  const after: Partial<Record<Hook, () => Promise<void>>> = {};
  const interrupted = new Proxy(journal, {
    get(target, key) {
      const method = Reflect.get(target, key, target) as (...args: unknown[]) => Promise<unknown>;
      return async (...args: unknown[]) => {
        const result = await method.apply(target, args);
        const hook = after[key as Hook];
        delete after[key as Hook];
        await hook?.();
        return result;
      };
    },
  }) as Journal;
  const runs = new Runs(context, new KeyedRuns(interrupted, memoryRecords(context)), { tenantId: 't' });
  const others = new Runs(context, new KeyedRuns(journal, memoryRecords(context)), { tenantId: 't' });
  return { runs, others, after };
}

function event(runId: string): RunEventInput {
  return {
    ...{ eventId: crypto.randomUUID(), eventType: 'Progress', emittedAt: '2026-02-16T09:30:00.000Z' },
    ...{ runId, tenantId: 't', projectId: 'p', environmentId: 'e', planId: 'plan', planVersion: '1' },
    ...{ engineAttemptId: 1, logicalAttemptId: 1 },
  };
}

/** Appends two runs with two commits each: one of three events and one of a single event. */
async function twoRuns(runs: Runs): Promise<void> {
  for (const runId of ['gone', 'stays']) {
    await runs.appendEvents([event(runId), event(runId), event(runId)]);
    await runs.appendEvent(event(runId));
  }
}

async function cursorAfter(runs: Runs, count: number): Promise<string> {
  return (await runs.feedPage({ limit: count })).next!;
}

describe('a run that is removed in between', () => {
  it.each([
    ['between two commits', 3],
    ['inside a commit', 2],
  ])('is omitted from a feed that continues %s, unlike other runs', async (_, given) => {
    const { runs, others, after } = setUp();
    await twoRuns(runs);
    const cursor = await cursorAfter(others, given);
    after.feed = async () => void (await others.deleteRun('gone'));
    const { items } = await runs.feedPage({ cursor: cursor });
    expect(items.map(({ event: { runId, runSeq } }) => `${runId} ${runSeq}`)).toEqual([
      'stays 1',
      'stays 2',
      'stays 3',
      'stays 4',
    ]);
  });

  it('is reported as archived when a read continues inside one of its commits', async () => {
    const { runs, others, after } = setUp();
    await twoRuns(runs);
    after.read = async () => void (await others.archiveRun('gone', { location: 'x', expectedSeq: 4 }));
    await expect(runs.fetchEvents('gone', { afterSeq: 2 })).rejects.toMatchObject({ code: 'RUN_ARCHIVED' });
  });

  it('is reported by verify as not found, and not as broken', async () => {
    const { runs, others, after } = setUp();
    await runs.appendEvents(Array.from({ length: 1_000 }, () => event('long')));
    await runs.appendEvent(event('long'));
    after.read = async () => void (await others.deleteRun('long'));
    await expect(runs.verify('long')).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
  });
});

describe('a run that is archived while it is exported', () => {
  /** Appends more than one part, so that an export reads twice. */
  async function longRun(runs: Runs): Promise<void> {
    await runs.appendEvents(Array.from({ length: 1_000 }, () => event('long')));
    await runs.appendEvent(event('long'));
  }

  async function exported(runs: Runs): Promise<number> {
    let events = 0;
    for await (const part of runs.exportRun('long')) events += part.events.length;
    return events;
  }

  it('is reported as archived and not as corrupt', async () => {
    const { runs, others, after } = setUp();
    await longRun(runs);
    after.read = async () => void (await others.archiveRun('long', { location: 'x', expectedSeq: 1_001 }));
    await expect(exported(runs)).rejects.toMatchObject({ code: 'RUN_ARCHIVED', archive: 'x' });
  });

  it('is exported completely when it is restored before the next part is read', async () => {
    const { runs, others, after } = setUp();
    await longRun(runs);
    const parts: RunPart[] = [];
    for await (const part of others.exportRun('long')) parts.push(part);
    after.read = async () => {
      await others.archiveRun('long', { location: 'x', expectedSeq: 1_001 });
      after.read = async () => void (await others.restoreRun(parts));
    };
    expect(await exported(runs)).toBe(1_001);
  });

  it('is read and verified to its end if it is restored in time', async () => {
    const { runs, others, after } = setUp();
    await longRun(runs);
    const parts: RunPart[] = [];
    for await (const part of others.exportRun('long')) parts.push(part);
    const moveAway = async () => {
      await others.archiveRun('long', { location: 'x', expectedSeq: 1_001 });
      after.read = async () => void (await others.restoreRun(parts));
    };
    after.read = moveAway;
    expect(await Array.fromAsync(runs.readEvents('long', { limit: 400 }))).toHaveLength(1_001);
    after.read = moveAway;
    expect(await runs.verify('long')).toMatchObject({ ok: true, events: 1_001 });
  });
});

describe('a run that is removed and restored in between', () => {
  it.each([3, 2])('is complete in a feed that continues after %i events', async (given) => {
    const { runs, others, after } = setUp();
    await twoRuns(runs);
    const parts: RunPart[] = [];
    for await (const part of others.exportRun('gone')) parts.push(part);
    const cursor = await cursorAfter(others, given);
    after.feed = async () => {
      await others.archiveRun('gone', { location: 'x', expectedSeq: 4 });
      after.read = async () => void (await others.restoreRun(parts));
    };
    const { items } = await runs.feedPage({ cursor: cursor });
    const seen = items.filter(({ event: { runId } }) => runId === 'gone').map(({ event: { runSeq } }) => runSeq);
    expect(seen.slice(-4)).toEqual([1, 2, 3, 4]);
  });
});

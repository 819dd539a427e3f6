/** Reports of runs that lost events, tested with an engine whose heads can be set back. */
import { describe, expect, it } from 'vitest';
import type { StoreAlert } from '../contracts/alerts.ts';
import type { RunEngine, RunHead } from '../engine/runs.ts';
import { KeyedRuns } from '../keyed/runs.ts';
import { memoryJournal } from '../memory/journal.ts';
import { memoryRecords } from '../memory/records.ts';
import { StoreContext } from '../tools/context.ts';
import { withCalls } from '../tools/with-calls.ts';
import { Runs } from './store.ts';

const RUN = { tenantId: 't', runId: 'r' };
const CALL = { deadline: Number.POSITIVE_INFINITY, tenantId: null };

function setUp() {
  const alerts: StoreAlert[] = [];
  let time = 0;
  // Every event has its own time, so that a run's creation differs from its last event.
  const context = new StoreContext({ clock: () => ++time, onAlert: (alert) => void alerts.push(alert) });
  const inner = new KeyedRuns(memoryJournal(context), memoryRecords(context));
  let head: RunHead | null = null;
  let once: RunHead | null = null;
  let appendsAt: number | null = null;
  const engine = withCalls(inner, {
    head: async (run, call) => {
      const lagging = once;
      once = null;
      return lagging ?? head ?? inner.head(run, call);
    },
    append: async (appends, options) => {
      if (appendsAt === null) return inner.append(appends, options);
      return [[{ runSeq: appendsAt, persistedAt: 0, duplicateOf: null }]];
    },
  } satisfies Partial<RunEngine>);
  const abilities = {
    canRedact: true,
    canNotice: true,
    canListByUpdate: true,
    inlineAppends: () => null,
    dropStates: async () => {},
  };
  const runs = new Runs(context, engine, { tenantId: 't' }, abilities);
  const append = async (count: number) => {
    for (let at = 0; at < count; at++) await runs.handle('r').append('Progress', { at });
    return (await inner.head(RUN, CALL)) as RunHead;
  };
  return {
    ...{ runs, alerts, append },
    setBack: (to: RunHead | null) => {
      head = to;
    },
    lagOnce: (to: RunHead) => {
      once = to;
    },
    appendAt: (seq: number) => {
      appendsAt = seq;
    },
  };
}

const settled = () => new Promise((done) => setTimeout(done, 10));

describe('a run that lost events', () => {
  it('is reported once when its head is lower than before', async () => {
    const { runs, alerts, append, setBack } = setUp();
    const early = await append(3);
    await append(2);
    setBack(early);
    expect(await runs.headSeq('r')).toBe(3);
    expect(await runs.headSeq('r')).toBe(3);
    await settled();
    expect(alerts).toEqual([
      { code: 'HEAD_WENT_BACK', severity: 'P1', tenantId: 't', runId: 'r', knownSeq: 5, currentSeq: 3 },
    ]);
  });

  it('is reported when its last sequence has a different event', async () => {
    const { runs, alerts, append, setBack } = setUp();
    const head = await append(3);
    await runs.headSeq('r');
    setBack({ ...head, link: 'x'.repeat(32) });
    await runs.headSeq('r');
    await settled();
    expect(alerts).toMatchObject([{ knownSeq: 3, currentSeq: 3 }]);
  });

  it('is reported when a new event gets a sequence that was already used', async () => {
    const { alerts, append, appendAt } = setUp();
    await append(5);
    appendAt(4);
    await append(1);
    await settled();
    expect(alerts).toMatchObject([{ knownSeq: 5, currentSeq: 4 }]);
  });

  it('is not reported after a rewrite or when the run was created again', async () => {
    const { runs, alerts, append, setBack } = setUp();
    const early = await append(3);
    await append(2);
    for (const head of [
      { ...early, rewrites: 1 },
      { ...early, rewrites: 2, createdAt: early.createdAt + 1 },
    ]) {
      setBack(head);
      expect(await runs.headSeq('r')).toBe(3);
      await settled();
    }
    expect(alerts).toEqual([]);
  });

  it('is not reported when the run was deleted', async () => {
    const { runs, alerts, append } = setUp();
    await append(3);
    await runs.deleteRun('r');
    expect(await runs.headSeq('r')).toBe(0);
    await settled();
    expect(alerts).toEqual([]);
  });

  it('is not reported for a single read that lags behind, whether the last link is known or not', async () => {
    const { runs, alerts, append, lagOnce } = setUp();
    const early = await append(3);
    await append(2);
    lagOnce(early);
    // The link of an own append is unknown until the head has been read.
    expect(await runs.headSeq('r')).toBe(3);
    await settled();
    expect(await runs.headSeq('r')).toBe(5);
    lagOnce(early);
    expect(await runs.headSeq('r')).toBe(3);
    await append(1);
    await settled();
    expect(alerts).toEqual([]);
  });

  it('is not reported for reads that started before the last append completed', async () => {
    const { runs, alerts, append } = setUp();
    await append(1);
    await Promise.all([append(40), ...Array.from({ length: 40 }, () => runs.headSeq('r'))]);
    await settled();
    expect(alerts).toEqual([]);
  });
});

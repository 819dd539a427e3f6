/** Runs that expire: commits that arrive too late, the cost for runs without an expiry, and the cleaner. */
import { afterEach, expect, it, vi } from 'vitest';
import { EXPIRY_LABEL } from '../contracts/expiry.ts';
import type { Journal } from '../engine/journal.ts';
import { KeyedRuns } from '../keyed/runs.ts';
import { memoryJournal } from '../memory/journal.ts';
import { memoryRecords } from '../memory/records.ts';
import { memoryStore } from '../memory/store.ts';
import { StoreContext } from '../tools/context.ts';
import { withCalls } from '../tools/with-calls.ts';
import { Runs } from './store.ts';

const START = Date.parse('2026-03-01T00:00:00.000Z');

/** Opens two stores over one journal, like two processes, with a clock that the test moves. */
function setUp() {
  const time = { now: START };
  const context = new StoreContext({ clock: () => time.now });
  const journal: Journal = memoryJournal(context);
  const records = memoryRecords(context);
  const heads = { read: 0 };
  const open = (change: Partial<Journal> = {}) => {
    const engine = new KeyedRuns(withCalls<Journal>(journal, change), records);
    const counted = withCalls(engine, {
      head: (run, call) => {
        heads.read++;
        return engine.head(run, call);
      },
    });
    return new Runs(context, counted, { tenantId: 't' });
  };
  return { time, journal, heads, open };
}

const expiring = (expires: string) => ({ labels: { [EXPIRY_LABEL]: expires } });

afterEach(() => {
  vi.useRealTimers();
});

it('rejects a commit that was planned before the expiry and stored after it, and keeps the run unknown', async () => {
  const { time, journal, open } = setUp();
  const runs = open({
    commit: (name, commit, call) => {
      if (commit.known > 0) time.now = START + 1_000;
      return journal.commit(name, commit, call);
    },
  });
  await runs.appendEvent({ runId: 'r', eventType: 'RunStarted', ...expiring('1s any') });
  time.now = START + 999;
  const late = [1, 2].map((n) => runs.appendEvent({ runId: 'r', eventType: 'Heartbeat', payload: { n } }));
  for (const append of late) await expect(append).rejects.toMatchObject({ code: 'RUN_DELETED', outcome: 'rejected' });
  const other = open();
  expect(await other.headSeq('r')).toBe(0);
  expect(await other.fetchEvents('r')).toEqual([]);
  expect((await other.listRuns()).items).toEqual([]);
  await expect(other.appendEvent({ runId: 'r', eventType: 'Heartbeat' })).rejects.toMatchObject({
    code: 'RUN_DELETED',
  });
  expect(await other.deleteExpired()).toEqual({ deleted: 1 });
  const next = await runs.appendEvent({ runId: 'r', eventType: 'RunStarted' }, { life: 'new' });
  expect([next.runSeq, next.life]).toEqual([1, 2]);
});

it('expires at its millisecond and not before', async () => {
  const { time, open } = setUp();
  const runs = open();
  await runs.appendEvent({ runId: 'r', eventType: 'RunStarted', ...expiring('1s any') });
  time.now = START + 999;
  expect(await runs.headSeq('r')).toBe(1);
  await runs.appendEvent({ runId: 'r', eventType: 'Heartbeat' });
  time.now += 999;
  expect(await runs.headSeq('r')).toBe(2);
  time.now += 1;
  expect(await runs.headSeq('r')).toBe(0);
});

it('reads no head for the events of a run without an expiry, once its first event or its head was read', async () => {
  const { heads, open } = setUp();
  const writer = open();
  for (const n of [1, 2, 3]) await writer.appendEvent({ runId: 'r', eventType: 'Progress', payload: { n } });
  const [fromStart, fromMiddle] = [open(), open()];
  heads.read = 0;
  await fromStart.fetchEvents('r');
  await fromStart.fetchEvents('r', { afterSeq: 1 });
  expect(heads.read).toBe(0);
  await fromMiddle.fetchEvents('r', { afterSeq: 1 });
  await fromMiddle.fetchEvents('r', { afterSeq: 2 });
  expect(heads.read).toBe(1);
});

it('fills the pages of a list in which many runs have expired', async () => {
  const { time, open } = setUp();
  const runs = open();
  const kept: string[] = [];
  for (let n = 0; n < 60; n++) {
    const runId = `run-${String(n).padStart(2, '0')}`;
    if (n % 7 === 0) kept.push(runId);
    await runs.appendEvent({ runId, eventType: 'RunStarted', ...(n % 7 === 0 ? {} : expiring('1s any')) });
    time.now++;
  }
  time.now += 1_000;
  const listed: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await runs.listRuns({ order: 'oldest', limit: 2, ...(cursor === undefined ? {} : { cursor }) });
    listed.push(...page.items.map(({ runId }) => runId));
    if (page.next === undefined) break;
    expect(page.items).toHaveLength(2);
    cursor = page.next;
  }
  expect(listed).toEqual(kept);
  expect(await runs.countRuns()).toEqual({ count: kept.length, exact: true });
});

it('is cleaned up by a process that has met such a run', async () => {
  vi.useFakeTimers({ now: START });
  await using store = memoryStore();
  await store.runs.handle('r', { expires: { after: '1m', status: 'any' } }).append('RunStarted');
  await store.runs.handle('kept').append('RunStarted');
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect((await store.admin.listRemovedRuns()).items.map(({ runId }) => runId)).toEqual(['r']);
  expect((await store.runs.listRuns()).items.map(({ runId }) => runId)).toEqual(['kept']);
});

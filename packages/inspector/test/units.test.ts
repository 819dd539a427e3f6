import { signal } from '@preact/signals';
import { memoryStore, type RunEventRecord } from '@tidemark/core';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { differences, shortText } from '../src/parts/json.ts';
import { ListWindow } from '../src/parts/list-window.ts';
import { attemptsOf } from '../src/runs/attempts.ts';
import { failureAmong } from '../src/runs/event-kinds.ts';
import { openRunFile } from '../src/runs/file-source.ts';
import { RunHistory } from '../src/runs/history.ts';
import { LogSearch } from '../src/runs/log-search.ts';
import type { RunSource } from '../src/runs/source.ts';
import { TimeAxis } from '../src/runs/time-axis.ts';

function eventAt(runSeq: number, eventType: string, more: Partial<RunEventRecord> = {}): RunEventRecord {
  const at = new Date(1_000 * runSeq).toISOString();
  const scope = { tenantId: 't', projectId: 'p', environmentId: 'e', planId: 'plan', planVersion: '1' };
  const ids = { eventId: `e${runSeq}`, idempotencyKey: `k${runSeq}`, engineAttemptId: 1, logicalAttemptId: 1 };
  return { runId: 'r', runSeq, eventType, emittedAt: at, persistedAt: at, ...scope, ...ids, ...more } as RunEventRecord;
}

describe('differences', () => {
  it('name each changed path, and added or removed values as a whole', () => {
    const before = { status: 'RUNNING', steps: [{ id: 'a', n: 1 }], 'a/b': 1 };
    const after = { status: 'FAILED', steps: [{ id: 'a', n: 2 }, { id: 'b' }], error: { code: 'X' } };
    expect(differences(before, after)).toEqual([
      { path: '/status', before: 'RUNNING', after: 'FAILED' },
      { path: '/steps/0/n', before: 1, after: 2 },
      { path: '/steps/1', before: undefined, after: { id: 'b' } },
      { path: '/a~1b', before: 1, after: undefined },
      { path: '/error', before: undefined, after: { code: 'X' } },
    ]);
  });

  it('are shown in one line of limited length', () => {
    expect(shortText({ a: [1, 'x'], b: null }, 80)).toBe('{a: [1, "x"], b: null}');
    expect(shortText({ text: 'y'.repeat(1_000_000) }, 20)).toHaveLength(21);
  });
});

describe('the failed event', () => {
  const failed = (seq: number, stepId: string, logicalAttemptId = 1) =>
    eventAt(seq, 'StepFailed', { stepId, logicalAttemptId });
  const started = (seq: number, stepId: string, logicalAttemptId = 1) =>
    eventAt(seq, 'StepStarted', { stepId, logicalAttemptId });

  it('is the failed step, not the failure of the run that follows from it', () => {
    expect(failureAmong([started(1, 'a'), failed(2, 'a'), eventAt(3, 'RunFailed')])?.runSeq).toBe(2);
  });
  it('is not a step that was retried', () => {
    expect(failureAmong([failed(1, 'a'), started(2, 'a', 2), eventAt(3, 'RunFailed')])?.runSeq).toBe(3);
  });
  it('is null for a completed run', () => {
    expect(failureAmong([failed(1, 'a'), eventAt(2, 'RunCompleted')])).toBeNull();
  });
});

describe('attempts of steps', () => {
  it('end with their step, or with the run', () => {
    const events = [
      eventAt(1, 'StepStarted', { stepId: 'a' }),
      eventAt(2, 'StepFailed', { stepId: 'a', payload: { errorCode: 'X' } }),
      eventAt(3, 'StepStarted', { stepId: 'a', logicalAttemptId: 2 }),
      eventAt(4, 'RunCancelled'),
    ];
    expect(attemptsOf(events)).toMatchObject([
      { stepId: 'a', attempt: 1, status: 'FAILED', start: 1_000, end: 2_000, error: 'X', seq: 1 },
      { stepId: 'a', attempt: 2, status: 'RUNNING', start: 3_000, end: 4_000, seq: 3 },
    ]);
  });
});

describe('the time axis', () => {
  const spans = [
    { start: 0, end: 10_000 },
    { start: 3_610_000, end: 3_620_000 },
  ];
  it('shortens a long idle time', () => {
    const axis = new TimeAxis(spans, true);
    expect(axis.gaps).toMatchObject([{ ms: 3_600_000 }]);
    expect(axis.position(10_000)).toBeCloseTo(0.485);
    expect(axis.position(3_610_000)).toBeCloseTo(0.515);
    expect(axis.position(3_620_000)).toBeCloseTo(1);
  });
  it('shows idle times in full when not collapsed', () => {
    const axis = new TimeAxis(spans, false);
    expect(axis.gaps).toEqual([]);
    expect(axis.position(10_000)).toBeLessThan(0.01);
  });
  it('is monotonic', () => {
    const axis = new TimeAxis([...spans, { start: 5_000, end: 7_000 }, { start: 3_615_000, end: 3_900_000 }], true);
    const positions = Array.from({ length: 1_000 }, (_, at) => axis.position(at * 4_000));
    expect(positions).toEqual(positions.toSorted((a, b) => a - b));
  });
});

describe('a run file', () => {
  const file = (events: RunEventRecord[]) => new Blob([events.map((event) => `${JSON.stringify(event)}\n`).join('')]);
  const types = ['RunStarted', 'Ping', 'Ping', 'Ping', 'RunCompleted'];

  it('returns the events after a sequence, even with missing sequences', async () => {
    const events = types.map((type, at) => eventAt(at < 2 ? at + 1 : at + 10, type));
    const { source, runId } = await openRunFile(file(events));
    expect(runId).toBe('r');
    expect(await source.head()).toBe(14);
    const seqs = async (after: number, limit: number) =>
      (await source.read(after, limit)).events.map(({ runSeq }) => runSeq);
    expect(await seqs(0, 3)).toEqual([1, 2, 12]);
    expect(await seqs(2, 10)).toEqual([12, 13, 14]);
    expect(await seqs(12, 1)).toEqual([13]);
    expect(await seqs(14, 5)).toEqual([]);
  });

  it('may be the output of `tidemark runs export`', async () => {
    const store = memoryStore();
    const run = store.runs.handle('r', { tenantId: 't', labels: { shop: 'x' } });
    await run.append('RunStarted', { by: 'ada' });
    await run.append('StepStarted', { n: 1 }, { stepId: 'charge', logicalAttemptId: 2 });
    await run.append('Ping');
    await store.runs.redactEvent('r', 2, { by: 'me', reason: 'asked' });
    const parts = await Array.fromAsync(store.runs.exportRun('r'));
    const { source } = await openRunFile(new Blob(parts.map((part) => `${JSON.stringify(part)}\n`)));
    expect((await source.read(0, 10)).events).toEqual(await store.runs.fetchEvents('r'));
    await store.close();
  });

  it('is folded to the state at any event', async () => {
    const { source } = await openRunFile(file(types.map((type, at) => eventAt(at + 1, type))));
    const { signal } = new AbortController();
    expect((await source.snapshot(4, signal)).status).toBe('RUNNING');
    expect((await source.snapshot(undefined, signal)).status).toBe('COMPLETED');
  });

  it('is rejected if it is not a run', async () => {
    await expect(openRunFile(new Blob([]))).rejects.toThrow('The file is empty');
    await expect(openRunFile(new Blob(['[1,2]\n']))).rejects.toThrow('not an event of a run');
  });
});

describe('events written while a run is read', () => {
  /** A growing run. Events appended during a read are received live but are not in that read. */
  function growingRun() {
    const events = [eventAt(1, 'RunStarted'), eventAt(2, 'StepStarted', { stepId: 'a' })];
    let onRead = () => {};
    const source: RunSource = {
      head: async () => events.length,
      async read(afterSeq, limit) {
        const read = events.slice(afterSeq, afterSeq + limit);
        await Promise.resolve();
        onRead();
        return { events: read, size: 0 };
      },
      snapshot: () => Promise.reject(new Error('Not used here')),
    };
    const append = (receive: (event: RunEventRecord) => void, isReceived = true) => {
      const event = eventAt(events.length + 1, 'Ping');
      events.push(event);
      if (isReceived) receive(event);
    };
    const duringRead = (work: () => void) => {
      onRead = () => {
        onRead = () => {};
        work();
      };
    };
    return { source, append, duringRead };
  }

  it('are in the history, once and in order', async () => {
    const { source, append, duringRead } = growingRun();
    const history = new RunHistory(source);
    const receive = (event: RunEventRecord) => history.receive(event);
    duringRead(() => append(receive));
    await history.read();
    expect(history.events.map(({ runSeq }) => runSeq)).toEqual([1, 2, 3]);
    append(receive);
    append(receive, false);
    append(receive);
    await vi.waitFor(() => expect(history.isComplete.value).toBe(true));
    expect(history.events.map(({ runSeq }) => runSeq)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('are found by a search once', async () => {
    const { source, append, duringRead } = growingRun();
    duringRead(() => append((event) => search.receive(event)));
    const search = new LogSearch(source, ({ eventType }) => eventType === 'Ping');
    await vi.waitFor(() => expect(search.isDone.value).toBe(true));
    expect(search.seqs.value).toEqual([3]);
    append((event) => search.receive(event));
    append((event) => search.receive(event), false);
    append((event) => search.receive(event));
    await vi.waitFor(() => expect(search.isDone.value).toBe(true));
    expect(search.seqs.value).toEqual([3, 4, 5, 6]);
  });
});

describe('a list window', () => {
  const HEIGHT = 600;
  beforeEach(() => {
    vi.stubGlobal(
      'ResizeObserver',
      class {
        observe() {}
        disconnect() {}
      },
    );
  });
  afterEach(() => vi.unstubAllGlobals());

  /** Simulates an element that scrolls within its height. */
  function shown(count: number) {
    const list = new ListWindow(28, signal(count));
    let top = 0;
    const element = {
      clientHeight: HEIGHT,
      get scrollTop() {
        return top;
      },
      set scrollTop(wanted: number) {
        top = Math.max(0, Math.min(wanted, list.height.value - HEIGHT));
      },
      addEventListener() {},
      removeEventListener() {},
      querySelector: () => null as HTMLElement | null,
    };
    list.attach(element as unknown as HTMLElement);
    return { list, element };
  }

  it.each([1, 20, 20_000, 1_000_000, 50_000_000])('reaches every row of %i', (count) => {
    const { list, element } = shown(count);
    expect(list.height.value).toBeLessThanOrEqual(15_000_000);
    for (const index of [0, Math.floor(count / 3), Math.floor(count / 2), count - 1]) {
      list.scrollTo(index, 'middle');
      const { first, last, offset } = list.rendered.value;
      expect(index).toBeGreaterThanOrEqual(first);
      expect(index).toBeLessThan(last);
      expect(last - first).toBeLessThan(60);
      const top = offset + (index - first) * 28 - element.scrollTop;
      expect(top).toBeGreaterThanOrEqual(-1);
      expect(top).toBeLessThanOrEqual(HEIGHT - 27);
    }
    list.scrollToEnd();
    expect(list.isAtEnd).toBe(true);
  });
});

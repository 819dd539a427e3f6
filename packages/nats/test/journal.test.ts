/** Long runs, large commits and removals, seen by several clients. */
import type { Store } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { streamName } from '../src/streams/streams.ts';
import { askServer, WITHOUT_NATS } from './servers.ts';
import { keysOf, newStreams, openStore, runEvent } from './stores.ts';

/** Appends events `from` to `to` to a run, a thousand per commit. */
async function appendMany(store: Store, runId: string, from: number, to: number): Promise<void> {
  for (let at = from; at <= to; at += 1_000) {
    const last = Math.min(to, at + 999);
    const events = Array.from({ length: last - at + 1 }, (_, plus) => runEvent(runId, `key-${at + plus}`));
    await store.runs.appendEvents(events, { timeoutMs: 30_000 });
  }
}

async function subjectsOf(url: string, prefix: string, space: string): Promise<string[]> {
  const { state } = await askServer<{ state: { subjects?: Record<string, number> } }>(
    url,
    `STREAM.INFO.${streamName(prefix, 'bytes')}`,
    { subjects_filter: `${prefix}.bytes.${space}.>` },
  );
  return Object.keys(state.subjects ?? {});
}

describe.skipIf(WITHOUT_NATS)('a new writer of a long run', () => {
  it('reads all its keys from checkpoints and the commits after them', { timeout: 60_000 }, async () => {
    const { url, prefix } = newStreams();
    const store = await openStore({ url, prefix });
    await appendMany(store, 'long', 1, 9_000);
    await expect.poll(() => subjectsOf(url, prefix, 'checkpoints')).toHaveLength(1);
    await appendMany(store, 'long', 9_001, 10_500);
    await expect.poll(() => subjectsOf(url, prefix, 'checkpoints')).toHaveLength(2);
    const other = await openStore({ url, prefix });
    for (const [key, runSeq] of [
      ['key-1', 1],
      ['key-5000', 5_000],
      ['key-8192', 8_192],
      ['key-9501', 9_501],
      ['key-10500', 10_500],
    ] as const)
      expect(await other.runs.appendEvent(runEvent('long', key))).toMatchObject({ runSeq, idempotent: true });
    expect(await other.runs.appendEvent(runEvent('long', 'new'))).toMatchObject({ runSeq: 10_501, persisted: true });
    expect(await store.runs.appendEvent(runEvent('long', 'new'))).toMatchObject({ runSeq: 10_501, idempotent: true });
    expect(await store.runs.verify('long')).toMatchObject({ ok: true, events: 10_501 });
  });

  it('reads them without checkpoints too', { timeout: 60_000 }, async () => {
    const { url, prefix } = newStreams();
    await appendMany(await openStore({ url, prefix }), 'long', 1, 5_000);
    await expect.poll(() => subjectsOf(url, prefix, 'checkpoints')).toHaveLength(1);
    await askServer(url, `STREAM.PURGE.${streamName(prefix, 'bytes')}`, {});
    const other = await openStore({ url, prefix });
    expect(await other.runs.appendEvent(runEvent('long', 'key-1'))).toMatchObject({ runSeq: 1, idempotent: true });
    expect(await other.runs.appendEvent(runEvent('long', 'new'))).toMatchObject({ runSeq: 5_001, persisted: true });
    // It writes a checkpoint for the next writer.
    await expect.poll(() => subjectsOf(url, prefix, 'checkpoints')).toHaveLength(1);
  });
});

describe.skipIf(WITHOUT_NATS)('a commit larger than a message', () => {
  it('is stored in parts, read back whole, and removed whole with its run', { timeout: 60_000 }, async () => {
    const { url, prefix } = newStreams();
    const store = await openStore({ url, prefix, timeoutMs: 20_000 });
    const filler = 'x'.repeat(200_000);
    const events = Array.from({ length: 20 }, (_, at) => runEvent('wide', `key-${at}`, { at, filler }));
    await store.runs.appendEvents(events);
    await store.runs.appendEvent(runEvent('wide', 'small'));
    expect((await subjectsOf(url, prefix, 'parts')).length).toBeGreaterThan(4);
    const other = await openStore({ url, prefix, timeoutMs: 20_000 });
    expect((await other.runs.fetchEvents('wide')).map(({ payload }) => payload)).toEqual([
      ...events.map(({ payload }) => payload),
      { key: 'small' },
    ]);
    expect(await other.runs.appendEvent(events[3]!)).toMatchObject({ runSeq: 4, idempotent: true });
    expect(await other.runs.deleteRun('wide')).toBe(true);
    expect(await subjectsOf(url, prefix, 'parts')).toEqual([]);
    await expect(store.runs.appendEvent(events[0]!)).rejects.toMatchObject({ code: 'RUN_DELETED' });
  });
});

describe.skipIf(WITHOUT_NATS)('a run of many commits', () => {
  it('is read in pages from any position, by its writer and by another client', { timeout: 60_000 }, async () => {
    const { url, prefix } = newStreams();
    const store = await openStore({ url, prefix });
    for (let at = 1; at <= 120; at++) await store.runs.appendEvent(runEvent('r', `key-${at}`));
    const other = await openStore({ url, prefix });
    for (const reader of [store, other]) {
      expect((await keysOf(reader, 'r')).length).toBe(120);
      for (const afterSeq of [0, 1, 4, 60, 119, 120]) {
        const events = await reader.runs.fetchEvents('r', { afterSeq, limit: 10 });
        expect(events.map(({ runSeq }) => runSeq)).toEqual(
          Array.from({ length: Math.min(10, 120 - afterSeq) }, (_, plus) => afterSeq + plus + 1),
        );
      }
    }
  });

  it('keeps a head that is too large for headers', async () => {
    const { url, prefix } = newStreams();
    const store = await openStore({ url, prefix });
    const labels = Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`label-${at}`, 'é'.repeat(200)]));
    await store.runs.appendEvent({ ...runEvent('labelled', 'a'), labels });
    const other = await openStore({ url, prefix });
    await other.runs.appendEvent(runEvent('labelled', 'b'));
    const { items } = await other.runs.listRuns({ labels: { 'label-3': 'é'.repeat(200) } });
    expect(items).toMatchObject([{ runId: 'labelled', lastEventSeq: 2, labels }]);
  });
});

describe.skipIf(WITHOUT_NATS)('a store of many runs', () => {
  it('is listed completely by a client that connects later, and by one that was connected', {
    timeout: 120_000,
  }, async () => {
    const { url, prefix } = newStreams();
    const store = await openStore({ url, prefix, timeoutMs: 60_000 });
    const before = store.runs.listRuns({ limit: 1 });
    const ids = Array.from({ length: 11_000 }, (_, at) => `run-${at}`);
    for (let from = 0; from < ids.length; from += 500)
      await Promise.all(ids.slice(from, from + 500).map((id) => store.runs.appendEvent(runEvent(id, 'k'))));
    await before;
    await store.runs.deleteRun('run-5', { tenantId: 'default' });
    const other = await openStore({ url, prefix, timeoutMs: 60_000 });
    for (const reader of [store, other]) {
      const listed: string[] = [];
      for (let cursor: string | undefined; ; ) {
        const page = await reader.runs.listRuns({ limit: 1_000, ...(cursor && { cursor }) });
        listed.push(...page.items.map(({ runId }) => runId));
        cursor = page.next;
        if (cursor === undefined) break;
      }
      expect(listed.sort()).toEqual(ids.filter((id) => id !== 'run-5').sort());
    }
    await store.runs.appendEvent(runEvent('one-more', 'k'));
    expect((await other.runs.fetchEvents('one-more')).length).toBe(1);
  });
});

describe.skipIf(WITHOUT_NATS)('a removed session', () => {
  it('starts again empty, even for clients that knew the earlier one', async () => {
    const { url, prefix } = newStreams();
    const [store, other] = [await openStore({ url, prefix }), await openStore({ url, prefix })];
    const update = (updateId: string) => ({
      sessionId: 's',
      taskId: 't',
      updateId,
      traceId: null,
      updateType: 'PROGRESS' as const,
      content: updateId,
      createdAt: '2026-01-01T00:00:00.000Z',
    });
    for (const id of ['a', 'b', 'c']) await store.agents.saveUpdate(update(id));
    expect(await other.agents.deleteSession('s')).toMatchObject({ updates: 3 });
    await store.agents.saveUpdate(update('a'));
    await other.agents.saveUpdate(update('d'));
    expect((await other.agents.listUpdates('s')).map(({ updateId }) => updateId)).toEqual(['a', 'd']);
  });
});

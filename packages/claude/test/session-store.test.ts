/** Rules that the interface of the SDK leaves to the store: retries, deletion while others write, and large entries. */
import type { SessionStoreEntry } from '@anthropic-ai/claude-agent-sdk';
import { memoryStore, OWNER_LABEL, type Store } from '@tidemark/core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ENGINES } from '../../../scripts/adapters/engines.ts';
import { TidemarkSessionStore } from '../src/index.ts';
import { SESSION, summaryEntry } from './entries.ts';

const PART = { ...SESSION, subpath: 'subagents/agent-1' };

describe.each(Object.keys(ENGINES))('on %s', (engine) => {
  let engineStore: Store;
  let store: Store;
  beforeAll(async () => {
    engineStore = await ENGINES[engine]!();
  });
  afterAll(() => engineStore?.close());
  beforeEach(() => {
    store = engineStore.forTenant(`t-${crypto.randomUUID()}`);
  });

  it('stores an entry once when it is retried, even by another process', async () => {
    const [first, second] = [new TidemarkSessionStore(store), new TidemarkSessionStore(store)];
    const untitled: SessionStoreEntry = { type: 'mode', mode: 'plan' };
    await first.append(SESSION, [summaryEntry('a'), untitled]);
    await second.append(SESSION, [summaryEntry('a'), summaryEntry('b'), untitled]);
    expect(await first.load(SESSION)).toEqual([summaryEntry('a'), untitled, summaryEntry('b'), untitled]);
  });

  it('begins a deleted session again, even in a process that has not seen the deletion', async () => {
    const [first, second] = [new TidemarkSessionStore(store), new TidemarkSessionStore(store)];
    await first.append(SESSION, [summaryEntry('a')]);
    await first.append(PART, [summaryEntry('p')]);
    await second.delete(SESSION);
    expect(await first.load(SESSION)).toBeNull();
    expect(await first.listSubkeys(SESSION)).toEqual([]);
    expect(await first.listSessions(SESSION.projectKey)).toEqual([]);
    await first.append(SESSION, [summaryEntry('b')]);
    await first.append(PART, [summaryEntry('q')]);
    expect(await second.load(SESSION)).toEqual([summaryEntry('b')]);
    expect(await second.listSubkeys(SESSION)).toEqual([PART.subpath]);
    expect((await second.listSessionSummaries(SESSION.projectKey))[0]!.data.customTitle).toBe('title b');
  });

  it('loses no acknowledged entry that was appended after a deletion', async () => {
    const [writer, remover] = [new TidemarkSessionStore(store), new TidemarkSessionStore(store)];
    for (let round = 0; round < 10; round++) {
      await Promise.all([
        writer.append(SESSION, [summaryEntry(`before-${round}`)]),
        remover.delete(SESSION),
        writer.append(SESSION, [summaryEntry(`beside-${round}`)]),
      ]);
      await writer.append(SESSION, [summaryEntry(`after-${round}`)]);
      const uuids = (await remover.load(SESSION))!.map(({ uuid }) => uuid);
      expect(uuids.at(-1)).toBe(`after-${round}`);
      const listed = await writer.listSessions(SESSION.projectKey);
      expect(listed.map(({ sessionId }) => sessionId)).toEqual([SESSION.sessionId]);
    }
    // No run is left over for which there is no record.
    const { items } = await store.runs.listRuns({ labels: { [OWNER_LABEL]: 'claude' } });
    expect(items).toHaveLength(1);
  });

  it('returns entries that are larger than a payload, and deeply nested ones', async () => {
    const sessions = new TidemarkSessionStore(store);
    const text = '"é\0𝄞'.repeat(300_000);
    let nested: unknown = 'end';
    for (let level = 0; level < 200; level++) nested = { nested };
    const entries: SessionStoreEntry[] = [
      { type: 'user', uuid: 'large', message: { content: text } },
      { type: 'assistant', uuid: 'deep', message: nested },
      summaryEntry('last'),
    ];
    await sessions.append(SESSION, entries);
    await sessions.append(SESSION, entries);
    expect(await sessions.load(SESSION)).toEqual(entries);
    // The uuid of the large entry is taken: no other entry with this uuid is stored, large or small.
    await sessions.append(SESSION, [{ type: 'user', uuid: 'last', message: text }]);
    expect(await sessions.load(SESSION)).toEqual(entries);
  });

  it('lists the newest session first, and projects and tenants apart', async () => {
    const sessions = new TidemarkSessionStore(store);
    const at = (sessionId: string) => ({ ...SESSION, sessionId });
    for (const id of ['a', 'b', 'a']) {
      await sessions.append(at(id), [summaryEntry(crypto.randomUUID())]);
      // The times have milliseconds.
      const [newest] = await sessions.listSessions(SESSION.projectKey);
      while (Date.now() <= newest!.mtime) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect((await sessions.listSessions(SESSION.projectKey)).map(({ sessionId }) => sessionId)).toEqual(['a', 'b']);
    expect(await sessions.listSessions('other')).toEqual([]);
    expect(await new TidemarkSessionStore(engineStore).listSessions(SESSION.projectKey)).toEqual([]);
  });

  it('folds a summary that a stopped process left behind', async () => {
    const sessions = new TidemarkSessionStore(store);
    await sessions.append(SESSION, [summaryEntry('a')]);
    const { items } = await store.runs.listRuns({ labels: { [OWNER_LABEL]: 'claude' } });
    // As the process leaves it that stops between the two steps of an append.
    await store.runs.appendEvent({
      runId: items[0]!.runId,
      eventType: 'TranscriptEntry',
      payload: { entry: summaryEntry('b') },
    });
    const [summary] = await sessions.listSessionSummaries(SESSION.projectKey);
    expect(summary!.data.customTitle).toBe('title b');
    expect([summary].map((one) => one!.mtime)).toEqual(
      (await sessions.listSessions(SESSION.projectKey)).map(({ mtime }) => mtime),
    );
  });
});

it('rejects what is not an entry before it stores anything', async () => {
  const store = memoryStore();
  const sessions = new TidemarkSessionStore(store);
  const refused = [
    [{ ...SESSION, projectKey: '' }, 'projectKey'],
    [{ ...SESSION, sessionId: 7 }, 'sessionId'],
    [{ ...SESSION, subpath: '' }, 'subpath'],
  ] as const;
  for (const [key, field] of refused) {
    await expect(sessions.append(key as never, [summaryEntry('a')])).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      field,
    });
  }
  await expect(sessions.append(SESSION, [summaryEntry('a'), null as never])).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    field: 'entries[1]',
  });
  await expect(sessions.append(SESSION, [summaryEntry('a'), { type: 'user', n: Number.NaN }])).rejects.toMatchObject({
    code: 'INVALID_PAYLOAD',
  });
  expect(await sessions.load(SESSION)).toBeNull();
  expect(() => new TidemarkSessionStore({} as never)).toThrow('store must be an open Tidemark store');
});

/** Processes that are killed, and processes that write the same session. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { foldSessionSummary, type SessionStoreEntry } from '@anthropic-ai/claude-agent-sdk';
import type { Store } from '@tidemark/core';
import { sqliteStore } from '@tidemark/sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { startChild } from '../../../scripts/adapters/children.ts';
import { TidemarkSessionStore } from '../src/index.ts';
import { SESSION, summaryEntry } from './entries.ts';

const CHILD = join(import.meta.dirname, 'append-child.ts');

it('keeps every acknowledged entry when the process is killed', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'tidemark-claude-')), 'state.db');
  const child = startChild(CHILD, path, 'killed', '100000');
  await child.written(40);
  child.process.kill('SIGKILL');
  await child.ended;
  const { sessions } = await openSessions(path);
  const stored = uuidsOf(await sessions.load(SESSION));
  expect(stored.slice(0, child.lines.length)).toEqual(child.lines);
  expect(stored.length - child.lines.length).toBeLessThanOrEqual(1);

  // The next process imports its local transcript again and continues.
  const all = [...stored, 'killed-next'].map(summaryEntry);
  await sessions.append(SESSION, all);
  const loaded = await sessions.load(SESSION);
  expect(loaded).toEqual(all);
  expect((await sessions.listSessionSummaries(SESSION.projectKey)).map(({ data }) => data)).toEqual([
    foldSessionSummary(undefined, SESSION, loaded!).data,
  ]);
});

it('stores the entries of two processes once each, and folds them in the order of the log', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'tidemark-claude-')), 'state.db');
  await (await sqliteStore(path)).close();
  // Both send the entries `shared-…`.
  const children = ['shared', 'shared', 'other'].map((prefix) => startChild(CHILD, path, prefix, '30'));
  await Promise.all(children.map(({ ended }) => ended));
  const { sessions } = await openSessions(path);
  const loaded = await sessions.load(SESSION);
  const uuids = uuidsOf(loaded);
  const sent = (prefix: string) => Array.from({ length: 30 }, (_, at) => `${prefix}-${at}`);
  for (const prefix of ['shared', 'other']) {
    expect(uuids.filter((uuid) => uuid.startsWith(prefix))).toEqual(sent(prefix));
  }
  expect(uuids).toHaveLength(60);
  expect((await sessions.listSessionSummaries(SESSION.projectKey))[0]!.data).toEqual(
    foldSessionSummary(undefined, SESSION, loaded!).data,
  );
});

async function openSessions(path: string): Promise<{ store: Store; sessions: TidemarkSessionStore }> {
  const store = await sqliteStore(path);
  onTestFinished(() => store.close());
  return { store, sessions: new TidemarkSessionStore(store) };
}

function uuidsOf(entries: SessionStoreEntry[] | null): string[] {
  return (entries ?? []).map(({ uuid }) => uuid!);
}

/** Random call sequences must return what the SDK's in-memory session store returns, on every engine. */
import { InMemorySessionStore, type SessionKey, type SessionStoreEntry } from '@anthropic-ai/claude-agent-sdk';
import type { Store } from '@tidemark/core';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENGINES } from '../../../scripts/adapters/engines.ts';
import { sequencesOn } from '../../../scripts/adapters/sequences.ts';
import { TidemarkSessionStore } from '../src/index.ts';

type Call =
  | { name: 'append'; key: SessionKey; entries: SessionStoreEntry[] }
  | { name: 'load' | 'delete'; key: SessionKey }
  | { name: 'listSubkeys'; key: { projectKey: string; sessionId: string } }
  | { name: 'listSessions' | 'listSessionSummaries'; projectKey: string };

const projectKey = fc.constantFrom('-home-ada', 'C: projects%..%é');
const sessionId = fc.constantFrom('5f0c', 'b'.repeat(120));
const session = fc.record({ projectKey, sessionId });
const key: fc.Arbitrary<SessionKey> = fc.oneof(
  { weight: 3, arbitrary: session },
  {
    weight: 2,
    arbitrary: fc.record({
      projectKey,
      sessionId,
      subpath: fc.constantFrom('subagents/agent-1', 'subagents/wörk/agent 2'),
    }),
  },
);
const entry = fc
  .record(
    {
      type: fc.constantFrom('user', 'assistant', 'summary', 'tag', 'custom-title', 'system'),
      hasUuid: fc.boolean(),
      timestamp: fc.constantFrom('2026-01-02T03:04:05.678Z', '2026-02-03T04:05:06.789Z', 'yesterday'),
      message: fc.record({ role: fc.constantFrom('user', 'assistant'), content: fc.string({ unit: 'binary' }) }),
      cwd: fc.constantFrom('/home/ada', ''),
      gitBranch: fc.constantFrom('main', 'next'),
      tag: fc.constantFrom('', 'urgent'),
      customTitle: fc.string(),
      summary: fc.string(),
      isSidechain: fc.boolean(),
      toolUseResult: fc.jsonValue(),
    },
    { requiredKeys: ['type', 'hasUuid'] },
  )
  .map(({ hasUuid, ...rest }): SessionStoreEntry => {
    const plain = JSON.parse(JSON.stringify(rest)) as SessionStoreEntry;
    return hasUuid ? { ...plain, uuid: crypto.randomUUID() } : plain;
  });
const call: fc.Arbitrary<Call> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      name: fc.constant('append' as const),
      key,
      entries: fc.array(entry, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ name: fc.constantFrom('load' as const, 'delete' as const), key }) },
  { weight: 1, arbitrary: fc.record({ name: fc.constant('listSubkeys' as const), key: session }) },
  {
    weight: 2,
    arbitrary: fc.record({
      name: fc.constantFrom('listSessions' as const, 'listSessionSummaries' as const),
      projectKey,
    }),
  },
);

describe.each(Object.keys(ENGINES))('on %s', (engine) => {
  let store: Store;
  beforeAll(async () => {
    store = await ENGINES[engine]!();
  });
  afterAll(() => store?.close());

  it('returns what InMemorySessionStore returns', { timeout: 900_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 12 }), async (calls) => {
        const ours = new TidemarkSessionStore(store.forTenant(`t-${crypto.randomUUID()}`));
        const oracle = new InMemorySessionStore();
        for (const one of calls) expect(await answerOf(ours, one)).toEqual(await answerOf(oracle, one));
      }),
      { numRuns: sequencesOn(engine) },
    );
  });
});

/** Returns the answer of a store without the times and, where the SDK leaves it open, without the order. */
async function answerOf(store: InMemorySessionStore | TidemarkSessionStore, one: Call): Promise<unknown> {
  switch (one.name) {
    case 'append':
      return store.append(one.key, one.entries);
    case 'delete':
      return store.delete(one.key);
    case 'load':
      return store.load(one.key);
    case 'listSubkeys':
      return (await store.listSubkeys(one.key)).sort();
    case 'listSessions':
      return (await store.listSessions(one.projectKey)).map(({ sessionId: id }) => id).sort();
    case 'listSessionSummaries': {
      const summaries = await store.listSessionSummaries(one.projectKey);
      const times = new Map(summaries.map(({ sessionId: id, mtime }) => [id, mtime]));
      for (const { sessionId: id, mtime } of await store.listSessions(one.projectKey)) {
        expect(times.get(id)).toBe(mtime);
      }
      return summaries.map(({ sessionId: id, data }) => ({ id, data })).sort((a, b) => (a.id < b.id ? -1 : 1));
    }
  }
}

/** Erasure of journals: what remains of a tenant is cleared once its last journal is gone, and not before. */
import { expect, it } from 'vitest';
import type { AgentEngine } from '../engine/agents.ts';
import type { Journal } from '../engine/journal.ts';
import { memoryBlobs } from '../memory/blobs.ts';
import { memoryJournal } from '../memory/journal.ts';
import { memoryRecords } from '../memory/records.ts';
import { MemoryRuns } from '../memory/runs.ts';
import { StoreContext } from '../tools/context.ts';
import { keyedAgents } from './agents/agents.ts';
import { keyedArtifacts } from './artifacts.ts';
import { keyedTenancy } from './tenancy.ts';

/** Returns a tenancy engine over a journal that has these names, with their numbers of entries. */
function tenancyOf(entries: Record<string, number>) {
  const context = new StoreContext();
  const [plain, records, blobs] = [memoryJournal(context), memoryRecords(context), memoryBlobs(context)];
  const left = new Map(Object.entries(entries));
  const calls: string[] = [];
  const journal = new Proxy(plain, {
    get(target, method) {
      const own: Partial<Journal> = {
        names: async (_space, _tenantId, _after, limit) => [...left.keys()].slice(0, limit),
        forget: async ({ name }) => {
          calls.push(`forget ${name}`);
          const count = left.get(name) ?? 0;
          left.delete(name);
          return count;
        },
        clear: async (space, tenantId) => void calls.push(`clear ${space} of ${tenantId}`),
      };
      return own[method as keyof Journal] ?? (Reflect.get(target, method) as () => unknown).bind(target);
    },
  }) as Journal;
  const runs = new MemoryRuns(context, plain, records);
  const tenancy = keyedTenancy(journal, records, blobs, keyedArtifacts(context, records, blobs), runs);
  return { tenancy, calls, agents: keyedAgents(plain, records, context) };
}

it('erases a limited number of journals per call, counts runs and entries, and clears at the end', async () => {
  const { tenancy, calls } = tenancyOf({ a: 3, b: 0, c: 5 });
  expect(await tenancy.erase('runs', 't', 2, {})).toBe(2);
  expect(calls).toEqual(['forget a', 'forget b']);
  expect(await tenancy.erase('runs', 't', 2, {})).toBe(1);
  expect(calls).toEqual(['forget a', 'forget b', 'forget c']);
  expect(await tenancy.erase('runs', 't', 2, {})).toBe(0);
  expect(calls.at(-1)).toBe('clear runs of t');
  expect(calls).toHaveLength(4);
});

it('counts each entry of other journals, and an empty journal as one', async () => {
  const { tenancy, calls } = tenancyOf({ a: 3, b: 0 });
  expect(await tenancy.erase('events', 't', 9, {})).toBe(4);
  expect(calls).toEqual(['forget a', 'forget b']);
  expect(await tenancy.erase('events', 't', 9, {})).toBe(0);
  expect(calls.at(-1)).toMatch(/^clear \w+ of t$/);
});

it('erases the pauses of a session up to a limit, and no others', async () => {
  const { tenancy, agents } = tenancyOf({});
  const save = (pauseId: string, sessionId: string | null) =>
    agents.pauses.save('t', { pauseId, sessionId, payload: '{}', ttlMs: 60_000, taskId: null, reason: null }, {});
  for (const id of ['a', 'b', 'c']) await save(id, 's');
  for (const [id, session] of [
    ['d', 'other'],
    ['e', null],
  ] as const)
    await save(id, session);
  expect(await tenancy.erasePauses('t', 's', 2, {})).toBe(2);
  expect(await tenancy.erasePauses('t', 's', 2, {})).toBe(1);
  expect(await tenancy.erasePauses('t', 's', 2, {})).toBe(0);
  expect(await kept(agents, ['a', 'b', 'c', 'd', 'e'])).toEqual(['d', 'e']);
});

async function kept(agents: AgentEngine, ids: readonly string[]): Promise<string[]> {
  const found = await Promise.all(ids.map((id) => agents.pauses.peek('t', id, {})));
  return ids.filter((_, at) => found[at] !== null);
}

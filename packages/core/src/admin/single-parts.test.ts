/** Checks and lists of an operator on stores that have a single part: they never call the parts that are missing. */
import { describe, expect, it } from 'vitest';
import { TENANT_PARTS, type TenantPart } from '../contracts/admin.ts';
import type { Store } from '../contracts/store.ts';
import type { AgentEngine } from '../engine/agents.ts';
import { keyedAgents } from '../keyed/agents/agents.ts';
import { keyedArtifacts } from '../keyed/artifacts.ts';
import { keyedTenancy } from '../keyed/tenancy.ts';
import { memoryBlobs } from '../memory/blobs.ts';
import { memoryJournal } from '../memory/journal.ts';
import { memoryRecords } from '../memory/records.ts';
import { MemoryRuns } from '../memory/runs.ts';
import { assembleStore } from '../store.ts';
import { StoreContext } from '../tools/context.ts';

/** Returns a store that uses only one part of an engine, and the parts that its tenancy engine was called for. */
function storeOf(part: TenantPart): { store: Store; asked: Set<string> } {
  const context = new StoreContext();
  const [journal, records, blobs] = [memoryJournal(context), memoryRecords(context), memoryBlobs(context)];
  const runs = new MemoryRuns(context, journal, records);
  const artifacts = keyedArtifacts(context, records, blobs);
  const agents = keyedAgents(journal, records, context);
  const all: Record<string, object> = { runs, kv: records, artifacts };
  const asked = new Set<string>();
  const tenancy = new Proxy(keyedTenancy(journal, records, blobs, artifacts, runs), {
    get(engine, name) {
      const call = engine[name as keyof typeof engine] as (...args: unknown[]) => unknown;
      return (...args: unknown[]) => {
        if (TENANT_PARTS.includes(args[0] as TenantPart)) asked.add(args[0] as string);
        return call.apply(engine, args);
      };
    },
  });
  const store = assembleStore(context, {
    ...{ backend: 'test', version: '0', can: {}, durability: () => 'none' as const, tenancy },
    ...(part in all
      ? { [part]: all[part] }
      : { agents: { [part]: agents[part as keyof AgentEngine], sessions: agents.sessions } }),
    ping: async () => {},
    doctor: async () => ({ durability: 'none', findings: [] }),
    close: async () => {},
  });
  return { store, asked };
}

/** Stores a document in a part. Parts that are not listed here are stored together with others. */
const WRITES: Partial<Record<TenantPart, (store: Store) => Promise<unknown>>> = {
  runs: ({ runs }) => runs.handle('r').append('Progress'),
  kv: ({ kv }) => kv.put('k', { a: 1 }),
  artifacts: ({ artifacts }) => artifacts.putText('text', { scope: { sessionId: 's' } }),
  events: ({ agents }) =>
    agents.saveEvent({ traceId: 't', ts: 1, kind: 'node_start', nodeName: null, nodeId: null, payload: {} }),
  plannerEvents: ({ agents }) => agents.savePlannerEvent('t', { eventType: 'step', ts: 1, trajectoryStep: 1 }),
  bindings: ({ agents }) =>
    agents.saveRemoteBinding({ traceId: 't', taskId: 'task', agentUrl: 'https://worker.example' } as never),
};

describe.each(TENANT_PARTS)('a store that has only %s', (part) => {
  it('checks its tenant to the end', async () => {
    const { store, asked } = storeOf(part);
    const view = store.forTenant('mine');
    for (let cursor: string | undefined; ; ) {
      const page = await view.admin.check({ cursor });
      expect(page).toMatchObject({ checked: 0, unsummed: 0, damaged: [] });
      cursor = page.next;
      if (cursor === undefined) break;
    }
    expect(await store.admin.check()).toEqual({ checked: 0, unsummed: 0, damaged: [] });
    expect([...asked]).toEqual([part]);
  });

  it('checks what it has stored', async () => {
    const write = WRITES[part];
    if (!write) return;
    const { store } = storeOf(part);
    await write(store.forTenant('mine'));
    let checked = 0;
    for (let cursor: string | undefined; ; ) {
      const page = await store.admin.check({ cursor });
      expect(page.damaged).toEqual([]);
      checked += page.checked;
      cursor = page.next;
      if (cursor === undefined) break;
    }
    expect(checked).toBeGreaterThan(0);
  });

  it('declares this part, and no other part of its agents', () => {
    const { capabilities } = storeOf(part).store.info;
    const declared = TENANT_PARTS.filter((it) => capabilities[it as keyof typeof capabilities]);
    expect(declared).toEqual([part]);
    expect(capabilities.jobs).toBe(part === 'kv');
  });

  it('lists artifacts only if it has them', async () => {
    const { store, asked } = storeOf(part);
    expect(await store.admin.listArtifacts()).toEqual({ items: [] });
    expect(await store.admin.artifactTotals()).toEqual({ items: [] });
    expect([...asked]).toEqual(part === 'artifacts' ? ['artifacts'] : []);
  });
});

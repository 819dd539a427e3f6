/**
 * `eraseSession`: everything of a session, then the session. Its trajectories say which traces are its own and its
 * references which bytes, so they go last: an erasure that was cut short finds the rest by them.
 */
import { parseMemoryKey } from '../agents/memory-key.ts';
import type { StoreContext } from '../context.ts';
import type { ErasureOptions, ErasureReport } from '../contracts/admin.ts';
import type { MemoryRange } from '../engine/agents.ts';
import type { ArtifactEngine, ArtifactMatch, ArtifactRow } from '../engine/artifacts.ts';
import type { EngineCall } from '../engine/runs.ts';
import { TRACED_PARTS } from '../engine/tenancy.ts';
import type { AdminEngines } from './engines.ts';
import { Erasure, STEP } from './erasure.ts';

const LIST_PAGE = 500;

export async function eraseSession(
  context: StoreContext,
  engines: AdminEngines,
  tenantId: string,
  sessionId: string,
  options: ErasureOptions | undefined,
): Promise<ErasureReport> {
  const erasure = new Erasure(context, { tenantId, sessionId }, options);
  const { parts, tenancy } = engines;
  if (parts.has('artifacts')) await eraseArtifacts(erasure, engines, tenantId, sessionId);
  if (parts.has('memory')) await eraseMemory(erasure, engines, tenantId, sessionId);
  if (parts.has('pauses')) await erasure.all('pauses', (call) => tenancy.erasePauses(tenantId, sessionId, STEP, call));
  if (parts.has('trajectories')) await eraseTracesAndSession(erasure, engines, tenantId, sessionId);
  return erasure.report;
}

/** Bytes that only references of the session name go before those references. */
async function eraseArtifacts(
  erasure: Erasure,
  { artifacts, tenancy }: AdminEngines,
  tenantId: string,
  sessionId: string,
): Promise<void> {
  const own = await erasure.step((call) => collect(artifacts, tenantId, { sessionId }, call));
  if (own.length === 0) return;
  const lastStored = new Map<string, number>();
  for (const { sha256, accessedAt } of own) lastStored.set(sha256, Math.max(accessedAt, lastStored.get(sha256) ?? 0));
  await erasure.step(async (call) => {
    for await (const row of references(artifacts, tenantId, {}, call))
      if (row.sessionId !== sessionId) lastStored.delete(row.sha256);
  });
  // Bytes somebody has stored anew since are about to be named again: they stay for the sweep.
  for (const [sha256, at] of lastStored)
    await erasure.step((call) => tenancy.eraseBytes(tenantId, sha256, at + 1, call));
  for (const { id } of own) {
    const isGone = await erasure.step((call) => artifacts.deleteRef(tenantId, id, call));
    erasure.count('artifacts', isGone ? 1 : 0);
  }
}

/** Memory is kept by `tenant:user:session`: the keys are looked through. */
async function eraseMemory(
  erasure: Erasure,
  { agents }: AdminEngines,
  tenantId: string,
  sessionId: string,
): Promise<void> {
  let after: string | null = null;
  do {
    // Keys of states that were deleted name the session too.
    const range: MemoryRange = { prefix: '', after, limit: LIST_PAGE, withDeleted: true };
    const page = await erasure.step((call) => agents.memory.list(tenantId, range, call));
    for (const { key } of page) {
      if (parseMemoryKey(key)?.session !== sessionId) continue;
      const wasThere = await erasure.step((call) => agents.memory.erase(tenantId, key, call));
      erasure.count('memory', wasThere ? 1 : 0);
    }
    after = page.length < LIST_PAGE ? null : page.at(-1)!.key;
  } while (after !== null);
}

async function eraseTracesAndSession(
  erasure: Erasure,
  { agents, tenancy, parts }: AdminEngines,
  tenantId: string,
  sessionId: string,
): Promise<void> {
  const traces = await erasure.step((call) =>
    agents.trajectories.list(tenantId, sessionId, Number.MAX_SAFE_INTEGER, call),
  );
  for (const traceId of traces) {
    for (const part of TRACED_PARTS) {
      if (parts.has(part)) await erasure.all(part, (call) => tenancy.eraseTrace(part, tenantId, traceId, STEP, call));
    }
  }
  const removed = await erasure.step((call) => agents.sessions.remove(tenantId, sessionId, call));
  for (const part of ['tasks', 'updates', 'steering', 'trajectories', 'plannerEvents'] as const)
    erasure.count(part, removed[part]);
}

async function collect(
  artifacts: ArtifactEngine,
  tenantId: string,
  match: ArtifactMatch,
  call: EngineCall,
): Promise<ArtifactRow[]> {
  const found: ArtifactRow[] = [];
  for await (const row of references(artifacts, tenantId, match, call)) found.push(row);
  return found;
}

async function* references(
  artifacts: ArtifactEngine,
  tenantId: string,
  match: ArtifactMatch,
  call: EngineCall,
): AsyncGenerator<ArtifactRow> {
  for (let after: string | null = null; ; ) {
    const page: ArtifactRow[] = await artifacts.listRefs(tenantId, match, { after, limit: LIST_PAGE }, call);
    yield* page;
    if (page.length < LIST_PAGE) return;
    after = page.at(-1)!.id;
  }
}

/**
 * `eraseSession`: erases all data of a session, then the session itself. The trajectories name the session's traces, so
 * they are erased last. A retry of an interrupted erasure therefore finds the remaining traces.
 */
import { parseMemoryKey } from '../agents/memory-key.ts';
import type { ErasureOptions, ErasureReport } from '../contracts/admin.ts';
import type { MemoryRange } from '../engine/agents.ts';
import { TRACED_PARTS } from '../engine/tenancy.ts';
import type { StoreContext } from '../tools/context.ts';
import type { AdminEngines } from './engines.ts';
import { Erasure, STEP } from './erasure.ts';
import { markErased } from './erasure-marks.ts';

const LIST_PAGE = 500;
/** Keyed engines scan all references of the tenant in every step, so a step removes many. */
const REFERENCES = 1_000;

export async function eraseSession(
  context: StoreContext,
  engines: AdminEngines,
  tenantId: string,
  sessionId: string,
  options: ErasureOptions | undefined,
): Promise<ErasureReport> {
  const erasure = new Erasure(context, { tenantId, sessionId }, options);
  const { parts, tenancy, artifacts, records } = engines;
  // Write the mark first, so that copies also find the mark of an erasure that is interrupted and completed later.
  if (records) await erasure.step((call) => markErased(context, records, tenantId, sessionId, call));
  if (parts.has('artifacts'))
    await erasure.all('artifacts', (call) => artifacts.eraseRefs(tenantId, { sessionId }, REFERENCES, call));
  if (parts.has('memory')) await eraseMemory(erasure, engines, tenantId, sessionId);
  if (parts.has('pauses')) await erasure.all('pauses', (call) => tenancy.erasePauses(tenantId, sessionId, STEP, call));
  if (parts.has('bindings'))
    await erasure.all('bindings', (call) => tenancy.eraseBindings(tenantId, sessionId, STEP, call));
  if (parts.has('trajectories')) await eraseTracesAndSession(erasure, engines, tenantId, sessionId);
  return erasure.report;
}

/** Scans all memory keys of the tenant: they have the form `tenant:user:session`, so no prefix selects a session. */
async function eraseMemory(
  erasure: Erasure,
  { agents }: AdminEngines,
  tenantId: string,
  sessionId: string,
): Promise<void> {
  let after: string | null = null;
  do {
    // Keys of deleted states contain the session id too.
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

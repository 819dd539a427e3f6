/**
 * One actor copies a store while another deletes, consumes and erases in its source. A second copy without concurrent
 * writes then reports whether both are equal. If it does, they must be, and data that ended in the source must not
 * return in the target.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { isTidemarkError, memoryStore, mintPauseToken, type Store } from '@tidemark/core';
import { copyStore } from '@tidemark/runtime';
import type { Arena, Race, RoundResult } from './race.ts';

const THINGS = 6;
const MAX_DELAY_MS = 40;
const AT = '2026-02-16T09:30:00.000Z';

export const copyBesideDeletes: Race = {
  summary: "' copyStore during deletes in its source",
  rounds: { short: 3, long: 100 },
  round,
};

async function round({ a, b, random, id }: Arena): Promise<RoundResult> {
  const other = memoryStore();
  try {
    const isSource = random.between(0, 2) === 0;
    const [from, to] = isSource ? [a.forTenant(id), other.forTenant(id)] : [other.forTenant(id), b.forTenant(id)];
    const remover = isSource ? b.forTenant(id) : from;
    const tokens = Array.from({ length: THINGS }, mintPauseToken);
    for (const [n, token] of tokens.entries()) await fill(from, n, token);
    const removals = tokens.map(async (token, n) => {
      await sleep(random.next() * MAX_DELAY_MS);
      if (random.between(0, 3) > 0) await remove(remover, n, token);
    });
    await Promise.all([copyStore(from, to), ...removals]);
    const { complete, differences } = await copyStore(from, to, { mirror: random.between(0, 2) === 0 });
    const problems = (await differencesOf(from, to, tokens)).map((what) =>
      complete ? `the copy is complete, and ${what}` : `the copy is not complete, and ${what} (${differences.length})`,
    );
    // A reported difference is expected. Data that came back is a problem in any case.
    return { checks: THINGS, problems: complete ? problems : problems.filter((it) => it.includes('came back')) };
  } finally {
    await other.close();
  }
}

async function fill({ runs, kv, agents, artifacts }: Store, n: number, token: string): Promise<void> {
  await runs.handle(`run ${n}`).append('RunStarted', { n });
  await kv.put(`key ${n}`, { n });
  await agents.saveMemoryState(`memory ${n}`, { n });
  await agents.savePlannerState(token, { n }, { ttl: '1h' });
  await artifacts.putText(`text ${n}`, { scope: { sessionId: `session ${n}` }, ttl: null });
  await agents.saveUpdate({
    ...{ sessionId: `session ${n}`, taskId: 't', updateId: 'u', updateType: 'PROGRESS', content: { n }, createdAt: AT },
  });
}

async function remove({ runs, kv, agents, admin }: Store, n: number, token: string): Promise<void> {
  await kv.delete(`key ${n}`);
  await agents.loadPlannerState(token);
  await runs.deleteRun(`run ${n}`);
  await agents.deleteMemoryState(`memory ${n}`);
  await admin.eraseSession(`session ${n}`);
}

async function differencesOf(from: Store, to: Store, tokens: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const [n, token] of tokens.entries()) {
    const [ours, theirs] = [await stateOf(from, n), await stateOf(to, n)];
    for (const part of Object.keys(ours) as (keyof typeof ours)[])
      if (ours[part] !== theirs[part]) found.push(`${part} ${n} is ${ours[part]} here and ${theirs[part]} there`);
    const waits = Object.keys(await from.agents.loadPlannerState(token)).length > 0;
    const waitsThere = Object.keys(await to.agents.loadPlannerState(token)).length > 0;
    if (!waits && waitsThere) found.push(`pause ${n} came back`);
    if (ours.run === 'RUN_DELETED' && theirs.run !== 'RUN_DELETED') found.push(`run ${n} came back as ${theirs.run}`);
    if (ours.session === 0 && theirs.session > 0) found.push(`the erased session ${n} came back`);
  }
  return found;
}

/** Returns the state of each item in a store; for a run also whether a late retry is refused. */
async function stateOf({ runs, kv, agents, artifacts }: Store, n: number) {
  const late = runs.handle(`run ${n}`).append('RunStarted', { n });
  return {
    run: await late.then(
      ({ idempotent }) => (idempotent ? 'stored' : 'started again'),
      (error: unknown) => (isTidemarkError(error) ? error.code : String(error)),
    ),
    key: (await kv.get(`key ${n}`)) !== null,
    memory: (await agents.loadMemoryState(`memory ${n}`)) !== null,
    session: (await agents.listUpdates(`session ${n}`)).length,
    artifacts: (await artifacts.list({ sessionId: `session ${n}` })).items.length,
  };
}

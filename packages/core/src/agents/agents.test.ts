import { describe, expect, it } from 'vitest';
import type { AgentStore, StateUpdate, TaskState } from '../contracts/agents.ts';
import { keyedAgents } from '../keyed/agents/agents.ts';
import { memoryJournal } from '../memory/journal.ts';
import { memoryRecords } from '../memory/records.ts';
import { StoreContext } from '../tools/context.ts';
import { createAgents } from './store.ts';

const AT = '2026-02-16T09:30:00.000Z';

/** Two clients of the same storage, each with its own engine, like two processes. */
function open() {
  const time = { now: Date.parse(AT) };
  const context = new StoreContext({ clock: () => time.now });
  const [journal, records] = [memoryJournal(context), memoryRecords(context)];
  const client = (): AgentStore => createAgents(context, keyedAgents(journal, records, context), 'acme');
  return { agents: client(), peer: client(), context, time };
}

const update = (n: number, taskId = 't'): StateUpdate => {
  return { sessionId: 's', taskId, updateId: `u${n}`, updateType: 'PROGRESS', content: { n }, createdAt: AT };
};

const task = (taskId: string, change: Partial<TaskState> = {}): TaskState => {
  const fixed = {
    sessionId: 's',
    status: 'RUNNING',
    taskType: 'FOREGROUND',
    priority: 0,
    contextSnapshot: {},
  } as const;
  return { taskId, ...fixed, createdAt: AT, updatedAt: AT, ...change };
};

describe('pauses (AGT-4)', () => {
  it('returns a pause to exactly one of 100 concurrent loaders', async () => {
    const { agents, peer } = open();
    await agents.savePlannerState('token', { reason: 'approval', step: 1 });
    const loads = Array.from({ length: 100 }, (_, n) => (n % 2 ? agents : peer).loadPlannerState('token'));
    const won = (await Promise.all(loads)).filter((payload) => 'step' in payload);
    expect(won).toEqual([{ reason: 'approval', step: 1 }]);
    await expect(peer.savePlannerState('token', {})).rejects.toMatchObject({ code: 'TOKEN_CONSUMED' });
  });

  it('keeps a claim when the pause is saved again, and fences a claimer that lost its lease', async () => {
    const { agents, peer, time } = open();
    await agents.savePlannerState('token', { v: 1 });
    const first = await agents.claimPause('token', { lease: '10s' });
    await agents.savePlannerState('token', { v: 2 });
    expect(await peer.claimPause('token')).toBeNull();
    time.now += 10_000;
    const second = await peer.claimPause('token');
    expect(second?.payload).toEqual({ v: 2 });
    await expect(agents.confirmPause('token', first!.claimId)).rejects.toMatchObject({ code: 'CLAIM_LOST' });
    await peer.releasePause('token', second!.claimId);
    await peer.releasePause('token', second!.claimId);
    expect(await agents.loadPlannerState('token')).toEqual({ v: 2 });
  });

  it('never includes the token in an error', async () => {
    const { agents } = open();
    const refusal = await agents.loadPlannerState('secret'.repeat(200)).catch((error: Error) => error);
    expect(refusal).toMatchObject({ code: 'INVALID_ARGUMENT', field: 'token' });
    expect(String(refusal)).not.toContain('secret');
  });
});

describe('updates (AGT-7)', () => {
  it('stores concurrent updates exactly once and pages without gaps', async () => {
    const { agents, peer } = open();
    const saves = Array.from({ length: 300 }, (_, n) => (n % 2 ? agents : peer).saveUpdate(update(n % 150)));
    await Promise.all(saves);
    const seen: string[] = [];
    for (let sinceId: string | undefined; ; ) {
      const page = await agents.listUpdatesPage('s', { limit: 40, sinceId });
      seen.push(...page.items.map((item) => item.updateId));
      if (page.next === undefined) break;
      sinceId = page.next;
    }
    expect(seen).toHaveLength(150);
    expect(new Set(seen).size).toBe(150);
    expect(await agents.listUpdatesPage('s', { sinceId: 'unknown', limit: 1 })).toMatchObject({ cursorFound: false });
  });

  it('tails stored and new updates of one task, and ends when aborted or closed', async () => {
    const { agents, peer, context } = open();
    await agents.saveUpdate(update(0));
    const abort = new AbortController();
    const seen: string[] = [];
    const tail = (async () => {
      for await (const item of agents.tailUpdates('s', { taskId: 't', signal: abort.signal })) {
        if (seen.push(item.updateId) === 3) abort.abort();
      }
    })();
    for (let n = 1; n < 6; n++) await peer.saveUpdate(update(n, n % 2 ? 'other' : 't'));
    await tail;
    expect(seen).toEqual(['u0', 'u2', 'u4']);
    const second = (async () => {
      for await (const _ of agents.tailUpdates('quiet')) throw new Error('nothing was saved');
    })();
    await new Promise((resolve) => setTimeout(resolve, 10));
    context.close();
    await second;
  });
});

describe('sessions', () => {
  it('lists a session with any data and removes it completely, even for a client that cached it', async () => {
    const { agents, peer, time } = open();
    await agents.saveUpdate(update(1));
    await agents.saveTask(task('a'));
    await agents.saveTrajectory('trace', 's', { steps: [] });
    await agents.savePlannerEvent('trace', { eventType: 'step', ts: 1, trajectoryStep: 0 });
    time.now += 5_000;
    await agents.saveUpdate(update(2));
    const [session] = (await agents.listSessions()).items;
    expect(session).toEqual({ sessionId: 's', createdAt: AT, lastActiveAt: '2026-02-16T09:30:05.000Z' });
    const removed = { tasks: 1, updates: 2, steering: 0, trajectories: 1, plannerEvents: 1 };
    expect(await peer.deleteSession('s')).toEqual(removed);
    expect((await agents.listSessions()).items).toEqual([]);
    expect(await agents.listPlannerEvents('trace')).toEqual([]);
    await agents.saveUpdate(update(1));
    expect(await peer.listUpdates('s')).toEqual([update(1)]);
    expect((await peer.listSessions()).items.map((it) => it.sessionId)).toEqual(['s']);
    await peer.saveTrajectory('trace', 'other', {});
    await expect(agents.saveTrajectory('trace', 's', {})).rejects.toMatchObject({ code: 'SESSION_MISMATCH' });
    expect(await agents.listTraces('s')).toEqual([]);
  });

  it('orders tasks by creation and keeps the newest save with its unknown fields', async () => {
    const { agents, peer } = open();
    await agents.saveTask(task('z'));
    await peer.saveTask(task('a'));
    const newer = { ...task('z', { status: 'COMPLETE', updatedAt: '2026-02-16T09:30:00.5Z' }), custom: { x: 1 } };
    await peer.saveTask(newer);
    await agents.saveTask(task('z'));
    expect(await agents.listTasks('s')).toEqual([newer, task('a')]);
  });
});

describe('memory (AGT-5)', () => {
  it('assigns a version to each of 200 concurrent saves, and the same version on retry', async () => {
    const { agents, peer } = open();
    const saves = Array.from({ length: 200 }, (_, n) => (n % 2 ? agents : peer).saveMemoryState('k', { n }));
    const versions = (await Promise.all(saves)).map((saved) => saved.version).sort((a, b) => a - b);
    expect(versions).toEqual(Array.from({ length: 200 }, (_, n) => n + 1));
    const request = { requestId: 'r', expectedVersion: 200 };
    expect(await agents.saveMemoryState('k', {}, request)).toEqual({ version: 201 });
    await peer.saveMemoryState('k', { later: true });
    expect(await peer.saveMemoryState('k', {}, request)).toEqual({ version: 201 });
    expect(await agents.loadMemoryState('k')).toEqual({ later: true });
  });
});

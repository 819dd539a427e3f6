/** Retention of sessions, memory, artifacts, jobs and KV records, in every tenant. */
import { memoryStore, type Store } from '@tidemark/core';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createRetention, type RetentionPolicies } from '../src/index.ts';
import { altered } from './altered.ts';

const DAY = 86_400_000;

let now: number;
let store: Store;

beforeEach(() => {
  now = Date.UTC(2026, 0, 1);
  store = memoryStore({ clock: () => now, artifacts: { ttlMs: null } });
});

afterEach(() => store.close());

const pass = async (policies: RetentionPolicies, dryRun = false) =>
  (await createRetention({ store, policies, clock: () => now, share: 1 }).run({ dryRun })).policies;

it('KV records are removed by a time in one of their fields, in every tenant', async () => {
  const other = store.forTenant('acme');
  for (const kv of [store.kv, other.kv]) {
    await kv.put('cache.old', { at: now });
    await kv.put('cache.young', { at: now + 40 * DAY });
    await kv.put('cache.odd', { at: 'yesterday' });
    await kv.put('cache.none', { other: 1 });
    await kv.put('cache.kept.old', { at: now });
    await kv.put('config.old', { at: now });
  }
  now += 50 * DAY;
  const policies: RetentionPolicies = {
    kv: [
      { name: 'exception', prefix: 'cache.kept.', field: 'at', action: 'keep' },
      { name: 'cache', prefix: 'cache.', field: 'at', olderThan: '30d' },
    ],
  };
  expect((await pass(policies, true)).cache).toMatchObject({ found: 2, deleted: 0 });
  expect((await pass(policies)).cache).toMatchObject({ kind: 'kv', found: 2, deleted: 2 });
  for (const kv of [store.kv, other.kv]) {
    const keys = (await Array.fromAsync(kv.scan(''))).map(({ key }) => key);
    expect(keys).toEqual(['cache.kept.old', 'cache.none', 'cache.odd', 'cache.young', 'config.old']);
  }
});

it('ended jobs are removed by their last change, type and state; others never', async () => {
  const { jobs } = store;
  const end = async (taskType: string, taskId: string, how: 'complete' | 'fail') => {
    await jobs.enqueue({ taskType, taskId });
    const claim = (await jobs.claim({ taskType, taskId }, { worker: 'ada' }))!;
    if (how === 'complete') await jobs.complete(claim);
    else await jobs.fail(claim, { error: 'no', retry: false });
  };
  await end('mail', 'done', 'complete');
  await end('mail', 'dead', 'fail');
  await end('video', 'done', 'complete');
  await jobs.enqueue({ taskType: 'mail', taskId: 'waiting' });
  now += 10 * DAY;
  await end('mail', 'young', 'complete');
  const policies: RetentionPolicies = {
    jobs: [
      { name: 'dead ones', state: 'failed', olderThan: '90d' },
      { name: 'mail', taskType: 'mail', olderThan: '5d' },
    ],
  };
  expect(await pass(policies)).toMatchObject({ 'dead ones': { deleted: 0 }, mail: { found: 1, deleted: 1 } });
  const there = async (taskType: string, taskId: string) => (await jobs.get({ taskType, taskId })) !== null;
  expect(await there('mail', 'done')).toBe(false);
  for (const taskId of ['dead', 'waiting', 'young']) expect(await there('mail', taskId), taskId).toBe(true);
  expect(await there('video', 'done')).toBe(true);
});

it('memory is removed by its last save and its prefix, unless it is saved again first', async () => {
  const { agents } = store;
  await agents.saveMemoryState('chat:a', { n: 1 });
  await agents.saveMemoryState('chat:b', { n: 1 });
  await agents.saveMemoryState('plan:a', { n: 1 });
  now += 10 * DAY;
  const policies: RetentionPolicies = { memory: [{ name: 'chats', prefix: 'chat:', olderThan: '5d' }] };
  const busy = altered(store, {
    agents: (real) => ({
      listMemory: async (options) => {
        const page = await real.listMemory(options);
        await agents.saveMemoryState('chat:b', { n: 2 });
        return page;
      },
    }),
  });
  const retention = createRetention({ store: busy, policies, clock: () => now, share: 1 });
  expect((await retention.run()).policies.chats).toMatchObject({ found: 2, deleted: 1, spared: 1 });
  expect(await agents.loadMemoryState('chat:a')).toBe(null);
  expect(await agents.loadMemoryState('chat:b')).toEqual({ n: 2 });
  expect(await agents.loadMemoryState('plan:a')).toEqual({ n: 1 });
});

it('artifacts are removed by their creation and their scope', async () => {
  const { artifacts } = store;
  const old = await artifacts.putText('old', { scope: { sessionId: 's' } });
  const other = await artifacts.putText('other', { scope: { sessionId: 't' } });
  now += 10 * DAY;
  const young = await artifacts.putText('young', { scope: { sessionId: 's' } });
  const policies: RetentionPolicies = { artifacts: [{ name: 'of s', scope: { sessionId: 's' }, olderThan: '5d' }] };
  expect((await pass(policies, true))['of s']).toMatchObject({ found: 1, bytes: 3 });
  expect((await pass(policies))['of s']).toMatchObject({ found: 1, deleted: 1 });
  expect(await artifacts.exists(old.id)).toBe(false);
  expect(await artifacts.exists(other.id)).toBe(true);
  expect(await artifacts.exists(young.id)).toBe(true);
});

it('sessions are removed by their last activity, with everything that belongs to them', async () => {
  const { agents } = store;
  const task = (sessionId: string) => ({
    taskId: 'task',
    sessionId,
    status: 'RUNNING' as const,
    taskType: 'FOREGROUND' as const,
    priority: 0,
    contextSnapshot: {},
    createdAt: new Date(now).toISOString(),
    updatedAt: new Date(now).toISOString(),
  });
  await agents.saveTask(task('old'));
  await agents.saveTrajectory('trace', 'old', { steps: [] });
  await agents.savePlannerEvent('trace', { eventType: 'step', ts: 1, trajectoryStep: 0 });
  await agents.saveTask(task('young'));
  now += 10 * DAY;
  await agents.saveTask(task('young'));
  const policies: RetentionPolicies = { sessions: [{ name: 'quiet', olderThan: '5d' }] };
  const plan = await pass(policies, true);
  expect(plan.quiet).toMatchObject({ found: 1, deleted: 0 });
  expect(plan.quiet!.bytes).toBeGreaterThan(50);
  expect((await pass(policies)).quiet).toMatchObject({ found: 1, deleted: 1 });
  expect((await agents.listSessions()).items.map(({ sessionId }) => sessionId)).toEqual(['young']);
  expect(await agents.listTasks('old')).toEqual([]);
  expect(await agents.listPlannerEvents('trace')).toEqual([]);
  expect((await agents.listTasks('young')).length).toBe(1);
});

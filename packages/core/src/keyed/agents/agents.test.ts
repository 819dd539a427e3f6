/** Orders and states that records of agents keep over several saves, and what a damaged record hides. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { AgentEngine } from '../../engine/agents.ts';
import { memoryJournal } from '../../memory/journal.ts';
import { memoryRecords } from '../../memory/records.ts';
import { StoreContext } from '../../tools/context.ts';
import { keyedAgents } from './agents.ts';

const CALL = {};
const time = { now: 0 };
let agents: AgentEngine;

beforeEach(() => {
  time.now = Date.parse('2026-02-16T09:30:00.000Z');
  const context = new StoreContext({ clock: () => time.now });
  agents = keyedAgents(memoryJournal(context), memoryRecords(context), context);
});

describe('tasks with one createdAt', () => {
  const save = (taskId: string, body: string, updatedAt = 1) =>
    agents.tasks.save('t', { sessionId: 's', taskId, status: 'RUNNING', createdAt: 1, updatedAt, body }, CALL);
  const bodies = async () => (await Array.fromAsync(agents.tasks.read('t', 's', CALL))).flat();

  it('are listed in the order of their first save', async () => {
    for (const id of ['c', 'a', 'b']) await save(id, `${id}1`);
    await save('c', 'c2', 2);
    await save('b', 'b0', 0);
    expect(await bodies()).toEqual(['c2', 'a1', 'b1']);
  });

  it('keep an order each when they are saved at once', async () => {
    const ids = ['e', 'd', 'c', 'b', 'a'];
    await Promise.all(ids.map((id) => save(id, id)));
    const first = await bodies();
    expect(first.toSorted()).toEqual(ids.toSorted());
    for (const id of ids) await save(id, id, 2);
    expect(await bodies()).toEqual(first);
  });
});

describe('a pause that is saved again', () => {
  const save = (payload: string) =>
    agents.pauses.save('t', { pauseId: 'p', payload, ttlMs: 1_000, sessionId: null, taskId: null, reason: null }, CALL);
  const claim = (claimId: string) => agents.pauses.claim('t', 'p', { claimId, leaseMs: 500 }, CALL);

  it('keeps its claim and the time it was created, and gets the new payload', async () => {
    await save('one');
    const before = await agents.pauses.peek('t', 'p', CALL);
    expect(await claim('first')).toMatchObject({ payload: 'one' });
    time.now += 10;
    await save('two');
    expect(await agents.pauses.peek('t', 'p', CALL)).toMatchObject({ createdAt: before!.createdAt });
    expect(await claim('second')).toBeNull();
    expect(await claim('first')).toMatchObject({ payload: 'two' });
  });

  it('starts over once it has expired', async () => {
    await save('one');
    await claim('first');
    const before = await agents.pauses.peek('t', 'p', CALL);
    time.now += 1_000;
    expect(await agents.pauses.peek('t', 'p', CALL)).toBeNull();
    await save('two');
    expect((await agents.pauses.peek('t', 'p', CALL))!.createdAt).not.toEqual(before!.createdAt);
    expect(await agents.pauses.settle('t', 'p', 'first', 'consumed', CALL)).toBe(false);
    expect(await claim('second')).toMatchObject({ payload: 'two' });
  });
});

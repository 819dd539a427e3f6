/** Calls of keyed agent engines when another process has written between the read of a call and its write. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { AgentEngine, BindingRow } from '../../engine/agents.ts';
import type { Records, RecordWrite } from '../../engine/records.ts';
import { memoryJournal } from '../../memory/journal.ts';
import { memoryRecords } from '../../memory/records.ts';
import { StoreContext } from '../../tools/context.ts';
import { joinKey } from '../../tools/joined-keys.ts';
import { fieldsOf } from '../../tools/record-fields.ts';
import { scanRecords } from '../scan.ts';
import { keyedAgents } from './agents.ts';
import { BindingSessions } from './binding-sessions.ts';

const CALL = {};
type Interruption = { matches: (write: RecordWrite) => boolean; by: () => Promise<unknown> };

let records: Records;
let agents: AgentEngine;
/** The other process. */
let other: AgentEngine;
let interrupted: Records;
let interruption: Interruption | null;

/** Lets the other process act right before the first write of this kind. */
function before(space: string, mode: RecordWrite['mode'], by: Interruption['by']): void {
  interruption = { matches: (write) => write.name.space === space && write.mode === mode, by };
}

beforeEach(() => {
  const context = new StoreContext();
  const journal = memoryJournal(context);
  records = memoryRecords(context);
  interruption = null;
  const interrupt = async (writes: readonly RecordWrite[]) => {
    const due = interruption;
    if (!due || !writes.some(due.matches)) return;
    interruption = null;
    await due.by();
  };
  interrupted = new Proxy(records, {
    get(target, name) {
      if (name === 'write')
        return async (...args: Parameters<Records['write']>) => {
          await interrupt([args[0]]);
          return records.write(...args);
        };
      if (name === 'batch')
        return async (...args: Parameters<Records['batch']>) => {
          await interrupt(args[0]);
          return records.batch(...args);
        };
      return (Reflect.get(target, name) as () => unknown).bind(target);
    },
  });
  agents = keyedAgents(journal, interrupted, context);
  other = keyedAgents(journal, records, context);
});

describe('a pause', () => {
  const row = (payload: string) => ({
    ...{ pauseId: 'p', payload, ttlMs: 60_000, sessionId: null, taskId: null, reason: null },
  });
  const claim = (engine: AgentEngine, claimId: string) =>
    engine.pauses.claim('t', 'p', { claimId, leaseMs: 60_000 }, CALL);

  it('that both save for the first time has the state that was saved last', async () => {
    before('pauses', 'replace', () => other.pauses.save('t', row('theirs'), CALL));
    expect(await agents.pauses.save('t', row('ours'), CALL)).toBe('saved');
    expect(interruption).toBeNull();
    expect(await claim(agents, 'c')).toMatchObject({ payload: 'ours' });
  });

  it('that both save again has the state that was saved last, and keeps a claim', async () => {
    await agents.pauses.save('t', row('first'), CALL);
    before('pauses', 'merge', () => claim(other, 'theirs'));
    expect(await agents.pauses.save('t', row('ours'), CALL)).toBe('saved');
    expect(interruption).toBeNull();
    expect(await claim(agents, 'ours')).toBeNull();
    expect(await claim(agents, 'theirs')).toMatchObject({ payload: 'ours' });
  });

  it('that the other consumes during a save stays consumed', async () => {
    await agents.pauses.save('t', row('first'), CALL);
    before('pauses', 'merge', async () => {
      await claim(other, 'theirs');
      await other.pauses.settle('t', 'p', 'theirs', 'consumed', CALL);
    });
    expect(await agents.pauses.save('t', row('ours'), CALL)).toBe('consumed');
    expect(await claim(agents, 'ours')).toBeNull();
  });

  it('is claimed by one of two', async () => {
    await agents.pauses.save('t', row('first'), CALL);
    before('pauses', 'merge', () => claim(other, 'theirs'));
    expect(await claim(agents, 'ours')).toBeNull();
    expect(await claim(agents, 'theirs')).toMatchObject({ payload: 'first' });
  });
});

describe('a trajectory', () => {
  it('belongs to the session that saved it first, and to no other', async () => {
    const saved = (engine: AgentEngine, sessionId: string) =>
      engine.trajectories.save('t', { traceId: 'trace', sessionId, body: sessionId }, CALL);
    before('trajectories', 'replace', () => saved(other, 'theirs'));
    expect(await saved(agents, 'ours')).toBe('other-session');
    expect(await agents.trajectories.get('t', 'trace', 'ours', CALL)).toBeNull();
    expect(await agents.trajectories.get('t', 'trace', 'theirs', CALL)).toBe('theirs');
  });
});

describe('a binding', () => {
  const keyOfBinding = joinKey(['trace', null, 'task']);
  const binding = (routerSessionId: string | null, agentUrl = 'https://one.example'): BindingRow => ({
    ...{
      traceId: 'trace',
      contextId: null,
      taskId: 'task',
      agentUrl,
      routerSessionId,
      isTerminal: null,
      details: null,
    },
  });
  const save = (engine: AgentEngine, ...row: Parameters<typeof binding>) =>
    engine.bindings.save('t', binding(...row), CALL);
  const urlsOf = async (session: string) =>
    (await Array.fromAsync(agents.bindings.readSession('t', session, CALL))).flat().map(({ agentUrl }) => agentUrl);

  it('that both save has the values that were saved last', async () => {
    await save(agents, 's');
    before('bindings', 'replace', () => save(other, 's', 'https://theirs.example'));
    await save(agents, 's', 'https://ours.example');
    expect(interruption).toBeNull();
    expect(await urlsOf('s')).toEqual(['https://ours.example']);
  });

  it('that moves to another session while its session is erased stays with the other', async () => {
    await save(agents, 's');
    before('bindings', 'delete', () => save(other, 'next'));
    expect(await new BindingSessions(interrupted).erase('t', 's', 10, CALL)).toBe(0);
    expect(interruption).toBeNull();
    expect(await urlsOf('s')).toEqual([]);
    expect(await urlsOf('next')).toEqual(['https://one.example']);
  });

  it('that is saved again while its session is erased is removed with its new values', async () => {
    await save(agents, 's');
    before('bindings', 'delete', () => save(other, 's', 'https://theirs.example'));
    expect(await new BindingSessions(interrupted).erase('t', 's', 10, CALL)).toBe(1);
    expect(interruption).toBeNull();
    expect(await agents.bindings.list('t', 'trace', CALL)).toEqual([]);
    expect(await urlsOf('s')).toEqual([]);
  });

  it('is listed in its session when its entry was removed just before it was written', async () => {
    await save(agents, 's');
    await save(agents, 'next');
    // The entry was added before the removal below reads it, and the binding is written after.
    await new BindingSessions(records).add('t', 's', keyOfBinding, CALL);
    before('bindingSessions', 'delete', async () => {
      const name = { space: 'bindings', tenantId: 't', key: keyOfBinding } as const;
      await records.write({ name, mode: 'merge', set: fieldsOf({ routerSessionId: 's' }) }, CALL);
    });
    await new BindingSessions(interrupted).drop('t', 's', keyOfBinding, CALL);
    expect(interruption).toBeNull();
    expect(await urlsOf('s')).toEqual(['https://one.example']);
  });

  it('has no entry left in a session that it has left', async () => {
    await save(agents, 's');
    await save(agents, 'next');
    expect(await Array.fromAsync(scanRecords(records, 'bindingSessions', 't', { prefix: '' }, CALL))).toHaveLength(1);
  });
});

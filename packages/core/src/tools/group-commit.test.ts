/** Group commit: which calls share a commit, which are refused, and that each caller gets its own outcome. */
import { describe, expect, it } from 'vitest';
import type { EngineCall } from '../engine/call.ts';
import { GroupCommit, type GroupCommitOptions } from './group-commit.ts';

/** A commit that records its groups and can be held. Operations named `bad…` fail individually. */
function recording(options: GroupCommitOptions = {}) {
  const groups: string[][] = [];
  let gate = Promise.resolve();
  const group = new GroupCommit<string, string>(async (take) => {
    const operations = take();
    groups.push([...operations]);
    await gate;
    return operations.map((it) => (it.startsWith('bad') ? new Error(it) : `done ${it}`));
  }, options);
  const hold = () => {
    let release = () => {};
    gate = new Promise((resolve) => {
      release = resolve;
    });
    return release;
  };
  return { group, groups, hold };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('group commit', () => {
  it('commits at once when idle', async () => {
    const { group, groups } = recording();
    const answer = group.submit('a', {});
    await turn();
    await turn();
    expect(groups).toEqual([['a']]);
    expect(await answer).toBe('done a');
  });

  it('shares one commit among calls of the same turn and resolves each with its own outcome', async () => {
    const { group, groups } = recording();
    const answers = await Promise.all(['a', 'b', 'c'].map((it) => group.submit(it, {})));
    expect(groups).toEqual([['a', 'b', 'c']]);
    expect(answers).toEqual(['done a', 'done b', 'done c']);
  });

  it('queues calls during a commit for the next one, and settles no call before its own commit', async () => {
    const { group, groups, hold } = recording();
    const release = hold();
    const first = group.submit('a', {});
    await turn();
    await turn();
    let settled = 0;
    const later = ['b', 'c'].map((it) => group.submit(it, {}).finally(() => settled++));
    await turn();
    expect(groups).toEqual([['a']]);
    expect(settled).toBe(0);
    release();
    expect([await first, ...(await Promise.all(later))]).toEqual(['done a', 'done b', 'done c']);
    expect(groups).toEqual([['a'], ['b', 'c']]);
  });

  it('fails only the bad operation of a group', async () => {
    const { group } = recording();
    const settled = await Promise.allSettled(['a', 'bad', 'c'].map((it) => group.submit(it, {})));
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('fails every call of a group whose commit fails, and continues with the next', async () => {
    let broken = true;
    const group = new GroupCommit<string, string>(async (take) => {
      const operations = take();
      if (broken) throw new Error('no disk');
      return operations;
    });
    const settled = await Promise.allSettled([group.submit('a', {}), group.submit('b', {})]);
    expect(settled).toMatchObject([{ reason: { message: 'no disk' } }, { reason: { message: 'no disk' } }]);
    broken = false;
    expect(await group.submit('c', {})).toBe('c');
  });

  it('keeps a call in the phase `waiting` until the commit takes it, so that it can be abandoned (GEN-3)', async () => {
    let lock = () => {};
    const locked = new Promise<void>((resolve) => {
      lock = resolve;
    });
    const group = new GroupCommit<string, string>(async (take) => {
      await locked;
      return take();
    });
    const [given, kept]: [EngineCall, EngineCall] = [{}, {}];
    const first = group.submit('given up', given);
    const second = group.submit('kept', kept);
    await turn();
    expect([given.phase, kept.phase]).toEqual(['waiting', 'waiting']);
    given.phase = 'given up';
    lock();
    await expect(first).rejects.toMatchObject({ code: 'ABORTED', outcome: 'rejected' });
    expect(await second).toBe('kept');
    expect(kept.phase).toBe('begun');
  });

  it('rejects with OVERLOADED when the queue is full, and accepts calls again afterwards (GEN-3)', async () => {
    const { group, groups, hold } = recording({ maxQueue: 2 });
    const release = hold();
    const first = group.submit('a', {});
    await turn();
    await turn();
    const waiting = [group.submit('b', {}), group.submit('c', {})];
    await expect(group.submit('d', {})).rejects.toMatchObject({
      code: 'OVERLOADED',
      retryable: true,
      outcome: 'rejected',
    });
    release();
    await Promise.all([first, ...waiting]);
    expect(groups.flat()).toEqual(['a', 'b', 'c']);
    expect(await group.submit('e', {})).toBe('done e');
  });

  it('puts no more than maxGroup operations into a commit', async () => {
    const { group, groups } = recording({ maxGroup: 2 });
    await Promise.all(['a', 'b', 'c'].map((it) => group.submit(it, {})));
    expect(groups).toEqual([['a', 'b'], ['c']]);
  });

  it('does not write for callers that gave up while waiting (GEN-8)', async () => {
    const { group, groups, hold } = recording();
    const release = hold();
    const first = group.submit('a', {});
    await turn();
    await turn();
    const aborted = new AbortController();
    const waiting = [
      group.submit('late', { deadline: Date.now() }),
      group.submit('aborted', { signal: aborted.signal }),
      group.submit('kept', {}),
    ];
    aborted.abort();
    release();
    const settled = await Promise.allSettled([first, ...waiting]);
    expect(settled.slice(1, 3)).toMatchObject([
      { reason: { code: 'TIMEOUT', outcome: 'rejected' } },
      { reason: { code: 'ABORTED', outcome: 'rejected' } },
    ]);
    expect(groups).toEqual([['a'], ['kept']]);
  });

  it('settles every accepted call before drain resolves', async () => {
    const { group, groups } = recording({ maxGroup: 1 });
    let settled = 0;
    for (const it of ['a', 'b', 'c']) void group.submit(it, {}).then(() => settled++);
    await group.drain();
    expect(groups.flat()).toEqual(['a', 'b', 'c']);
    expect(settled).toBe(3);
  });
});

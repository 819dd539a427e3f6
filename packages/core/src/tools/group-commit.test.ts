/** Group commit: who shares a commit, who is refused, and that each caller hears of its own operation. */
import { describe, expect, it } from 'vitest';
import type { EngineCall } from '../engine/call.ts';
import { GroupCommit, type GroupCommitOptions } from './group-commit.ts';

/** A commit that records its groups and can be held up; operations named `bad…` fail alone. */
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

  it('shares one commit among calls of the same turn, and answers each in its own words', async () => {
    const { group, groups } = recording();
    const answers = await Promise.all(['a', 'b', 'c'].map((it) => group.submit(it, {})));
    expect(groups).toEqual([['a', 'b', 'c']]);
    expect(answers).toEqual(['done a', 'done b', 'done c']);
  });

  it('gathers what arrives during a commit for the next, and answers nobody before its own commit', async () => {
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

  it('lets one bad operation fail alone', async () => {
    const { group } = recording();
    const settled = await Promise.allSettled(['a', 'bad', 'c'].map((it) => group.submit(it, {})));
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('fails everybody of a group whose commit fails, and goes on with the next', async () => {
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

  it('tells how far a call has come: what waits for the lock may still give up (GEN-3)', async () => {
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

  it('refuses with OVERLOADED when the queue is full, and takes calls again afterwards (GEN-3)', async () => {
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

  it('does not write for callers who gave up while they waited (GEN-8)', async () => {
    const { group, groups, hold } = recording();
    const release = hold();
    const first = group.submit('a', {});
    await turn();
    await turn();
    const aborted = new AbortController();
    const waiting = [
      group.submit('late', { deadline: Date.now() }),
      group.submit('aborted', { signal: aborted.signal }),
      group.submit('patient', {}),
    ];
    aborted.abort();
    release();
    const settled = await Promise.allSettled([first, ...waiting]);
    expect(settled.slice(1, 3)).toMatchObject([
      { reason: { code: 'TIMEOUT', outcome: 'rejected' } },
      { reason: { code: 'ABORTED', outcome: 'rejected' } },
    ]);
    expect(groups).toEqual([['a'], ['patient']]);
  });

  it('drains: everything accepted is settled', async () => {
    const { group, groups } = recording({ maxGroup: 1 });
    let settled = 0;
    for (const it of ['a', 'b', 'c']) void group.submit(it, {}).then(() => settled++);
    await group.drain();
    expect(groups.flat()).toEqual(['a', 'b', 'c']);
    expect(settled).toBe(3);
  });
});

/** The clock of a file (GEN-12): set back while the file is open, across a restart, and between processes. */
import { SteadyClock, StoreContext } from '@tidemark/core/engine';
import { expect, it, onTestFinished } from 'vitest';
import { Database } from '../src/database.ts';
import { SharedClock } from '../src/shared-clock.ts';
import { sqliteStore } from '../src/store.ts';
import { newPath, openStore, runEvent } from './fixtures.ts';

const HOUR = 3_600_000;
const TYPE = 'mail';

/** A machine whose wall clock can be set. */
function machine() {
  const time = { wall: Date.parse('2026-11-15T12:00:00Z'), uptime: 1_000_000 };
  const options = { clock: () => time.wall, monotonic: () => time.uptime };
  const pass = (ms: number) => {
    time.wall += ms;
    time.uptime += ms;
  };
  return { time, options, pass };
}

it('expires records, leases, pauses and their claims on time though the clock was set back by an hour', async () => {
  const { time, options, pass } = machine();
  const { kv, jobs, agents } = await openStore(newPath(), options);
  await kv.put('k', { a: 1 }, { ttl: 60_000 });
  await jobs.enqueue({ taskType: TYPE, taskId: 'held' });
  await jobs.enqueue({ taskType: TYPE, taskId: 'delayed', delay: 60_000 });
  await jobs.claim({ taskType: TYPE, taskId: 'held' }, { worker: 'w', lease: 60_000 });
  await agents.savePlannerState('claimed', { n: 1 });
  await agents.claimPause('claimed', { lease: 60_000 });
  await agents.savePlannerState('short', { n: 2 }, { ttl: 60_000 });
  time.wall -= HOUR;
  pass(59_999);
  expect(await kv.get('k')).not.toBeNull();
  expect(await jobs.overdue(TYPE, { threshold: '1d' })).toEqual([]);
  expect((await agents.peekPause('claimed'))?.state).toBe('claimed');
  expect(await agents.peekPause('short')).not.toBeNull();
  pass(1);
  expect(await kv.get('k')).toBeNull();
  const overdue = await jobs.overdue(TYPE, { threshold: '1d' });
  expect(overdue.map(({ job, reason }) => [job.taskId, reason])).toEqual([
    ['held', 'lease ended'],
    ['delayed', 'due'],
  ]);
  expect((await agents.peekPause('claimed'))?.state).toBe('waiting');
  expect(await agents.loadPlannerState('short')).toEqual({});
});

it('follows the clock of the machine after a restart, and never moves the times of a run back', async () => {
  const { time, options, pass } = machine();
  const path = newPath();
  const before = await sqliteStore({ path, ...options });
  await before.kv.put('k', { a: 1 }, { ttl: 60_000 });
  await before.runs.appendEvent(runEvent('r'));
  await before.close();
  time.wall -= HOUR;
  pass(60_000);
  const after = await openStore(path, options);
  expect((await after.kv.get('k'))?.ttl, 'what was to end then ends an hour later').toBe(HOUR);
  await after.runs.appendEvent(runEvent('r'));
  const [first, second] = await after.runs.fetchEvents('r');
  expect(second!.persistedAt).toBe(first!.persistedAt);
});

it('is shared by processes that open the file after the clock was set back', async () => {
  const { time, options, pass } = machine();
  const path = newPath();
  const open = async () => {
    const clock = new SteadyClock(options);
    const database = await Database.open(path, new StoreContext({ clock: clock.now }), {});
    onTestFinished(() => database.close());
    return { clock, shared: new SharedClock(database, clock, () => time.uptime) };
  };
  const first = await open();
  await first.shared.share({});
  const expected = time.wall + 5_000;
  time.wall -= HOUR;
  pass(5_000);
  await first.shared.share({});
  const second = await open();
  expect(second.clock.now(), 'it begins with the clock of the machine').toBe(expected - HOUR);
  await second.shared.share({});
  expect(second.clock.now(), 'and follows the process that is ahead').toBe(expected);
  pass(20_000);
  await second.shared.share({});
  expect([first.clock.now(), second.clock.now()]).toEqual([expected + 20_000, expected + 20_000]);
});

it('ignores the time of processes that have ended', async () => {
  const { time, options, pass } = machine();
  const path = newPath();
  const uptime = () => time.uptime;
  const ahead = new SteadyClock(options);
  const database = await Database.open(path, new StoreContext({ clock: ahead.now }), {});
  onTestFinished(() => database.close());
  time.wall -= HOUR;
  await new SharedClock(database, ahead, uptime).share({});
  pass(31_000);
  const clock = new SteadyClock(options);
  await new SharedClock(database, clock, uptime).share({});
  expect(clock.now()).toBe(time.wall);
});

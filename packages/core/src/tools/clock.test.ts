/** The clock of stores without a server (GEN-12). */
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../memory/store.ts';
import { SteadyClock } from './clock.ts';

const HOUR = 3_600_000;

/** A settable wall clock; `pass` advances wall time and elapsed time. */
function clocks() {
  const time = { wall: 1_000_000_000_000, elapsed: 5_000 };
  const clock = new SteadyClock({ clock: () => time.wall, monotonic: () => time.elapsed });
  const pass = (ms: number) => {
    time.wall += ms;
    time.elapsed += ms;
  };
  return { time, clock, pass };
}

describe('SteadyClock', () => {
  it('follows the wall clock', () => {
    const { clock, pass } = clocks();
    expect(clock.now()).toBe(1_000_000_000_000);
    pass(1_500);
    expect(clock.now()).toBe(1_000_000_001_500);
    expect(clock.aheadMs()).toBe(0);
  });

  it('continues by elapsed time when the wall clock is set back', () => {
    const { time, clock, pass } = clocks();
    clock.now();
    time.wall -= HOUR;
    expect(clock.now()).toBe(1_000_000_000_000);
    pass(60_000);
    expect(clock.now()).toBe(1_000_000_060_000);
    expect(clock.aheadMs()).toBe(HOUR);
    time.wall += HOUR;
    pass(1);
    expect(clock.now()).toBe(1_000_000_060_001);
    expect(clock.aheadMs()).toBe(0);
  });

  it('counts the time between its last reading and a wall clock reset', () => {
    const { time, clock, pass } = clocks();
    clock.now();
    pass(10_000);
    time.wall -= HOUR;
    pass(10_000);
    expect(clock.now()).toBe(1_000_000_020_000);
  });

  it('follows the wall clock forward at once, even after the wall clock was behind', () => {
    const { time, clock, pass } = clocks();
    time.wall += HOUR;
    expect(clock.now()).toBe(1_000_000_000_000 + HOUR);
    time.wall -= 2 * HOUR;
    time.wall += 3 * HOUR;
    pass(1);
    expect(clock.now()).toBe(1_000_000_000_001 + 2 * HOUR);
  });

  it('returns whole milliseconds, even if it is read often', () => {
    const time = { wall: 1_000, elapsed: 0 };
    const clock = new SteadyClock({ clock: () => Math.floor(time.wall), monotonic: () => time.elapsed });
    let isRight = true;
    for (let step = 0; step < 100_000; step++) {
      time.wall += 0.000_13;
      time.elapsed += 0.000_13;
      const now = clock.now();
      isRight &&= Number.isInteger(now) && now <= time.wall;
    }
    expect(isRight).toBe(true);
    expect(clock.now()).toBe(1_013);
  });

  it('never falls below a time passed to advanceTo', () => {
    const { clock, pass } = clocks();
    clock.advanceTo(1_000_000_000_000 + HOUR);
    pass(5);
    expect(clock.now()).toBe(1_000_000_000_005 + HOUR);
    clock.advanceTo(7);
    expect(clock.now()).toBe(1_000_000_000_005 + HOUR);
  });

  it('follows a clock injected without elapsed time in both directions', () => {
    let now = 50;
    const clock = new SteadyClock({ clock: () => now });
    now = 20;
    expect([clock.now(), clock.aheadMs()]).toEqual([20, 0]);
  });
});

describe('a memory store whose wall clock is set back', () => {
  it('expires records, leases and pauses on time', async () => {
    const time = { wall: Date.now(), elapsed: 0 };
    const store = memoryStore({ clock: () => time.wall, monotonic: () => time.elapsed });
    const { kv, jobs, agents } = store;
    await kv.put('k', { a: 1 }, { ttl: 60_000 });
    await jobs.enqueue({ taskType: 'mail', taskId: 'held' });
    await jobs.claim({ taskType: 'mail', taskId: 'held' }, { worker: 'w', lease: 60_000 });
    await agents.savePlannerState('token', { n: 1 }, { ttl: 60_000 });
    time.wall -= HOUR;
    time.elapsed += 59_999;
    expect(await kv.get('k')).toMatchObject({ ttl: 1 });
    expect(await jobs.overdue('mail', { threshold: '1d' })).toEqual([]);
    expect(await agents.peekPause('token')).not.toBeNull();
    time.elapsed += 1;
    expect(await kv.get('k')).toBeNull();
    expect(await jobs.overdue('mail', { threshold: '1d' })).toMatchObject([{ reason: 'lease ended' }]);
    expect(await agents.loadPlannerState('token')).toEqual({});
    await store.close();
  });
});

/**
 * The views equal a fold of the store, although pages are sent twice, replies are lost, requests are refused, and sinks
 * stop in the middle of a page.
 */
import { memoryStore } from '@tidemark/core';
import { expect, onTestFinished, test } from 'vitest';
import { newSeed, Random } from '../../../faults/random.ts';
import { createSnowflakeSink, type SnowflakeSink } from '../src/index.ts';
import { folded, viewed } from './comparing.ts';
import { makeHistory } from './history.ts';
import { type FakeSetting, startSetting, until } from './setting.ts';

const FAULTS = {
  twice: 0.25,
  later: 0.3,
  delayMs: 60,
  throttled: 0.1,
  unavailable: 0.05,
  replyLost: 0.1,
  requestLost: 0.05,
};

test.each([
  ['one writer', 1],
  ['four shards in two processes', 4],
])('with %s', { timeout: 240_000 }, async (_, shards) => {
  const seed = newSeed();
  const random = new Random(seed);
  const setting = await startSetting({ faults: FAULTS });
  const store = memoryStore();
  onTestFinished(() => store.close());
  const errors: unknown[] = [];
  const start = () =>
    createSnowflakeSink({
      ...{ ...setting.account, store, shards, pageSize: 40, lease: '2s', purgeEvery: '1s' },
      onError: (error) => errors.push(error),
    });
  const sinks: SnowflakeSink[] = [];
  for (let at = 0; at < Math.min(shards, 2); at++) sinks.push(await start());
  onTestFinished(async () => {
    for (const sink of sinks) await sink.stop();
  });

  for (let round = 0; round < 6; round++) {
    await makeHistory(store, seed + round, 120);
    await new Promise((resolve) => setTimeout(resolve, random.between(50, 400)));
    const at = random.between(0, sinks.length);
    await sinks[at]!.stop();
    sinks[at] = await start();
  }

  const wanted = await folded(store);
  const isEqual = async () => {
    const shown = await viewed(setting);
    return JSON.stringify([...shown.events].sort()) === JSON.stringify([...wanted.events].sort());
  };
  await until(isEqual, `the view shows all events (seed ${seed})`, 120_000).catch(() => {});
  for (const sink of sinks) await sink.stop();
  await setting.settled();

  const shown = await viewed(setting);
  expect(shown.events, `events, seed ${seed}`).toEqual(wanted.events);
  expect(shown.runs, `runs, seed ${seed}`).toEqual(wanted.runs);
  expect(shown.steps, `steps, seed ${seed}`).toEqual(wanted.steps);
  // Errors of a sink that was stopped are not reported, and everything else was retried.
  expect(errors.map(String), `seed ${seed}`).toEqual([]);
  const seen = 'fake' in setting ? (setting as FakeSetting).fake.seen : null;
  for (const [fault, count] of Object.entries(seen ?? {}))
    expect(count, `${fault}, seed ${seed}`).toBeGreaterThan(fault === 'refusedTokens' ? -1 : 0);
});

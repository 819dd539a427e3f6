/** Sinks and stores that end with the test. */
import { memoryStore, type Store } from '@tidemark/core';
import { expect, onTestFinished } from 'vitest';
import { createSnowflakeSink, type SnowflakeSink, type SnowflakeSinkOptions } from '../src/index.ts';
import { folded, viewed } from './comparing.ts';
import { type Setting, until } from './setting.ts';

export function newStore(): Store {
  const store = memoryStore();
  onTestFinished(() => store.close());
  return store;
}

export async function startSink(
  setting: Setting,
  store: Store,
  options: Partial<SnowflakeSinkOptions> = {},
): Promise<SnowflakeSink> {
  const sink = await createSnowflakeSink({
    ...{ ...setting.account, store, lease: '2s' },
    // Shown with a test that fails.
    onError: (error) => console.warn(error),
    ...options,
  });
  onTestFinished(() => sink.stop());
  return sink;
}

/** Waits until the views have all events, and compares them with a fold of the store. */
export async function expectEqual(setting: Setting, store: Store): Promise<void> {
  const wanted = await folded(store);
  await until(async () => (await viewed(setting)).events.size === wanted.events.size, 'all events in the view');
  const shown = await viewed(setting);
  expect(shown.events).toEqual(wanted.events);
  expect(shown.runs).toEqual(wanted.runs);
  expect(shown.steps).toEqual(wanted.steps);
}

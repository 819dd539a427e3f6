/** The sink when Snowflake refuses what it is sent. */
import { listDeadLetters } from '@tidemark/runtime';
import { expect, test } from 'vitest';
import { startFake, until } from './setting.ts';
import { expectEqual, newStore, startSink } from './sinks.ts';

test('gives up on an event that Snowflake rejects, stores the others, and loads it again on request', async () => {
  const [setting, store] = [await startFake(), newStore()];
  for (let at = 0; at < 20; at++)
    await store.runs.handle(`r${at % 3}`).append('Progress', { at, text: at === 7 ? 'unfit' : 'fit' });
  setting.warehouse.refused = 'unfit';
  const sink = await startSink(setting, store);
  await until(() => sink.status().loaded === 19, '19 events');
  const [letter, ...others] = await Array.fromAsync(listDeadLetters(store, 'snowflake'));
  expect(others).toEqual([]);
  expect(letter).toMatchObject({ runId: 'r1', runSeq: 3 });
  expect(letter!.error).toContain('100078');
  expect(sink.status()).toMatchObject({ dead: 1 });
  await expect(sink.redeliver(letter!)).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
  setting.warehouse.refused = null;
  await sink.redeliver(letter!);
  expect(await Array.fromAsync(listDeadLetters(store, 'snowflake'))).toEqual([]);
  await expectEqual(setting, store);
});

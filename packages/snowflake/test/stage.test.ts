/** Large pages through a stage: a file in a bucket, `COPY INTO`, and a merge. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { directoryTarget } from '@tidemark/runtime';
import { expect, onTestFinished, test } from 'vitest';
import { startFake, until } from './setting.ts';
import { expectEqual, newStore, startSink } from './sinks.ts';

const NAME = 'ANALYTICS.TIDEMARK.PAGES';

test('loads large pages through the stage, once although replies are lost, and leaves nothing there', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-stage-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const setting = await startFake({ stages: { [NAME]: folder }, faults: { replyLost: 0.3, later: 0.3, twice: 0.3 } });
  const store = newStore();
  const append = async (runs: number, each: number) => {
    for (let run = 0; run < runs; run++)
      await store.runs.appendEvents(
        Array.from({ length: each }, (_, at) => ({
          runId: `r${run}`,
          eventType: 'Progress',
          payload: { at, text: 'a\0"b\n' },
        })),
      );
  };
  await append(5, 60);
  const target = directoryTarget(folder);
  const put: string[] = [];
  const sink = await startSink(setting, store, {
    pageSize: 100,
    stage: {
      name: NAME,
      target: {
        put: (name, content) => target.put(name, content).then(() => void put.push(name)),
        get: (name) => target.get(name),
        list: (prefix) => target.list(prefix),
        delete: (name) => target.delete(name),
      },
      fromEvents: 50,
    },
  });
  await until(() => sink.status().loaded >= 300, 'the large pages');
  expect(put.length).toBeGreaterThan(0);
  const files = put.length;
  await append(2, 5);
  await expectEqual(setting, store);
  expect(put.length, 'a small page is part of its request').toBe(files);
  await setting.settled();
  expect(readdirSync(folder).filter((name) => name.includes('page-'))).toEqual([]);
});

test('rejects a name of a stage that is not an identifier', async () => {
  const setting = await startFake();
  const target = directoryTarget('unused');
  const starting = startSink(setting, newStore(), { stage: { name: 'x; DROP TABLE y', target } });
  await expect(starting).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field: 'stage.name' });
});

/** Cases that the published suite lacks: `before`, branches, pruning, delta channels, large values, two processes. */
import type { Store } from '@tidemark/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENGINES } from '../../../scripts/adapters/engines.ts';
import { TidemarkSaver } from '../src/index.ts';
import { bytesOf, type Config, idOf, idsOf, prose, put, withPause } from './checkpoints.ts';

/** Too large for the record of its checkpoint. */
const LARGE = prose(1, 5_000);

async function keysOf(store: Store, prefix: string): Promise<string[]> {
  return Array.fromAsync(store.kv.scan(prefix, undefined, { keysOnly: true }), ({ key }) => key);
}

for (const [engine, openStore] of Object.entries(ENGINES)) {
  describe(`checkpoints on ${engine}`, () => {
    let store: Store;
    let saver: TidemarkSaver;
    beforeAll(async () => {
      store = await openStore();
      saver = new TidemarkSaver(store);
    });
    afterAll(() => store?.close());

    it('lists only checkpoints before another one, newest first', async () => {
      const thread: Config = { configurable: { thread_id: 'before' } };
      const configs: Config[] = [];
      for (let step = 0; step < 5; step++) configs.push(await put(saver, configs.at(-1) ?? thread, { step }));
      const ids = configs.map(idOf);
      expect(await idsOf(saver, thread, { before: configs[3] })).toEqual(ids.slice(0, 3).reverse());
      expect(await idsOf(saver, thread, { before: configs[3], limit: 2 })).toEqual([ids[2], ids[1]]);
      expect(await idsOf(saver, thread, { before: configs[0] })).toEqual([]);
    });

    it('counts matches of the filter towards the limit', async () => {
      const thread: Config = { configurable: { thread_id: 'filter' } };
      const configs: Config[] = [];
      for (let step = 0; step < 6; step++) {
        const metadata = { user: { name: step % 2 ? 'ada' : 'bob' } };
        configs.push(await put(saver, configs.at(-1) ?? thread, { step }, { metadata }));
      }
      const found = await idsOf(saver, thread, { filter: { user: { name: 'bob' } }, limit: 2 });
      expect(found).toEqual([idOf(configs[4]!), idOf(configs[2]!)]);
    });

    it('keeps the values of two branches apart that count their versions alike', async () => {
      const root = await put(
        saver,
        { configurable: { thread_id: 'branches' } },
        { text: `${LARGE}root` },
        { version: 1 },
      );
      const one = await put(saver, root, { text: `${LARGE}one` }, { version: 2 });
      const other = await put(saver, root, { text: `${LARGE}other` }, { version: 2 });
      for (const [config, text] of [
        [root, 'root'],
        [one, 'one'],
        [other, 'other'],
      ] as const) {
        expect((await saver.getTuple(config))!.checkpoint.channel_values.text).toBe(`${LARGE}${text}`);
      }
    });

    it('stores a large value once for all checkpoints that do not change it', async () => {
      const thread = 'shared';
      let config: Config = { configurable: { thread_id: thread } };
      config = await put(saver, config, { text: LARGE, step: 0 }, { version: 1 });
      for (let step = 1; step < 10; step++) {
        config = await put(saver, config, { text: LARGE, step }, { versions: { text: 1 }, changed: ['step'] });
      }
      expect(await keysOf(store, `tidemark.langgraph.blob.${thread}.`)).toHaveLength(1);
      // A process that never saw the parent reads which blobs it has.
      const other = new TidemarkSaver(store);
      const last = await put(other, config, { text: LARGE, step: 10 }, { versions: { text: 1 }, changed: ['step'] });
      expect(await keysOf(store, `tidemark.langgraph.blob.${thread}.`)).toHaveLength(1);
      expect((await saver.getTuple(last))!.checkpoint.channel_values).toEqual({ text: LARGE, step: 10 });
    });

    it('stores the first of several writes of a task, and the last of its errors', async () => {
      const config = await put(saver, { configurable: { thread_id: 'writes' } }, { a: 1 });
      await Promise.all(
        Array.from({ length: 8 }, (_, at) =>
          new TidemarkSaver(store).putWrites(
            config,
            [
              ['a', `a${at}`],
              ['b', `${LARGE.repeat(8)}${at}`],
            ],
            'task',
          ),
        ),
      );
      await saver.putWrites(config, [['__error__', 'first']], 'task');
      await saver.putWrites(config, [['__error__', 'second']], 'task');
      const writes = (await saver.getTuple(config))!.pendingWrites!;
      expect(writes.map(([, channel]) => channel)).toEqual(['__error__', 'a', 'b']);
      expect(writes[0]![2]).toBe('second');
      expect(String(writes[2]![2]).at(-1)).toBe(String(writes[1]![2]).at(-1));
      await saver.putWrites(
        config,
        [
          ['a', 'late'],
          ['b', 'late'],
        ],
        'task',
      );
      expect((await saver.getTuple(config))!.pendingWrites).toEqual(writes);
    });

    it('stores values and names that are larger than a field and a key', async () => {
      const config = { configurable: { thread_id: 'ü'.repeat(400), checkpoint_ns: 'deep|'.repeat(200) } };
      const text = 'x'.repeat(9_000_000);
      const stored = await put(saver, config, { text, ['c'.repeat(700)]: 1, __proto__: null } as Record<
        string,
        unknown
      >);
      const tuple = (await saver.getTuple(config))!;
      expect(tuple.config).toEqual(stored);
      expect(tuple.checkpoint.channel_values.text).toBe(text);
      expect(tuple.checkpoint.channel_values['c'.repeat(700)]).toBe(1);
      expect(await idsOf(saver, { configurable: { thread_id: 'ü'.repeat(400) } })).toEqual([idOf(stored)]);
    });

    it('lets a deleted thread begin again', async () => {
      const thread: Config = { configurable: { thread_id: 'again' } };
      const first = await put(saver, thread, { text: LARGE });
      await saver.putWrites(first, [['a', LARGE.repeat(8)]], 'task');
      await put(saver, { configurable: { thread_id: 'again', checkpoint_ns: 'child' } }, { text: LARGE });
      await saver.deleteThread('again');
      expect(await saver.getTuple(thread)).toBeUndefined();
      expect(await keysOf(store, 'tidemark.langgraph.blob.again.')).toEqual([]);
      expect(await keysOf(store, 'tidemark.langgraph.cp.again.')).toEqual([]);
      const second = await put(saver, thread, { text: 'new' });
      expect((await saver.getTuple(thread))!.config).toEqual(second);
    });

    it('prunes to the newest checkpoints and the values they need', async () => {
      const thread = 'prune';
      let config: Config = { configurable: { thread_id: thread } };
      config = await put(saver, config, { old: `${LARGE}kept`, text: `${LARGE}0` }, { version: 1 });
      for (let step = 1; step <= 8; step++) {
        const values = { old: `${LARGE}kept`, text: `${LARGE}${step}` };
        config = await put(saver, config, values, { versions: { old: 1, text: step + 1 }, changed: ['text'] });
      }
      expect(await bytesOf(store, thread)).toBeLessThan(3 * LARGE.length);
      expect(await saver.prune({ threadId: thread, keep: 2 })).toEqual({ checkpoints: 7, blobs: 0 });
      expect(await idsOf(saver, { configurable: { thread_id: thread } })).toHaveLength(2);
      expect((await saver.getTuple(config))!.checkpoint.channel_values).toEqual({
        old: `${LARGE}kept`,
        text: `${LARGE}8`,
      });
      expect(await saver.prune({ threadId: thread, keep: 1, olderThan: '1h' })).toEqual({ checkpoints: 0, blobs: 0 });
      await expect(saver.prune({ keep: 0 })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field: 'keep' });
    });

    it('keeps the ancestors that a delta channel is rebuilt from', async () => {
      let config: Config = { configurable: { thread_id: 'delta' } };
      const counters = { counters_since_delta_snapshot: { log: [1, 1] } };
      config = await put(saver, config, { log: ['too old'] });
      config = await put(saver, config, { log: ['seed'] }, { metadata: counters });
      for (const word of ['one', 'two', 'three']) {
        await saver.putWrites(config, [['log', word]], 'task');
        config = await put(saver, config, { step: word }, { metadata: counters });
      }
      const before = await saver.getDeltaChannelHistory({ config, channels: ['log'] });
      expect(before.log!.writes.map(([, , word]) => word)).toEqual(['one', 'two', 'three']);
      expect(await saver.prune({ threadId: 'delta', keep: 1 })).toMatchObject({ checkpoints: 1 });
      expect(await saver.getDeltaChannelHistory({ config, channels: ['log'] })).toEqual(before);
    });

    it('prunes subgraphs with the steps that they belong to', async () => {
      const root: Config = { configurable: { thread_id: 'subgraphs' } };
      let config = root;
      for (let step = 0; step < 3; step++) {
        config = await put(saver, config, { step });
        const child = { configurable: { thread_id: 'subgraphs', checkpoint_ns: `child:${step}` } };
        await put(saver, child, { text: LARGE }, { metadata: { parents: { '': idOf(config) } } });
      }
      await saver.prune({ threadId: 'subgraphs' });
      const left = await Array.fromAsync(saver.list({ configurable: { thread_id: 'subgraphs' } }));
      expect(left.map(({ config: it }) => it.configurable!.checkpoint_ns)).toEqual(['child:2', '']);
    });

    it('keeps the values of a checkpoint whose parent is pruned while it is stored', async () => {
      const thread = 'race';
      const values = { text: LARGE, step: 0 };
      const root = await put(saver, { configurable: { thread_id: thread } }, values, { version: 1 });
      // Pruning runs between the moment a writer reads which blobs its parent has, and the moment it refers to them.
      const before = (key: string) =>
        key.endsWith('.c') ? saver.prune({ threadId: thread }).then(() => {}) : undefined;
      const stalling = new TidemarkSaver(withPause(store, before));
      await put(saver, { configurable: { thread_id: thread } }, { text: 'newest' });
      const late = await put(stalling, root, { text: LARGE, step: 1 }, { versions: { text: 1 }, changed: ['step'] });
      expect(await saver.getTuple(root)).toBeUndefined();
      expect((await saver.getTuple(late))!.checkpoint.channel_values).toEqual({ text: LARGE, step: 1 });
    });

    it("' loses no value when a thread is pruned repeatedly during writes", async () => {
      const thread: Config = { configurable: { thread_id: 'beside' } };
      const root = await put(saver, thread, { text: LARGE, step: 0 }, { version: 1 });
      let isDone = false;
      const pruning = (async () => {
        while (!isDone) await new TidemarkSaver(store).prune({ threadId: 'beside', keep: 1 });
      })();
      let parent = root;
      for (let step = 1; step <= 20; step++) {
        const values = { text: LARGE, step };
        parent = await put(saver, step % 3 ? parent : root, values, { versions: { text: 1 }, changed: ['step'] });
        expect((await saver.getTuple(thread))!.checkpoint.channel_values.text).toBe(LARGE);
      }
      isDone = true;
      await pruning;
      expect((await saver.getTuple(parent))!.checkpoint.channel_values).toEqual({ text: LARGE, step: 20 });
    });

    it('compresses values on request and reads both forms', async () => {
      const small = new TidemarkSaver(store, { compress: true });
      const text = 'the same words again and again. '.repeat(5_000);
      const config = await put(small, { configurable: { thread_id: 'compressed' } }, { text });
      expect(await bytesOf(store, 'compressed')).toBeLessThan(text.length / 20);
      expect((await saver.getTuple(config))!.checkpoint.channel_values).toEqual({ text });
    });

    it('reports a checkpoint whose value is missing instead of passing over it', async () => {
      const config = await put(saver, { configurable: { thread_id: 'damaged' } }, { text: LARGE });
      for (const key of await keysOf(store, 'tidemark.langgraph.blob.damaged.')) await store.kv.delete(key);
      // The saver that stored the value may still have it in its cache.
      await expect(new TidemarkSaver(store).getTuple(config)).rejects.toMatchObject({ code: 'CORRUPT_VALUE' });
    });

    it('names what is missing in a configuration', async () => {
      await expect(put(saver, { configurable: {} } as Config, {})).rejects.toMatchObject({
        field: 'configurable.thread_id',
      });
      await expect(put(saver, { configurable: { thread_id: '' } }, {})).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
      expect(() => new TidemarkSaver({} as Store)).toThrow('store must be an open Tidemark store');
    });
  });
}

/** Values that share pieces: random histories, pruning, writers and prunes at the same time, and data of earlier versions. */
import { readFileSync } from 'node:fs';
import { BaseMessage } from '@langchain/core/messages';
import { emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint';
import type { Store } from '@tidemark/core';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENGINES } from '../../../scripts/adapters/engines.ts';
import { TidemarkSaver } from '../src/index.ts';
import { bytesOf, type Config, idOf, idsOf, prose, put, withPause } from './checkpoints.ts';

const TURNS = 60;
const threadOf = (thread_id: string): Config => ({ configurable: { thread_id } });

async function recordsOf(store: Store, thread: string): Promise<string[]> {
  const keys = await Array.fromAsync(store.kv.scan('tidemark.langgraph.', undefined, { keysOnly: true }));
  return keys.map(({ key }) => key).filter((key) => key.includes(`.${thread}.`));
}

/** Stores a chat of which each step adds a message, and returns the configurations of its checkpoints. */
async function chat(
  saver: TidemarkSaver,
  thread: string,
  turns = TURNS,
): Promise<{ configs: Config[]; log: string[] }> {
  const log: string[] = [];
  const configs: Config[] = [];
  for (let turn = 0; turn < turns; turn++) {
    log.push(prose(turn, 100));
    configs.push(await put(saver, configs.at(-1) ?? threadOf(thread), { log: [...log], turn }));
  }
  return { configs, log };
}

const step = fc.record({
  kind: fc.constantFrom('append', 'append', 'replace', 'remove', 'same', 'fork', 'prune', 'restart'),
  at: fc.nat(100),
  words: fc.constantFrom(5, 100, 2_500),
});

for (const [engine, openStore] of Object.entries(ENGINES)) {
  describe(`values that share pieces on ${engine}`, () => {
    let store: Store;
    beforeAll(async () => {
      store = await openStore();
    });
    afterAll(() => store?.close());

    it('need a small part of the space of whole values, and are read by a saver that did not write them', async () => {
      const { configs, log } = await chat(new TidemarkSaver(store), 'growing');
      const whole = log.reduce((sum, text, at) => sum + text.length * (log.length - at), 0);
      expect(await bytesOf(store, 'growing')).toBeLessThan(whole / 4);
      const reader = new TidemarkSaver(store);
      for (const at of [TURNS - 1, 0, 20, 41]) {
        const { channel_values } = (await reader.getTuple(configs[at]!))!.checkpoint;
        expect(channel_values).toEqual({ log: log.slice(0, at + 1), turn: at });
      }
      const listed = await Array.fromAsync(reader.list(threadOf('growing')));
      expect(listed.map(({ checkpoint }) => (checkpoint.channel_values.log as string[]).length)).toEqual(
        Array.from({ length: TURNS }, (_, at) => TURNS - at),
      );
    });

    it('are pruned to about the size of the values that remain', async () => {
      const saver = new TidemarkSaver(store);
      const { configs, log } = await chat(saver, 'pruned');
      await saver.prune({ threadId: 'pruned', keep: 1 });
      const size = JSON.stringify(log).length;
      expect(await bytesOf(store, 'pruned')).toBeLessThan(2 * size + 10_000);
      expect(await idsOf(saver, threadOf('pruned'))).toEqual([idOf(configs.at(-1)!)]);
      const { channel_values } = (await new TidemarkSaver(store).getTuple(threadOf('pruned')))!.checkpoint;
      expect(channel_values.log).toEqual(log);
      await put(saver, configs.at(-1)!, { log: ['short'], turn: TURNS });
      await saver.prune({ threadId: 'pruned', keep: 1 });
      expect(await bytesOf(store, 'pruned')).toBeLessThan(2_000);
      expect(await recordsOf(store, 'pruned')).toHaveLength(1);
      await saver.deleteThread('pruned');
      expect(await recordsOf(store, 'pruned')).toEqual([]);
    });

    it('are those that were stored, after any changes, forks, restarts and prunes', async () => {
      let count = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
          const view = store.forTenant(`random-${count++}`);
          let saver = new TidemarkSaver(view, { compress: count % 3 === 0 });
          let log: string[] = [];
          let parent = threadOf('random');
          const stored = new Map<string, string[]>();
          for (const [at, { kind, at: place, words }] of steps.entries()) {
            if (kind === 'restart') saver = new TidemarkSaver(view);
            if (kind === 'prune') {
              await saver.prune({ threadId: 'random', keep: 2 });
              const left = new Set(await idsOf(saver, threadOf('random')));
              for (const id of stored.keys()) if (!left.has(id)) stored.delete(id);
              if (stored.size > 0) parent = latestOf(stored);
            }
            if (kind === 'fork' && stored.size > 0) {
              const id = [...stored.keys()][place % stored.size]!;
              parent = { configurable: { thread_id: 'random', checkpoint_id: id } };
            }
            log = [...(stored.get(parent.configurable.checkpoint_id ?? '') ?? [])];
            if (kind === 'append') log.push(prose(at, words));
            if (kind === 'replace') log.splice(place % (log.length + 1), 1, prose(-at, words));
            if (kind === 'remove') log.splice(place % (log.length + 1), 2);
            parent = await put(saver, parent, { log, at });
            stored.set(idOf(parent), log);
          }
          for (const reader of [saver, new TidemarkSaver(view)]) {
            for (const [checkpoint_id, log] of stored) {
              const tuple = await reader.getTuple({ configurable: { thread_id: 'random', checkpoint_id } });
              expect(tuple!.checkpoint.channel_values.log).toEqual(log);
            }
          }
          await saver.deleteThread('random');
          expect(await recordsOf(view, 'random')).toEqual([]);
        }),
        { numRuns: engine === 'memory' || engine === 'sqlite' ? 25 : 6, seed: 7 },
      );
    });

    it('survive their checkpoint if another one is stored with its id', async () => {
      const saver = new TidemarkSaver(store);
      const { configs, log } = await chat(saver, 'twice', 8);
      const parent = configs[5]!;
      const again = {
        ...emptyCheckpoint(),
        id: idOf(configs[6]!),
        channel_values: { log: ['other', prose(99, 400)] },
        channel_versions: { log: 7 },
      };
      await new TidemarkSaver(store).put(parent, again, { source: 'loop', step: 6, parents: {} }, { log: 7 });
      const reader = new TidemarkSaver(store);
      expect((await reader.getTuple(configs[6]!))!.checkpoint.channel_values.log).toEqual(again.channel_values.log);
      expect((await reader.getTuple(configs[7]!))!.checkpoint.channel_values.log).toEqual(log);
    });

    it('are complete when the thread is pruned repeatedly while it grows', async () => {
      let isDone = false;
      const pruning = (async () => {
        while (!isDone) await new TidemarkSaver(store).prune({ threadId: 'busy', keep: 1 });
      })();
      const [one, other] = [new TidemarkSaver(store), new TidemarkSaver(store)];
      const log: string[] = [];
      let parent = threadOf('busy');
      for (let turn = 0; turn < 40; turn++) {
        log.push(prose(turn, turn % 7 === 0 ? 2_500 : 60));
        parent = await put(turn % 3 ? one : other, parent, { log: [...log] });
        expect((await one.getTuple(parent))!.checkpoint.channel_values.log).toEqual(log);
      }
      isDone = true;
      await pruning;
      expect((await new TidemarkSaver(store).getTuple(parent))!.checkpoint.channel_values.log).toEqual(log);
    });

    it('are stored again if their parent is pruned while they are stored', async () => {
      const { configs, log } = await chat(new TidemarkSaver(store), 'gone', 20);
      // Pruning runs after the writer has read where the values of its parent are, and before it refers to them.
      let isPruned = false;
      const pausing = withPause(store, async (key) => {
        if (isPruned || !key.endsWith('.c')) return;
        isPruned = true;
        await put(new TidemarkSaver(store), configs.at(-1)!, { log: ['newest'] });
        await new TidemarkSaver(store).prune({ threadId: 'gone', keep: 1 });
      });
      const late = await put(new TidemarkSaver(pausing), configs.at(-1)!, { log: [...log, 'late'] });
      expect(isPruned).toBe(true);
      const reader = new TidemarkSaver(store);
      expect(await reader.getTuple(configs.at(-1)!)).toBeUndefined();
      expect((await reader.getTuple(late))!.checkpoint.channel_values.log).toEqual([...log, 'late']);
    });

    it('are stored again if their parent was stored again and its first blobs were deleted', async () => {
      const { configs, log } = await chat(new TidemarkSaver(store), 'again', 8);
      const late = new TidemarkSaver(store);
      await late.getTuple(configs.at(-1)!);
      // Another process prunes the checkpoint that `late` remembers, and the same one is then stored with new blobs.
      await put(new TidemarkSaver(store), configs.at(-1)!, { log: ['newest'] });
      const dropped = (await new TidemarkSaver(store).getTuple(configs.at(-1)!))!;
      await new TidemarkSaver(store).prune({ threadId: 'again', keep: 1 });
      await new TidemarkSaver(store).put(threadOf('again'), dropped.checkpoint, dropped.metadata!, { log: 8, turn: 8 });
      const next = await put(late, configs.at(-1)!, { log: [...log, 'late'] });
      const { channel_values } = (await new TidemarkSaver(store).getTuple(next))!.checkpoint;
      expect(channel_values.log).toEqual([...log, 'late']);
    });

    it('are deleted later if a process dies while it prunes', async () => {
      const { configs, log } = await chat(new TidemarkSaver(store), 'died', 20);
      await put(new TidemarkSaver(store), configs.at(-1)!, { log: ['short'] });
      const kv = Object.create(store.kv) as Store['kv'];
      for (const name of ['scanPage', 'deletePrefix', 'setFields', 'get'] as const)
        Object.defineProperty(kv, name, { value: store.kv[name].bind(store.kv) });
      kv.scan = () => {
        throw new Error('killed');
      };
      const dying = new TidemarkSaver({ kv, info: store.info } as unknown as Store);
      await expect(dying.prune({ threadId: 'died', keep: 1 })).rejects.toThrow('killed');
      expect(await idsOf(new TidemarkSaver(store), threadOf('died'))).toHaveLength(1);
      expect(await bytesOf(store, 'died')).toBeGreaterThan(log.join('').length);
      await new TidemarkSaver(store).prune({ threadId: 'died', keep: 1 });
      expect(await bytesOf(store, 'died')).toBeLessThan(2_000);
    });

    it('are deleted with their thread if their checkpoint was never stored, and so is the mark of a fence', async () => {
      const saver = new TidemarkSaver(store, { fence: true });
      const root = await put(saver, threadOf('left over'), { log: [] });
      const never = { configurable: { ...root.configurable, checkpoint_id: '1f0-never' } };
      await saver.putWrites(never, [['log', prose(1, 40_000)]], 'task');
      await store.kv.setFields(`tidemark.langgraph.cp.left=0020over.=.1f0-fenced.c`, { fenced: 'by' });
      await saver.deleteThread('left over');
      expect(await recordsOf(store, 'left=0020over')).toEqual([]);
    });

    it('are kept by pruning if a pending write has them, and deleted if nothing needs them after ten minutes', async () => {
      const saver = new TidemarkSaver(store);
      const config = await put(saver, threadOf('old'), { log: [prose(1, 5_000)] });
      await saver.putWrites(config, [['log', prose(2, 40_000)]], 'task');
      const keys = await recordsOf(store, 'old');
      const large = keys.filter((key) => key.startsWith('tidemark.langgraph.blob.'));
      expect(large).toHaveLength(2);
      const orphan = large[0]!.replace(/.$/, 'x');
      await store.kv.put(orphan, { v: 'x', at: Date.now() });
      for (const key of large) await store.kv.setField(key, 'at', Date.now() - 11 * 60_000);
      await saver.prune({ threadId: 'old' });
      expect(await recordsOf(store, 'old')).toEqual([...keys, orphan].sort());
      await store.kv.setField(orphan, 'at', Date.now() - 11 * 60_000);
      expect(await saver.prune({ threadId: 'old' })).toEqual({ checkpoints: 0, blobs: 1 });
      expect(await recordsOf(store, 'old')).toEqual(keys);
      const reader = new TidemarkSaver(store);
      expect((await reader.getTuple(config))!.pendingWrites).toEqual([['task', 'log', prose(2, 40_000)]]);
    });

    it('continue a thread of an earlier version', async () => {
      const path = new URL('./format-1.json', import.meta.url);
      const records = JSON.parse(readFileSync(path, 'utf8')) as Record<string, Record<string, string>>;
      for (const [key, fields] of Object.entries(records)) {
        const bytes = Object.entries(fields).map(([name, value]) => [name, Buffer.from(value, 'base64')] as const);
        await store.kv.put(key, Object.fromEntries(bytes));
      }
      const thread = threadOf('old chat');
      const saver = new TidemarkSaver(store);
      const tuple = (await saver.getTuple(thread))!;
      const messages = tuple.checkpoint.channel_values.messages as BaseMessage[];
      expect(messages.map(({ id }) => id)).toEqual(['m1', 'm2', 'm3', 'm4', 'm5']);
      expect(messages.every((message) => BaseMessage.isInstance(message))).toBe(true);
      expect(tuple.checkpoint.channel_values.topic).toBe('tides');
      expect(tuple.pendingWrites).toHaveLength(2);
      expect(await idsOf(saver, thread)).toHaveLength(5);
      // The next checkpoint shares the old blob.
      const before = await bytesOf(store, 'old=0020chat');
      const next = [...messages.map(({ text }) => text), 'more'];
      const checkpoint = { ...emptyCheckpoint(), id: uuid6(1), channel_versions: { messages: 6, topic: 1 } };
      const values = { messages: [...messages, ...messages.slice(0, 1)], topic: 'tides' };
      const config = await saver.put(
        tuple.config,
        { ...checkpoint, channel_values: values },
        { source: 'loop', step: 6, parents: {} },
        { messages: 6 },
      );
      expect((await bytesOf(store, 'old=0020chat')) - before).toBeLessThan(1_600);
      await saver.prune({ threadId: 'old chat', keep: 1 });
      const read = (await new TidemarkSaver(store).getTuple(config))!.checkpoint.channel_values;
      expect((read.messages as BaseMessage[]).map(({ text }) => text)).toEqual([...next.slice(0, 5), next[0]]);
      expect(await idsOf(saver, thread)).toHaveLength(1);
      await saver.deleteThread('old chat');
      expect(await recordsOf(store, 'old=0020chat')).toEqual([]);
    });
  });
}

function latestOf(stored: ReadonlyMap<string, unknown>): Config {
  const checkpoint_id = [...stored.keys()].sort().at(-1)!;
  return { configurable: { thread_id: 'random', checkpoint_id } };
}

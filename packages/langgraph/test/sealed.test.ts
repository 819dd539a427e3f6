/** Checkpoints and memory in a store that encrypts. */
import { type Checkpoint, type CheckpointMetadata, emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint';
import { encryption, memoryStore, type Store } from '@tidemark/core';
import { expect, it } from 'vitest';
import { testSealing } from '../../../scripts/adapters/sealed.ts';
import { TidemarkSaver, TidemarkStore } from '../src/index.ts';

const THREAD = { configurable: { thread_id: 'chat-7' } };
const SECRETS = [
  'inline-secret',
  'blob-secret',
  'large-blob-secret',
  'write-secret',
  'large-write-secret',
  'piece-secret',
  'metadata-secret',
  'memory-secret',
  'large-memory-secret',
];
const [inline, blob, largeBlob, written, largeWrite, piece, metadata, memory, largeMemory] = SECRETS as [
  string,
  ...string[],
];
const long = (text: string | undefined, size: number) => `${text} ${'x'.repeat(size)}`;

testSealing(SECRETS, async (store) => {
  const saver = new TidemarkSaver(store);
  const values = { short: inline, text: long(blob, 5_000), large: long(largeBlob, 20_000) };
  const versions = { short: 1, text: 1, large: 1 };
  const checkpoint: Checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(1),
    channel_values: values,
    channel_versions: versions,
  };
  const about = { source: 'loop', step: 1, parents: {}, note: metadata } as CheckpointMetadata;
  const config = await saver.put(THREAD, checkpoint, about, versions);
  await saver.putWrites(
    config,
    [
      ['short', written],
      ['text', long(largeWrite, 200_000)],
    ],
    'task',
  );
  // Of the text, only the end is new.
  const grown = {
    ...checkpoint,
    id: uuid6(2),
    channel_values: { ...values, text: `${values.text}${long(piece, 1_500)}` },
    channel_versions: { ...versions, text: 2 },
  };
  await new TidemarkSaver(store).put(config, grown, { ...about, step: 2 }, { text: 2 });
  const items = new TidemarkStore(store);
  await items.put(['users'], 'ada', { likes: memory });
  await items.put(['users'], 'ada', { likes: memory, story: long(largeMemory, 600_000) });
  return {
    async read() {
      const tuples = await Array.fromAsync(new TidemarkSaver(store).list(THREAD));
      return JSON.stringify([tuples, await new TidemarkStore(store).search(['users'])]);
    },
  };
});

it('reads a thread that was begun before the store encrypted', async () => {
  const keys = { now: new Uint8Array(32).fill(7) };
  const codec = encryption({ keys, current: 'now', required: false });
  const store: Store = memoryStore({ codec });
  const plain = { ...viewOf(store), info: { ...store.info, encrypts: false } } as unknown as Store;
  const [before, after] = [new TidemarkSaver(plain), new TidemarkSaver(store)];
  const about: CheckpointMetadata = { source: 'loop', step: 1, parents: {} };
  const first = { ...emptyCheckpoint(), id: uuid6(1), channel_values: { a: long('old', 5_000), b: 1 } };
  const config = await before.put(THREAD, { ...first, channel_versions: { a: 1, b: 1 } }, about, { a: 1, b: 1 });
  const second = { ...first, id: uuid6(2), channel_values: { a: long('old', 5_000), b: 2 } };
  await after.put(config, { ...second, channel_versions: { a: 1, b: 2 } }, about, { b: 2 });
  expect((await after.getTuple(THREAD))!.checkpoint.channel_values).toEqual(second.channel_values);
  const { items } = await store.kv.scanPage('tidemark.langgraph.', { limit: 10 });
  expect(items.map(({ record }) => (record.sealed ?? []).length > 0)).toEqual([false, true]);
  await after.prune({ threadId: 'chat-7', keep: 1 });
  expect((await after.getTuple(THREAD))!.checkpoint.channel_values).toEqual(second.channel_values);
});

function viewOf({ kv }: Store): Partial<Store> {
  return { kv };
}

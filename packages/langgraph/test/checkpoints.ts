/** Stores sample checkpoints. */
import { type Checkpoint, type CheckpointMetadata, emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint';
import type { Store } from '@tidemark/core';
import type { TidemarkSaver } from '../src/index.ts';

export type Config = { configurable: { thread_id: string; checkpoint_ns?: string; checkpoint_id?: string } };

let clock = 0;

/** Stores a checkpoint with these values, all of them changed, and returns its configuration. */
export async function put(
  saver: TidemarkSaver,
  config: Config,
  values: Record<string, unknown>,
  {
    version = clock + 1,
    metadata = {},
    changed = Object.keys(values) as string[],
    versions = {} as Record<string, number>,
  } = {},
): Promise<Config> {
  const all = Object.fromEntries(Object.keys(values).map((name) => [name, versions[name] ?? version]));
  const checkpoint: Checkpoint = {
    ...emptyCheckpoint(),
    id: uuid6(clock++),
    channel_values: values,
    channel_versions: all,
  };
  const newVersions = Object.fromEntries(changed.map((name) => [name, all[name]!]));
  const whole = { source: 'loop', step: clock, parents: {}, ...metadata } as CheckpointMetadata;
  return (await saver.put(config, checkpoint, whole, newVersions)) as Config;
}

export const idOf = (config: { configurable?: Record<string, unknown> }) =>
  config.configurable!.checkpoint_id as string;

export async function idsOf(saver: TidemarkSaver, config: object, options = {}): Promise<string[]> {
  return (await Array.fromAsync(saver.list(config, options))).map(({ config: it }) => idOf(it));
}

/** Text that compresses and repeats about as much as prose does. */
export function prose(seed: number, words: number): string {
  let state = seed * 2_654_435_761 + 1;
  const next = () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state;
  };
  return Array.from({ length: words }, () => (next() % 50_000).toString(36)).join(' ');
}

/** Returns the number of bytes in the records of a thread, without keys. */
export async function bytesOf(store: Store, thread: string): Promise<number> {
  let bytes = 0;
  for await (const { key, record } of store.kv.scan('tidemark.langgraph.')) {
    if (!key.includes(`.${thread}.`)) continue;
    for (const value of Object.values(record.fields)) bytes += value.length;
  }
  return bytes;
}

/** A store that waits before it writes a record. */
export function withPause(store: Store, before: (key: string) => Promise<void> | undefined): Store {
  const kv = Object.create(store.kv) as Store['kv'];
  kv.put = async (key, ...rest) => {
    await before(key);
    return store.kv.put(key, ...rest);
  };
  kv.setFields = async (key, ...rest) => {
    await before(key);
    return store.kv.setFields(key, ...rest);
  };
  kv.swap = async (key, ...rest) => {
    await before(key);
    return store.kv.swap(key, ...rest);
  };
  kv.batch = async (operations, ...rest) => {
    for (const { key } of operations) await before(key);
    return store.kv.batch(operations, ...rest);
  };
  for (const name of ['get', 'getMany', 'getField', 'scan', 'scanPage', 'delete'] as const) {
    Object.defineProperty(kv, name, { value: store.kv[name].bind(store.kv) });
  }
  return { kv, info: store.info } as unknown as Store;
}

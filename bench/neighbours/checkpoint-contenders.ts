/** Checkpoint savers of LangGraph, through their public API. */
import { type CheckpointsContender, load, type MemoryContender } from './kinds.ts';

export interface Saver {
  put(config: object, checkpoint: object, metadata: object, newVersions: object): Promise<unknown>;
  getTuple(config: object): Promise<unknown>;
}

interface CheckpointModule {
  emptyCheckpoint(): object;
  uuid6(clock: number): string;
}

export async function checkpointsIn(
  name: string,
  saver: Saver,
  close: () => Promise<unknown>,
): Promise<CheckpointsContender> {
  const { emptyCheckpoint, uuid6 } = await load<CheckpointModule>('@langchain/langgraph-checkpoint');
  const configOf = (thread: string) => ({ configurable: { thread_id: thread, checkpoint_ns: '' } });
  return {
    name,
    put: (thread, step) => {
      const messages = [`message ${step} of ${thread}`, 'charging the card of a customer'];
      const state = { channel_values: { messages }, channel_versions: { messages: step + 1 } };
      const checkpoint = { ...emptyCheckpoint(), id: uuid6(step), ...state };
      return saver.put(configOf(thread), checkpoint, { source: 'loop', step, parents: {} }, state.channel_versions);
    },
    latest: (thread) => saver.getTuple(configOf(thread)),
    close,
  };
}

interface PostgresSaverModule {
  PostgresSaver: { fromConnString(url: string): Saver & { setup(): Promise<unknown>; end(): Promise<unknown> } };
}

export async function langgraphSaver(url: string): Promise<CheckpointsContender> {
  const { PostgresSaver } = await load<PostgresSaverModule>('@langchain/langgraph-checkpoint-postgres');
  const saver = PostgresSaver.fromConnString(url);
  await saver.setup();
  return checkpointsIn('langgraph saver', saver, () => saver.end());
}

interface PostgresStoreModule {
  PostgresStore: {
    fromConnString(url: string): {
      setup(): Promise<unknown>;
      put(namespace: string[], key: string, value: object): Promise<unknown>;
      get(namespace: string[], key: string): Promise<unknown>;
      stop(): Promise<unknown>;
    };
  };
}

export async function langgraphStore(url: string): Promise<MemoryContender> {
  const { PostgresStore } = await load<PostgresStoreModule>('@langchain/langgraph-checkpoint-postgres/store');
  const store = PostgresStore.fromConnString(url);
  await store.setup();
  return {
    name: 'langgraph store',
    save: (key, state) => store.put(['memory'], key, state),
    load: (key) => store.get(['memory'], key),
    close: () => store.stop(),
  };
}

/** Event stores and checkpoint savers, each through its public API. */
import type { Store } from '@tidemark/core';
import { TidemarkSaver } from '@tidemark/langgraph';
import { makeEvents } from '../events.ts';
import { load } from './contenders.ts';

/** A store of events by run. */
export interface EventsContender {
  name: string;
  append(runId: string): Promise<unknown>;
  appendMany(runId: string, count: number): Promise<unknown>;
  /** Returns the number of events of a run. */
  read(runId: string): Promise<number>;
  close(): Promise<unknown>;
}

/** A store of checkpoints by thread. */
export interface CheckpointsContender {
  name: string;
  put(thread: string, step: number): Promise<unknown>;
  latest(thread: string): Promise<unknown>;
  close(): Promise<unknown>;
}

export function tidemarkEvents(store: Store): EventsContender {
  return {
    name: 'tidemark',
    append: (runId) => store.runs.appendEvent(makeEvents(1, () => runId)[0]!),
    appendMany: (runId, count) => store.runs.appendEvents(makeEvents(count, () => runId)),
    read: async (runId) => (await store.runs.fetchEvents(runId, { limit: 10_000 })).length,
    close: () => store.close(),
  };
}

interface EmmettModule {
  getPostgreSQLEventStore(url: string): {
    appendToStream(stream: string, events: object[]): Promise<unknown>;
    readStream(stream: string): Promise<{ events: unknown[] }>;
    close(): Promise<unknown>;
  };
}

export async function emmett(url: string): Promise<EventsContender> {
  const { getPostgreSQLEventStore } = await load<EmmettModule>('@event-driven-io/emmett-postgresql');
  const store = getPostgreSQLEventStore(url);
  const eventsOf = (runId: string, count: number) =>
    makeEvents(count, () => runId).map(({ eventType: type, payload, ...metadata }) => ({
      ...{ type, data: payload, metadata },
    }));
  /** Concurrent appends to one stream conflict, so a caller retries. */
  const append = async (runId: string, count: number): Promise<unknown> => {
    const events = eventsOf(runId, count);
    for (;;) {
      try {
        return await store.appendToStream(runId, events);
      } catch (error) {
        if (!String((error as Error).message).includes('does not match')) throw error;
      }
    }
  };
  return {
    name: 'emmett',
    append: (runId) => append(runId, 1),
    appendMany: append,
    read: async (runId) => (await store.readStream(runId)).events.length,
    close: () => store.close(),
  };
}

interface Saver {
  put(config: object, checkpoint: object, metadata: object, newVersions: object): Promise<unknown>;
  getTuple(config: object): Promise<unknown>;
}

interface CheckpointModule {
  emptyCheckpoint(): object;
  uuid6(clock: number): string;
}

async function checkpointsIn(name: string, saver: Saver, close: () => Promise<unknown>): Promise<CheckpointsContender> {
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

export function tidemarkCheckpoints(store: Store): Promise<CheckpointsContender> {
  return checkpointsIn('tidemark', new TidemarkSaver(store) as unknown as Saver, () => store.close());
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

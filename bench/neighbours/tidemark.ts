/** Tidemark as a contender of each kind, through the API that users call. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject, Store } from '@tidemark/core';
import { TidemarkSaver } from '@tidemark/langgraph';
import { createSweeper, createWorker } from '@tidemark/runtime';
import { makeEvents } from '../events.ts';
import { checkpointsIn, type Saver } from './checkpoint-contenders.ts';
import {
  type CheckpointsContender,
  type Contenders,
  countdown,
  type EventsContender,
  type JobsContender,
  type KvContender,
  type MemoryContender,
  type PausesContender,
  repeat,
} from './kinds.ts';

const NAME = 'tidemark';
const TYPE = 'bench';
/** A type of its own, so that workers of other scenarios do not claim what a sweep is about to find. */
const SWEPT_TYPE = 'swept';

function events(store: Store): EventsContender {
  const { runs } = store;
  const eventOf = (runId: string) => makeEvents(1, () => runId)[0]!;
  return {
    name: NAME,
    append: (runId) => runs.appendEvent(eventOf(runId)),
    appendOnce: (runId, key) => runs.appendEvent({ ...eventOf(runId), idempotencyKey: key }),
    appendMany: (runId, count) => runs.appendEvents(makeEvents(count, () => runId)),
    read: async (runId) => (await runs.fetchEvents(runId, { limit: 10_000 })).length,
    async follow(runId, received) {
      const stop = new AbortController();
      const ended = (async () => {
        for await (const _ of runs.tail(runId, { signal: stop.signal })) received();
      })();
      return () => {
        stop.abort();
        return ended;
      };
    },
    project: (runId) => runs.refreshSnapshot(runId),
    snapshot: (runId) => runs.getSnapshot(runId),
    close: () => store.close(),
  };
}

function checkpoints(store: Store): Promise<CheckpointsContender> {
  return checkpointsIn(NAME, new TidemarkSaver(store) as unknown as Saver, () => store.close());
}

function kv(store: Store): KvContender {
  return {
    name: NAME,
    set: (key, value) => store.kv.setField(key, 'value', value),
    get: (key) => store.kv.getField(key, 'value'),
    swap: (key, expected, next) => store.kv.compareAndSwap(key, 'value', expected, next),
    close: () => store.close(),
  };
}

function jobs(store: Store): JobsContender {
  let [waiting, made] = [0, 0];
  return {
    name: NAME,
    enqueue: (taskId) => store.jobs.enqueue({ taskType: TYPE, taskId }),
    async work(workers, count) {
      const done = countdown(count);
      // The signal is published once the end of a job is stored.
      const publish = async (subject: string) => {
        if (subject.endsWith('.terminal')) done.one();
      };
      const handler = async () => {};
      const worker = createWorker({ store, taskType: TYPE, concurrency: workers, pollEvery: 100, handler, publish });
      worker.start();
      await done.all;
      await worker.stop();
    },
    async abandon(count, others) {
      const missing = count + others - waiting;
      const enqueue = () => store.jobs.enqueue({ taskType: SWEPT_TYPE, taskId: `swept-${made++}`, maxRetries: 100 });
      await repeat(missing, enqueue);
      const claim = () => store.jobs.claim({ taskType: SWEPT_TYPE }, { worker: 'bench', lease: '1s' });
      await Promise.all(Array.from({ length: count }, claim));
      waiting = others;
      await sleep(1_100);
    },
    async sweep() {
      const { types } = await createSweeper({ store, threshold: '1d', limit: 1_000 }).run();
      const requeued = types[SWEPT_TYPE]?.requeued ?? 0;
      waiting += requeued;
      return requeued;
    },
    close: () => store.close(),
  };
}

function pauses(store: Store): PausesContender {
  return {
    name: NAME,
    async roundTrip(token, payload) {
      await store.agents.savePlannerState(token, payload as JsonObject);
      return store.agents.loadPlannerState(token);
    },
    close: () => store.close(),
  };
}

function memory(store: Store): MemoryContender {
  return {
    name: NAME,
    save: (key, state) => store.agents.saveMemoryState(key, state as JsonObject),
    load: (key) => store.agents.loadMemoryState(key),
    close: () => store.close(),
  };
}

export const TIDEMARK: { [It in keyof Contenders]: (store: Store) => Contenders[It] | Promise<Contenders[It]> } = {
  events,
  checkpoints,
  kv,
  jobs,
  pauses,
  memory,
};

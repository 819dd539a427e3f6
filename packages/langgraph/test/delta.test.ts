/** Delta channels in a real graph: their values are rebuilt from writes, even after pruning and in another process. */
import { Annotation, DeltaChannel, END, START, StateGraph } from '@langchain/langgraph';
import type { Store } from '@tidemark/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ENGINES } from '../../../scripts/adapters/engines.ts';
import { TidemarkSaver } from '../src/index.ts';

const TURNS = 12;
const SNAPSHOT_EVERY = 5;

function buildGraph(checkpointer: TidemarkSaver) {
  const join = (log: string[], writes: string[][]) => log.concat(...writes);
  const channel = new DeltaChannel<string[], string[]>(join, {
    snapshotFrequency: SNAPSHOT_EVERY,
    initialValueFactory: () => [],
  });
  const State = Annotation.Root({ log: (() => channel) as never });
  return new StateGraph(State as never)
    .addNode('answer', ((state: { log: string[] }) => ({ log: [`answer ${state.log.length}`] })) as never)
    .addEdge(START, 'answer' as never)
    .addEdge('answer' as never, END)
    .compile({ checkpointer });
}

for (const [engine, openStore] of Object.entries(ENGINES)) {
  describe(`a graph with a delta channel on ${engine}`, () => {
    let store: Store;
    beforeAll(async () => {
      store = await openStore();
    });
    afterAll(() => store?.close());

    it('reads its whole log from another saver, even after pruning', async () => {
      const config = { configurable: { thread_id: 'delta' } };
      const wanted: string[] = [];
      for (let turn = 0; turn < TURNS; turn++) {
        wanted.push(`ask ${turn}`, `answer ${wanted.length + 1}`);
        // Each turn has a new saver, as a new process would.
        const result = await buildGraph(new TidemarkSaver(store)).invoke({ log: [`ask ${turn}`] } as never, config);
        expect((result as { log: string[] }).log).toEqual(wanted);
        if (turn % 4 === 3) await new TidemarkSaver(store).prune({ threadId: 'delta', keep: 1 });
      }
      const saver = new TidemarkSaver(store);
      const tuple = (await saver.getTuple(config))!;
      const state = await buildGraph(saver).getState(config);
      expect((state.values as { log: string[] }).log).toEqual(wanted);
      // The graph does use deltas: the last checkpoint does not contain the log, and pruning has kept others.
      expect(tuple.checkpoint.channel_values.log).toBeUndefined();
      const left = await Array.fromAsync(saver.list(config));
      expect(left.length).toBeGreaterThan(1);
      expect(left.length).toBeLessThan(3 * TURNS);
    });
  });
}

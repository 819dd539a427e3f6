/** Runs the graph on a store until it is killed: the step named by the argument kills the process. */
import { appendFileSync } from 'node:fs';
import { openTarget } from '../../../scripts/adapters/targets.ts';
import { TidemarkSaver } from '../src/index.ts';
import { buildGraph, resumeWith } from './graph.ts';

const [target, steps, killAt] = process.argv.slice(2) as [string, string, string];
const store = await openTarget(target);
const graph = buildGraph(new TidemarkSaver(store), async (name) => {
  appendFileSync(steps, `${name}\n`);
  if (name !== killAt) return;
  // LangGraph starts a step while the checkpoint of the previous step is still being stored.
  await new Promise((resolve) => setTimeout(resolve, 500));
  process.kill(process.pid, 'SIGKILL');
});
const config = { configurable: { thread_id: 'killed' } };
const state = await graph.getState(config);
const isWaiting = state.tasks.some(({ interrupts }) => interrupts.length > 0);
// `null` continues a thread after its last stored step.
const input = isWaiting ? resumeWith('yes') : state.values.log === undefined ? { log: [] } : null;
await graph.invoke(input as never, config);
await store.close();

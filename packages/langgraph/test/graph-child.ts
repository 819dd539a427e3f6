/** Runs the graph on a SQLite file until it is killed: the step named by the argument kills the process. */
import { appendFileSync } from 'node:fs';
import { sqliteStore } from '@tidemark/sqlite';
import { TidemarkSaver } from '../src/index.ts';
import { buildGraph, resumeWith } from './graph.ts';

const [path, steps, killAt] = process.argv.slice(2) as [string, string, string];
const store = await sqliteStore(path);
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

/**
 * A process that maintains derived state, by a subscription or a projector, and kills itself at a named point. Without
 * `--point` it finishes all work and exits. `--what --path --point --hit`.
 */
import { parseArgs } from 'node:util';
import type { Store } from '@tidemark/core';
import { createProjector, subscribe } from '@tidemark/runtime';
import { sqliteStore } from '@tidemark/sqlite';

const { values } = parseArgs({
  options: {
    what: { type: 'string' },
    path: { type: 'string' },
    point: { type: 'string' },
    hit: { type: 'string', default: '1' },
  },
});

let hits = 0;
function probe(point: string): void {
  if (point === values.point && ++hits === Number(values.hit)) process.kill(process.pid, 'SIGKILL');
}

const LEASE = '400ms';
const onError = (error: unknown) => console.error(error);

/** Writes an effect for each event. Every fifth event of a run fails at first, every twentieth always. */
async function runSubscription(store: Store): Promise<void> {
  const subscription = await subscribe(store, {
    name: 'effects',
    shards: 4,
    lease: LEASE,
    retry: { attempts: 2, backoff: 1 },
    probe,
    onError: () => {},
    handler: async (event, { attempt }) => {
      if (event.runSeq % 20 === 0) throw new Error('never works');
      if (event.runSeq % 5 === 0 && attempt === 1) throw new Error('works the second time');
      await store.kv.put(`effects.${event.eventId}`, { run: event.runId, seq: event.runSeq });
    },
  });
  await untilQuiet(() => subscription.status().handled + subscription.status().dead);
  await subscription.stop();
}

async function runProjector(store: Store): Promise<void> {
  const projector = await createProjector({ store, shards: 4, lease: LEASE, probe, onError });
  await untilDone(store, async (runId, head) => (await store.runs.getSnapshot(runId))?.lastEventSeq === head);
  await projector.stop();
}

/** Waits until the condition holds for every run. */
async function untilDone(store: Store, holds: (runId: string, head: number) => Promise<boolean>): Promise<void> {
  const { items } = await store.runs.listRuns({ limit: 1_000 });
  for (const { runId, lastEventSeq } of items) {
    while (!(await holds(runId, lastEventSeq))) await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Waits until a count has not changed for two leases. */
async function untilQuiet(count: () => number): Promise<void> {
  for (let [last, since] = [count(), Date.now()]; Date.now() - since < 1_000; ) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    if (count() !== last) [last, since] = [count(), Date.now()];
  }
}

const store = await sqliteStore(values.path!);
await (values.what === 'subscription' ? runSubscription(store) : runProjector(store));
await store.close();

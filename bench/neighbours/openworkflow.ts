/**
 * OpenWorkflow through its public API: an event is a step of a workflow, a job is a workflow, and a pause is a workflow
 * that waits for a signal.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { makeEvents } from '../events.ts';
import { countdown, type EventsContender, type JobsContender, load, type PausesContender } from './kinds.ts';
import { Mailboxes } from './mailbox.ts';

const NAME = 'openworkflow';

interface Steps {
  run(config: { name: string }, step: () => Promise<unknown>): Promise<unknown>;
  waitForSignal(options: { name: string; signal: string }): Promise<{ data: Record<string, unknown> } | null>;
}

type Body = (parameters: { input: { name: string }; step: Steps }) => Promise<unknown>;

interface Worker {
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface Client {
  defineWorkflow(spec: { name: string }, body: Body): { run(input: object): Promise<{ result(): Promise<unknown> }> };
  newWorker(options: { concurrency: number }): Worker;
  sendSignal(options: { signal: string; data: unknown }): Promise<{ workflowRunIds: string[] }>;
}

interface Backend {
  stop(): Promise<void>;
}

/** Opens the client on PostgreSQL or on an SQLite file. */
async function openClient(url: string): Promise<{ client: Client; backend: Backend }> {
  const { OpenWorkflow } = await load<{ OpenWorkflow: new (options: object) => Client }>('openworkflow');
  const backend = url.startsWith('sqlite:') ? await openSqlite(url.slice('sqlite:'.length)) : await openPostgres(url);
  return { client: new OpenWorkflow({ backend }), backend };
}

async function openSqlite(path: string): Promise<Backend> {
  const { BackendSqlite } = await load<{ BackendSqlite: { connect(path: string): Backend } }>('openworkflow/sqlite');
  return BackendSqlite.connect(path);
}

async function openPostgres(url: string): Promise<Backend> {
  const { BackendPostgres } = await load<{ BackendPostgres: { connect(url: string): Promise<Backend> } }>(
    'openworkflow/postgres',
  );
  return BackendPostgres.connect(url);
}

/** How long to wait before retrying a signal that came before its wait. */
const SIGNAL_AGAIN_MS = 50;

/** A worker keeps a slot for every open workflow, and looks for work with each free one. */
const MAX_RUNS = 64;

export async function openWorkflowEvents(url: string): Promise<EventsContender> {
  const { client, backend } = await openClient(url);
  const boxes = new Mailboxes<Steps>();
  const run = client.defineWorkflow({ name: 'run' }, ({ input, step }) => boxes.of(input.name).serve(step));
  let worker: Worker | undefined;
  let made = 0;
  return {
    name: NAME,
    maxRuns: MAX_RUNS,
    async begin(runIds) {
      const opened = runIds.map((runId) => boxes.create(runId).opened);
      await Promise.all(runIds.map((name) => run.run({ name })));
      worker = client.newWorker({ concurrency: runIds.length });
      await worker.start();
      await Promise.all(opened);
    },
    async end(runIds) {
      for (const runId of runIds) boxes.close(runId);
      await worker?.stop();
    },
    append: (runId) =>
      boxes
        .of(runId)
        .post((step) => step.run({ name: `append-${made++}` }, async () => makeEvents(1, () => runId)[0]!)),
    close: () => backend.stop(),
  };
}

export async function openWorkflowJobs(url: string): Promise<JobsContender> {
  const { client, backend } = await openClient(url);
  let ended = () => {};
  const job = client.defineWorkflow({ name: 'job' }, async () => ended());
  return {
    name: NAME,
    enqueue: (name) => job.run({ name }),
    async work(workers, count) {
      const done = countdown(count);
      ended = done.one;
      const worker = client.newWorker({ concurrency: workers });
      await worker.start();
      await done.all;
      await worker.stop();
    },
    close: () => backend.stop(),
  };
}

export async function openWorkflowPauses(url: string, callers: number): Promise<PausesContender> {
  const { client, backend } = await openClient(url);
  const resumed = new Map<string, (payload: Record<string, unknown>) => void>();
  const pausing = client.defineWorkflow({ name: 'pausing' }, async ({ input, step }) => {
    const signal = await step.waitForSignal({ name: 'wait', signal: input.name });
    resumed.get(input.name)?.(signal!.data);
  });
  const worker = client.newWorker({ concurrency: callers });
  await worker.start();
  return {
    name: NAME,
    async roundTrip(token, payload) {
      const { promise, resolve } = Promise.withResolvers<Record<string, unknown>>();
      resumed.set(token, resolve);
      await pausing.run({ name: token });
      // A signal that no workflow waits for is dropped.
      while ((await client.sendSignal({ signal: token, data: payload })).workflowRunIds.length === 0)
        await sleep(SIGNAL_AGAIN_MS);
      const received = await promise;
      resumed.delete(token);
      return received;
    },
    async close() {
      await worker.stop();
      await backend.stop();
    },
  };
}

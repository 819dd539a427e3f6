/**
 * DBOS through its public API: an event is a step of a workflow, a job is a workflow on a queue, and a pause is a message
 * that a workflow receives.
 */
import { makeEvents } from '../events.ts';
import { countdown, type EventsContender, type JobsContender, load, type PausesContender } from './kinds.ts';
import { Mailboxes } from './mailbox.ts';

type Workflow = (name: string) => Promise<unknown>;

interface Handle {
  workflowID: string;
  getResult(): Promise<unknown>;
}

interface Dbos {
  setConfig(config: object): void;
  launch(): Promise<void>;
  shutdown(): Promise<void>;
  registerWorkflow(workflow: Workflow, options: { name: string }): Workflow;
  startWorkflow(workflow: Workflow, options?: object): (name: string) => Promise<Handle>;
  runStep(step: () => Promise<unknown>, options: { name: string }): Promise<unknown>;
  listWorkflowSteps(workflowId: string): Promise<unknown[] | undefined>;
  getWorkflowStatus(workflowId: string): Promise<unknown>;
  writeStream(key: string, value: unknown): Promise<void>;
  readStream(workflowId: string, key: string): AsyncIterable<unknown>;
  send(workflowId: string, message: unknown, topic: string): Promise<void>;
  recv(topic: string): Promise<unknown>;
  registerQueue(name: string, options: object): Promise<unknown>;
  deleteQueue(name: string): Promise<unknown>;
}

const boxes = new Mailboxes<void>();
let registered: { served: Workflow; job: Workflow } | undefined;
let ended: (() => void) | undefined;

/** Launches DBOS. There is one per process, so workflows are registered only once. */
async function launch(url: string): Promise<{ dbos: Dbos; served: Workflow; job: Workflow }> {
  const { DBOS: dbos } = await load<{ DBOS: Dbos }>('@dbos-inc/dbos-sdk');
  registered ??= {
    served: dbos.registerWorkflow((name) => boxes.of(name).serve(), { name: 'served' }),
    job: dbos.registerWorkflow(async () => ended?.(), { name: 'job' }),
  };
  dbos.setConfig({ name: 'bench', systemDatabaseUrl: url, logLevel: 'error' });
  await dbos.launch();
  return { dbos, ...registered };
}

/** Starts a workflow that serves a mailbox. */
async function serve({ startWorkflow }: Dbos, served: Workflow, name: string): Promise<Handle> {
  const box = boxes.create(name);
  const handle = await startWorkflow(served)(name);
  await box.opened;
  return handle;
}

export async function dbosEvents(url: string): Promise<EventsContender> {
  const { dbos, served } = await launch(url);
  const handles = new Map<string, Handle>();
  const append = (runId: string) =>
    boxes.of(runId).post(() => dbos.runStep(async () => makeEvents(1, () => runId)[0]!, { name: 'append' }));
  return {
    name: 'dbos',
    begin: (runIds) => Promise.all(runIds.map(async (it) => handles.set(it, await serve(dbos, served, it)))),
    async end(runIds) {
      for (const runId of runIds) boxes.close(runId);
      await Promise.all(runIds.map((it) => handles.get(it)!.getResult()));
    },
    append,
    appendMany: (runId, count) => Promise.all(Array.from({ length: count }, () => append(runId))),
    read: async (runId) => (await dbos.listWorkflowSteps(handles.get(runId)!.workflowID))?.length ?? 0,
    snapshot: (runId) => dbos.getWorkflowStatus(handles.get(runId)!.workflowID),
    close: () => dbos.shutdown(),
  };
}

/** Its stream of values is what a reader can follow: steps have no subscription. */
export async function dbosStreams(url: string): Promise<EventsContender> {
  const { dbos, served } = await launch(url);
  const handles = new Map<string, Handle>();
  return {
    name: 'dbos stream',
    begin: (runIds) => Promise.all(runIds.map(async (it) => handles.set(it, await serve(dbos, served, it)))),
    async end(runIds) {
      for (const runId of runIds) boxes.close(runId);
      await Promise.all(runIds.map((it) => handles.get(it)!.getResult()));
    },
    append: (runId) => boxes.of(runId).post(() => dbos.writeStream('events', makeEvents(1, () => runId)[0]!)),
    async follow(runId, received) {
      const ended = (async () => {
        for await (const _ of dbos.readStream(handles.get(runId)!.workflowID, 'events')) received();
      })();
      // The stream ends with its workflow.
      return () => ended;
    },
    close: () => dbos.shutdown(),
  };
}

export async function dbosJobs(url: string): Promise<JobsContender> {
  const { dbos, job } = await launch(url);
  let made = 0;
  /** A new queue for every round: nothing is taken from a queue before it is registered. */
  let queueName = 'bench-0';
  return {
    name: 'dbos',
    enqueue: (id) => dbos.startWorkflow(job, { queueName })(id),
    async work(workers, count) {
      const done = countdown(count);
      ended = done.one;
      await dbos.registerQueue(queueName, { workerConcurrency: workers, minPollingIntervalMs: 100 });
      await done.all;
      await dbos.deleteQueue(queueName);
      queueName = `bench-${++made}`;
    },
    close: () => dbos.shutdown(),
  };
}

export async function dbosPauses(url: string, callers: number): Promise<PausesContender> {
  const { dbos, served } = await launch(url);
  const names = Array.from({ length: callers }, (_, index) => `paused-${index}`);
  const free = await Promise.all(names.map(async (name) => ({ name, ...(await serve(dbos, served, name)) })));
  const ids = new Map(free.map((it) => [it.name, it.workflowID]));
  return {
    name: 'dbos',
    async roundTrip(token, payload) {
      const workflow = free.pop()!;
      await dbos.send(ids.get(workflow.name)!, payload, token);
      const message = await boxes.of(workflow.name).post(() => dbos.recv(token));
      free.push(workflow);
      return message as Record<string, unknown>;
    },
    async close() {
      for (const name of names) boxes.close(name);
      await dbos.shutdown();
    },
  };
}

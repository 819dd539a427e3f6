/** Creates the sample store that the examples use, in its own directory. */
import { generateKeyPairSync } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '@tidemark/core';
import { createArchiver, createCheckpointer, directoryTarget, subscribe } from '@tidemark/runtime';
import { open } from 'tidemark';

const STORES_JS = `
const event = (kind) => ({ trace_id: 'trace-7', ts: 1767225600.5, kind, node_name: 'fetch', node_id: null, payload: { b: 1, a: 2 } });
export async function createStore() {
  return {
    async save_event() {},
    async load_history(trace) { return trace === 'trace-7' ? [event('node_start'), event('node_success')] : []; },
    async save_remote_binding() {},
  };
}
export const createIncomplete = () => ({ saveEvent() {}, load_history: async () => [] });
export const createPlain = () => ({ saveEvent() {}, loadHistory: async () => [event('node_start')], saveRemoteBinding() {} });
`;

export interface Sample {
  /** The original; tests must not write to it. */
  directory: string;
  /** The value of `$ARTIFACT` in the examples. */
  artifact: string;
  /** Creates a copy to work in and returns its path. */
  copy(): string;
  remove(): void;
}

export async function makeSample(): Promise<Sample> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'tidemark-cli-')));
  const directory = join(root, 'sample');
  mkdirSync(join(directory, 'config/tidemark'), { recursive: true });
  const store = await open(`sqlite:${directory}/.tidemark/state.db`);
  await fillRuns(store);
  await fillJobs(store);
  await fillSession(store);
  await fillDeadLetter(store);
  await store.kv.put('config.limits', { max: 10, burst: 5 });
  const { id: artifact } = await store.artifacts.putText('All is well.\n', {
    filename: 'report.txt',
    mimeType: 'text/plain',
    scope: { sessionId: 'session-1' },
  });
  await fillArchive(store, join(directory, 'archive'));
  await fillCheckpoints(store, directory);
  const parts = await Array.fromAsync(store.runs.exportRun('order-42'));
  await store.close();
  writeFileSync(join(directory, 'exported.jsonl'), parts.map((part) => `${JSON.stringify(part)}\n`).join(''));
  writeFileSync(join(directory, 'notes.txt'), 'Remember the milk.\n');
  writeFileSync(join(directory, 'stores.js'), STORES_JS);
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  const policies = { runs: [{ name: 'old', olderThan: '1ms', action: 'delete' }] };
  writeFileSync(join(directory, 'policies.json'), JSON.stringify(policies));
  const contexts = {
    current: 'local',
    previous: 'staging',
    contexts: { local: { store: 'sqlite:./.tidemark/state.db' }, staging: { store: 'memory:' } },
  };
  writeFileSync(join(directory, 'config/tidemark/contexts.json'), JSON.stringify(contexts));
  let copies = 0;
  return {
    ...{ directory, artifact },
    copy() {
      const target = join(root, `copy-${++copies}`);
      cpSync(directory, target, { recursive: true });
      return target;
    },
    remove: () => rmSync(root, { recursive: true }),
  };
}

async function fillRuns({ runs }: Store): Promise<void> {
  const running = runs.handle('order-42', { planId: 'checkout', labels: { shop: 'berlin' } });
  await running.append('RunStarted', { by: 'ada' });
  await running.append('CartPriced', { cents: 1299 });
  await running.append('StepStarted', {}, { stepId: 'charge' });
  const failed = runs.handle('order-7', { planId: 'checkout' });
  await failed.append('RunStarted');
  await failed.append('StepStarted', {}, { stepId: 'charge' });
  await failed.append(
    'StepFailed',
    { errorCode: 'CARD_DECLINED', errorMessage: 'no funds', retryable: false },
    { stepId: 'charge' },
  );
  await failed.append('RunFailed', { errorCode: 'CARD_DECLINED' });
  await runs.handle('etl-1', { tenantId: 'acme', planId: 'nightly' }).append('RunStarted');
}

async function fillJobs({ jobs }: Store): Promise<void> {
  const mail = (taskId: string) => ({ taskType: 'email-send', taskId });
  for (const id of ['mail-2', 'mail-3']) {
    await jobs.enqueue(mail(id));
    await jobs.claim(mail(id), { worker: 'w1', claimId: id.replace('mail', 'claim'), lease: '1h' });
  }
  await jobs.fail({ ...mail('mail-3'), claimId: 'claim-3' }, { error: 'no such mailbox', retry: false });
  await jobs.enqueue(mail('mail-1'));
  await jobs.enqueue({ ...mail('mail-4'), delay: '1h' });
}

async function fillSession({ agents }: Store): Promise<void> {
  const [sessionId, taskId, traceId] = ['session-1', 'task-1', 'trace-7'];
  const time = '2026-02-16T09:30:00.000Z';
  const task = {
    taskId,
    sessionId,
    status: 'RUNNING',
    taskType: 'FOREGROUND',
    priority: 0,
    contextSnapshot: {},
  } as const;
  await agents.saveTask({ ...task, description: 'refund an order', createdAt: time, updatedAt: time });
  const update = { sessionId, taskId, createdAt: time };
  await agents.saveUpdate({ ...update, updateId: 'update-1', updateType: 'THINKING', content: { text: 'hm' } });
  await agents.saveUpdate({ ...update, updateId: 'update-2', updateType: 'RESULT', content: { text: 'done' } });
  await agents.saveSteering({
    ...update,
    eventId: 'steering-1',
    eventType: 'USER_MESSAGE',
    payload: { text: 'hello' },
  });
  await agents.saveTrajectory(traceId, sessionId, { query: 'refund order-7', steps: [] });
  await agents.savePlannerEvent(traceId, {
    eventType: 'step_start',
    ts: 1767225600,
    trajectoryStep: 0,
    thought: 'look it up',
  });
  const event = { traceId, nodeName: 'fetch', nodeId: 'n1', payload: { b: 1, a: 2 } };
  await agents.saveEvent({ ...event, ts: 1767225600.5, kind: 'node_start' });
  await agents.saveEvent({ ...event, ts: 1767225601, kind: 'node_success' });
  await agents.saveMemoryState('acme:ada:session-1', { likes: 'tea' });
  await agents.savePlannerState('token-1', { reason: 'approve the refund' }, { sessionId, taskId });
}

async function fillArchive(store: Store, directory: string): Promise<void> {
  const ended = store.runs.handle('order-900', { planId: 'checkout' });
  await ended.append('RunStarted');
  await ended.append('RunCompleted');
  await createArchiver({ store, target: directoryTarget(directory) }).archiveRun('order-900');
}

async function fillCheckpoints(store: Store, directory: string): Promise<void> {
  const { privateKey: key, publicKey } = generateKeyPairSync('ed25519');
  const keyFile = join(directory, 'checkpoint.key');
  writeFileSync(keyFile, key.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  writeFileSync(`${keyFile}.pub`, publicKey.export({ type: 'spki', format: 'pem' }));
  await createCheckpointer({ store, file: join(directory, 'checkpoints.jsonl'), key }).checkpoint();
}

/** Creates a dead letter with a real subscription. */
async function fillDeadLetter(store: Store): Promise<void> {
  const billing = await subscribe(store, {
    name: 'billing',
    filter: { eventTypes: ['StepFailed'] },
    shards: 1,
    retry: { attempts: 1 },
    handler() {
      throw new Error('no such customer');
    },
  });
  while (billing.status().dead === 0) await new Promise((done) => setTimeout(done, 10));
  await billing.stop();
}

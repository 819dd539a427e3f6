/** Creates the sample store that the examples use, in its own directory. */
import { generateKeyPairSync } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '@tidemark/core';
import { createArchiver, createCheckpointer, directoryTarget } from '@tidemark/runtime';
import { open } from 'tidemark';
import { fillDocumented } from '../src/demo/documented.ts';

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
  mkdirSync(directory);
  const store = await open(`sqlite:${directory}/.tidemark/state.db`);
  const artifact = await fillDocumented(store);
  await writeExampleFiles(store, directory);
  await store.close();
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

/** Writes the files that examples name into the folder of a store. */
export async function writeExampleFiles(store: Store, directory: string): Promise<void> {
  await fillArchive(store, join(directory, 'archive'));
  await fillCheckpoints(store, directory);
  const parts = await Array.fromAsync(store.runs.exportRun('order-42'));
  mkdirSync(join(directory, 'config/tidemark'), { recursive: true });
  writeFileSync(join(directory, 'exported.jsonl'), parts.map((part) => `${JSON.stringify(part)}\n`).join(''));
  const old = { runId: 'old-1', eventId: 'e1', idempotencyKey: 'k1', eventType: 'RunStarted', runSeq: 4 };
  const times = { emittedAt: '2026-02-16T09:30:00.000Z', eventData: { by: 'ada' }, logicalAttemptId: '1' };
  const next = { ...old, ...times, eventId: 'e2', idempotencyKey: 'k2', eventType: 'RunCompleted', runSeq: 9 };
  writeFileSync(join(directory, 'v1.jsonl'), `${JSON.stringify({ ...old, ...times })}\n${JSON.stringify(next)}\n`);
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

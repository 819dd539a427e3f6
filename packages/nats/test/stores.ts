/** Stores that are closed, and streams that are removed, when the test ends. */
import type { Store } from '@tidemark/core';
import { onTestFinished } from 'vitest';
import { Link } from '../src/connection/link.ts';
import { type NatsOptions, natsStore } from '../src/index.ts';
import { newPrefix, removeStreams, sharedServer } from './servers.ts';

export { runEvent } from '../../../faults/run-event.ts';

/** Returns a prefix on a server whose streams are removed when the test ends. */
export function newStreams(url = sharedServer()): { url: string; prefix: string } {
  const prefix = newPrefix();
  onTestFinished(() => removeStreams(url, prefix).catch(() => {}));
  return { url, prefix };
}

export async function openStore(options: NatsOptions): Promise<Store> {
  const store = await natsStore(options);
  onTestFinished(() => store.close());
  return store;
}

/** Time limit of calls in tests below the store. */
export const WITHIN_MS = 10_000;

export async function openLink(url: string): Promise<Link> {
  const link = await Link.open({ url }, WITHIN_MS);
  onTestFinished(() => link.close());
  return link;
}

/** Returns the keys of a run's events, which must be numbered 1, 2, 3 … */
export async function keysOf(store: Store, runId: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { runSeq, idempotencyKey } of store.runs.readEvents(runId, { tenantId: 'default', limit: 1_000 })) {
    if (runSeq !== keys.length + 1) throw new Error(`Event ${keys.length + 1} of ${runId} has the sequence ${runSeq}`);
    keys.push(idempotencyKey);
  }
  return keys;
}

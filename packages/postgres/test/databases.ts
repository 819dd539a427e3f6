/** Databases and stores that are removed when the test ends, and helpers to fill and read them. */
import type { FeedItem, Store } from '@tidemark/core';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { neededServers, offeredUrl } from '../../../scripts/servers/index.ts';
import { type PostgresOptions, postgresStore } from '../src/index.ts';
import { createDatabase, dropDatabase } from './servers.ts';

export { runEvent } from '../../../faults/run-event.ts';

/** Whether this test run deliberately excludes PostgreSQL. */
export const WITHOUT_POSTGRES = !neededServers().includes('postgres');

/** The server that all tests share. */
export function sharedServer(): string {
  const url = offeredUrl('postgres');
  if (url === undefined) throw new Error('No PostgreSQL was started for the tests.');
  return url;
}

/** Creates an empty database that is dropped when the test ends. */
export async function newDatabase(server = sharedServer()): Promise<string> {
  const url = await createDatabase(server);
  onTestFinished(() => dropDatabase(url));
  return url;
}

/** Opens a store that is closed when the test ends. */
export async function openStore(url: string, options: Omit<PostgresOptions, 'url'> = {}): Promise<Store> {
  const store = await postgresStore({ ...options, url });
  onTestFinished(() => store.close());
  return store;
}

/** Opens a plain client that is closed when the test ends. */
export async function openClient(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  client.on('error', () => {});
  await client.connect();
  onTestFinished(() => client.end().catch(() => {}));
  return client;
}

/** Returns the keys of a run's events, which must be numbered 1, 2, 3 … */
export async function keysOf(store: Store, runId: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { runSeq, idempotencyKey } of store.runs.readEvents(runId, { limit: 10_000 })) {
    if (runSeq !== keys.length + 1) throw new Error(`Event ${keys.length + 1} of ${runId} has the sequence ${runSeq}`);
    keys.push(idempotencyKey);
  }
  return keys;
}

/**
 * Returns the feed after a cursor, and the next cursor. Waits a while for `count` items: tests in parallel share the
 * server, and their open transactions hold the feed back.
 */
export async function readFeed(
  store: Store,
  count: number,
  after?: string,
): Promise<{ items: FeedItem[]; next: string | undefined }> {
  const items: FeedItem[] = [];
  const timeout = AbortSignal.timeout(10_000);
  for (let next = after; ; ) {
    const page = await store.runs.feedPage({
      limit: 3,
      ...(items.length < count ? { wait: 1_000 } : {}),
      ...(next === undefined ? {} : { cursor: next }),
    });
    items.push(...page.items);
    const atEnd = page.next === undefined || page.next === next;
    if (atEnd && (items.length >= count || timeout.aborted)) return { items, next };
    next = page.next;
  }
}

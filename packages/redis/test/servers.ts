/** Separate servers, and stores that are closed when the test ends. */
import { randomUUID } from 'node:crypto';
import type { Store } from '@tidemark/core';
import { onTestFinished } from 'vitest';
import { neededServers, offeredUrl } from '../../../scripts/servers/index.ts';
import { type RedisOptions, redisStore } from '../src/index.ts';

/** Whether this test run deliberately excludes Redis. */
export const WITHOUT_REDIS = !neededServers().includes('redis');

/** The server that all tests share. */
export function sharedServer(): string {
  const url = offeredUrl('redis');
  if (url === undefined) throw new Error('No Redis was started for the tests.');
  return url;
}

/** Returns a prefix that no other test uses. */
export function newPrefix(): string {
  return `test-${randomUUID()}`;
}

/** Opens a store that is closed when the test ends. */
export async function openStore(url: string, options: Omit<RedisOptions, 'url'> = {}): Promise<Store> {
  const store = await redisStore({ prefix: newPrefix(), ...options, url });
  onTestFinished(() => store.close());
  return store;
}

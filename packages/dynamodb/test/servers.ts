/** The emulator that all tests share. Each test has its own tables. */
import { randomUUID } from 'node:crypto';
import { neededServers, offeredUrl } from '../../../scripts/servers/index.ts';
import type { DynamoDbOptions } from '../src/index.ts';

/** Whether this test run deliberately excludes DynamoDB. */
export const WITHOUT_DYNAMODB = !neededServers().includes('dynamodb');

/** The URL of the emulator that all tests share. */
export function sharedServer(): string {
  const url = offeredUrl('dynamodb');
  if (url === undefined) throw new Error('No DynamoDB was started for the tests.');
  return url;
}

/** Returns options with a prefix that no other test uses. */
export function ownTables(url = sharedServer()): DynamoDbOptions {
  return { url, prefix: `test-${randomUUID()}`, createTables: true };
}

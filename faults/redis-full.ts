/**
 * A full disk under Redis, with each sync policy. With `everysec` the server keeps running: writes fail with
 * `STORAGE_FULL`, reads work. With `always`, the only policy that survives a power failure, Redis itself exits: the
 * current write is `OUTCOME_UNKNOWN` and everything after it `UNAVAILABLE`. No acknowledged write may be lost once
 * there is space again. Needs loop mounts, and reports what it skipped.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isTidemarkError, type Store } from '@tidemark/core';
import { redisStore } from '@tidemark/redis';
import { startKind } from '../scripts/servers/index.ts';
import { redis } from '../scripts/servers/redis.ts';
import { Images, LoopMountRefused } from './images.ts';
import { runEvent } from './run-event.ts';

const POLICIES = { always: ['OUTCOME_UNKNOWN', 'UNAVAILABLE'], everysec: ['STORAGE_FULL'] } as const;
type Policy = keyof typeof POLICIES;

const PAYLOAD = 'x'.repeat(64 * 1024);
const BALLAST_BYTES = 12 * 1024 * 1024;
const MAX_WRITES = 2_000;
const problems: string[] = [];

function expect(condition: boolean, promise: string): void {
  if (!condition) problems.push(promise);
}

/** Configures the server on its own disk. */
function serverOn(directory: string, policy: Policy) {
  return startKind({
    ...redis,
    name: 'redis-full',
    serverArgs: (settings) => [...redis.serverArgs({ ...settings, directory }), '--appendfsync', policy],
  });
}

function codeOf(error: unknown): string {
  return isTidemarkError(error) ? error.code : String(error);
}

/** Appends until a write fails. Returns the acknowledged keys and the codes of the failures. */
async function fill(store: Store): Promise<{ acked: string[]; codes: string[] }> {
  const acked: string[] = [];
  const codes: string[] = [];
  for (let n = 0; n < MAX_WRITES && codes.length < 3; n++) {
    const event = runEvent('r', `key-${n}`, { PAYLOAD });
    try {
      await store.runs.appendEvent(event, { timeoutMs: 2_000 });
      acked.push(event.idempotencyKey!);
    } catch (error) {
      codes.push(codeOf(error));
    }
  }
  return { acked, codes };
}

async function readCode(store: Store): Promise<string> {
  return store.runs.fetchEvents('r', { timeoutMs: 2_000, limit: 1 }).then(() => 'read', codeOf);
}

async function tryPolicy(images: Images, policy: Policy): Promise<void> {
  const directory = images.mount(images.create(policy, '48M'));
  const ballast = join(directory, 'ballast');
  writeFileSync(ballast, Buffer.alloc(BALLAST_BYTES));
  const server = await serverOn(directory, policy);
  const store = await redisStore({ url: server.url, prefix: 'full' });
  const { acked, codes } = await fill(store);
  const read = await readCode(store);
  const allowed: readonly string[] = POLICIES[policy];
  expect(codes.length > 0, `${policy}: the disk gets full`);
  expect(
    codes.every((code) => allowed.includes(code)),
    `${policy}: a full disk is reported as ${allowed.join(' or ')}, not ${codes.join(', ')}`,
  );
  expect(policy === 'always' ? read === 'UNAVAILABLE' : read === 'read', `${policy}: reads end with ${read}`);
  await store.close();
  rmSync(ballast);
  await server.stop().catch(() => {});
  await checkAfter(directory, policy, acked);
  console.log(`redis-full: ${policy}: ${acked.length} acknowledged, then ${codes.join(', ')}; a read: ${read}`);
}

/** With space again, every acknowledged event must be stored, once and in order. */
async function checkAfter(directory: string, policy: Policy, acked: readonly string[]): Promise<void> {
  const server = await serverOn(directory, policy);
  const store = await redisStore({ url: server.url, prefix: 'full' });
  const keys: string[] = [];
  for await (const { idempotencyKey } of store.runs.readEvents('r')) keys.push(idempotencyKey!);
  const isComplete = acked.every((key, at) => keys[at] === key) && new Set(keys).size === keys.length;
  expect(isComplete, `${policy}: ${acked.length} acknowledged, ${keys.length} stored`);
  await store.close();
  await server.stop();
}

const images = new Images();
try {
  for (const policy of Object.keys(POLICIES) as Policy[]) await tryPolicy(images, policy);
} catch (error) {
  if (!(error instanceof LoopMountRefused)) throw error;
  console.log(`redis-full: skipped, ${error.message}`);
} finally {
  images.remove();
}
for (const problem of problems) console.error(`Broken: ${problem}`);
console.log(`redis-full: ${problems.length} problems`);
process.exitCode = problems.length > 0 ? 1 : 0;

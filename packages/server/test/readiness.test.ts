/** `readyz` fails while writes fail, and reports the reason. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Store } from '@tidemark/core';
import { sqliteStore } from '@tidemark/sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { Images, LoopMountRefused } from '../../../faults/images.ts';
import { runEvent, startServer } from './running.ts';

const MEGABYTE = 1024 * 1024;

/** A directory on its own small disk, or `null` if none can be mounted. */
function smallDisk(): string | null {
  const images = new Images();
  onTestFinished(() => images.remove());
  try {
    return images.mount(images.create('disk', '24M'));
  } catch (error) {
    if (error instanceof LoopMountRefused) return null;
    throw error;
  }
}

/** Appends until the disk is full. */
async function fill(store: Store, bytes: number): Promise<void> {
  const payload = { text: 'x'.repeat(bytes) };
  for (let isFull = false; !isFull; ) {
    isFull = await store.runs.appendEvent(runEvent('run', undefined, payload)).then(
      () => false,
      (error) => error.code === 'STORAGE_FULL' || Promise.reject(error),
    );
  }
}

it('is ready, and stays ready after writes to the store', async () => {
  const { url, store } = await startServer();
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  await store.runs.appendEvent(runEvent('run'));
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
});

it('is not ready on a full disk, and ready again once there is space', async ({ skip }) => {
  const folder = smallDisk();
  if (folder === null) return skip('loop mounts are not allowed here');
  const store = await sqliteStore(join(folder, 'store.db'));
  const { url } = await startServer({ store });
  const status = async () => (await fetch(`${url}/readyz`)).status;
  expect(await status()).toBe(200);
  const ballast = join(folder, 'ballast');
  writeFileSync(ballast, Buffer.alloc(12 * MEGABYTE));
  for (const bytes of [100_000, 10_000, 1_000]) await fill(store, bytes);
  await expect.poll(status).toBe(503);
  const problem = (await (await fetch(`${url}/readyz`)).json()) as { code: string; detail: string };
  expect(problem).toMatchObject({ code: 'UNAVAILABLE', detail: 'The disk of the store is full' });
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  expect((await fetch(`${url}/v1/runs`)).status, 'reads go on').toBe(200);
  rmSync(ballast);
  await expect.poll(status).toBe(200);
});

/** Large artifacts are files next to the database: every reference has its bytes, whenever a process is killed. */
import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { artifactsDirectory } from '../src/backup.ts';
import { sqliteStore } from '../src/store.ts';
import { LARGE, SESSIONS } from './blob-kills.ts';
import { newPath } from './fixtures.ts';
import { startNode } from './programs.ts';

const CHILD = 'packages/sqlite/test/blob-kills-child.ts';
const LIMIT = { timeout: 300_000 };
const MAX_STEPS = 60;

function filesIn(path: string): string[] {
  const entries = readdirSync(artifactsDirectory(path), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

/** Kills the child before each of its steps, each time on new files, and checks the remains. */
async function atEveryStep(
  operation: 'put' | 'erase',
  prepare: (path: string) => Promise<void>,
  check: (path: string) => Promise<void>,
): Promise<number> {
  for (let step = 1; step <= MAX_STEPS; step++) {
    const path = newPath();
    await prepare(path);
    const { stdout, code, stderr } = await startNode({ script: CHILD }, path, operation, String(step)).ended;
    const isDone = stdout.includes('done');
    expect(isDone || code === null, stderr).toBe(true);
    await check(path);
    if (isDone) return step - 1;
  }
  throw new Error(`The child took more than ${MAX_STEPS} steps`);
}

async function withStore<T>(path: string, use: (store: Awaited<ReturnType<typeof sqliteStore>>) => Promise<T>) {
  const store = await sqliteStore({ path, timeoutMs: 30_000 });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

const put = (path: string, sessionId: string) =>
  withStore(path, async (store) => void (await store.artifacts.putBytes(LARGE, { scope: { sessionId } })));

/** Expects every reference to be readable. Returns the sessions that have a reference. */
async function expectReadable(path: string): Promise<string[]> {
  return withStore(path, async ({ artifacts }) => {
    const { items } = await artifacts.list();
    for (const { id } of items) expect(Buffer.from((await artifacts.get(id))!).equals(LARGE)).toBe(true);
    return items.map(({ scope }) => scope.sessionId!);
  });
}

/** Expects storing and erasing to work again, and to leave nothing behind. */
async function expectRepairable(path: string): Promise<void> {
  await put(path, SESSIONS.writer);
  expect(await expectReadable(path)).toContain(SESSIONS.writer);
  await withStore(path, async (store) => {
    for (const session of Object.values(SESSIONS)) await store.admin.eraseSession(session);
    await new Promise((resolve) => setTimeout(resolve, 20));
    await store.artifacts.sweep({ grace: 1 });
  });
  expect(filesIn(path)).toEqual([]);
}

describe('a process killed at any step', () => {
  it('of an erasure leaves every reference with its bytes, and a retry completes it', LIMIT, async () => {
    const steps = await atEveryStep(
      'erase',
      (path) => put(path, SESSIONS.erased),
      async (path) => {
        await expectReadable(path);
        await withStore(path, (store) => store.admin.eraseSession(SESSIONS.erased));
        expect(await expectReadable(path)).toEqual([]);
        expect(filesIn(path)).toEqual([]);
        await expectRepairable(path);
      },
    );
    expect(steps).toBeGreaterThan(4);
  });

  it('of a put leaves every reference with its bytes', LIMIT, async () => {
    for (const before of [[], [SESSIONS.erased]]) {
      const steps = await atEveryStep(
        'put',
        async (path) => {
          for (const session of before) await put(path, session);
        },
        async (path) => {
          expect(await expectReadable(path)).toEqual(expect.arrayContaining(before));
          await expectRepairable(path);
        },
      );
      expect(steps).toBeGreaterThan(8);
    }
  });
});

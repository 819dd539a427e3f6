/** Every file of a store is private to its owner, regardless of the umask. The doctor names files that are not. */
import { chmodSync, globSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { holdSingleProcessLock } from '../src/files.ts';
import { newPath, openStore, runEvent } from './fixtures.ts';

const LARGE = new Uint8Array(300 * 1024).fill(7);

/** The modes of everything in a directory, by name. */
function modesIn(directory: string): Record<string, string> {
  const names = globSync('**/*', { cwd: directory });
  return Object.fromEntries(
    names.map((name) => [relative('.', name), (statSync(join(directory, name)).mode & 0o777).toString(8)]),
  );
}

function withUmask(mask: number): void {
  const before = process.umask(mask);
  onTestFinished(() => void process.umask(before));
}

describe.skipIf(process.platform === 'win32')('permissions', () => {
  it.each([0o000, 0o022])('with umask %o exclude all other users', async (mask) => {
    withUmask(mask);
    const root = newPath();
    const path = join(root, 'deep', 'state.db');
    const store = await openStore(path);
    await store.runs.appendEvent(runEvent('r'));
    await store.artifacts.putBytes(LARGE);
    await store.backup(join(root, 'copy.db'));
    holdSingleProcessLock(path, '3.40.0')?.release();
    const modes = modesIn(root);
    const names = Object.keys(modes);
    for (const name of ['deep/state.db', 'deep/state.db-wal', 'deep/state.db-shm', 'deep/state.db-lock', 'copy.db'])
      expect(names).toContain(name);
    expect(names.filter((name) => /artifacts\/..\//.test(name)).length, 'an artifact and its copy').toBe(2);
    for (const [name, mode] of Object.entries(modes))
      expect([name, mode]).toEqual([name, statSync(join(root, name)).isDirectory() ? '700' : '600']);
  });

  it('of files from older versions are named by the doctor, with the command to run', async () => {
    const path = newPath();
    const store = await openStore(path);
    await store.runs.appendEvent(runEvent('r'));
    const finding = async () => (await store.doctor()).findings.find(({ check }) => check === 'permissions');
    expect(await finding()).toMatchObject({ status: 'ok' });
    chmodSync(path, 0o644);
    chmodSync(`${path}-wal`, 0o640);
    const found = (await finding())!;
    expect(found).toMatchObject({ status: 'warn' });
    expect(found.fix).toContain(`chmod go= '${path}' '${path}-wal'`);
    expect(found.fix).not.toContain('-shm');
  });
});

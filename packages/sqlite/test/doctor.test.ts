/** The doctor names every setting that weakens durability, and `durability: 'require'` enforces it (GEN-6, GEN-9). */
import { existsSync, readFileSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Connection } from '../src/connection.ts';
import { durabilityOf, examine } from '../src/doctor.ts';
import { sqliteStore } from '../src/store.ts';
import { newPath, openStore, runEvent } from './fixtures.ts';

const TMPFS = 0x01021994;
const hasTmpfs = existsSync('/dev/shm') && statfsSync('/dev/shm').type === TMPFS;

/** Opens a connection with the given settings. */
function doctored(path: string, pragmas: string): Connection {
  const connection = new Connection(new DatabaseSync(path));
  onTestFinished(() => connection.close());
  connection.database.exec(pragmas);
  return connection;
}

function findingOf(path: string, connection: Connection, check: string) {
  return examine(path, connection).find((finding) => finding.check === check);
}

describe('doctor', () => {
  it('finds nothing to fix on a local disk, where an acknowledged write survives a power failure', async () => {
    const store = await openStore(newPath());
    const { ok, durability, findings } = await store.doctor();
    expect(findings.filter(({ status }) => status === 'fail')).toEqual([]);
    expect([ok, durability, store.info.durability]).toEqual([true, 'host-crash', 'host-crash']);
  });

  it.each(['NORMAL', 'OFF'])('fails synchronous %s, and explains what is lost', (level) => {
    const path = newPath();
    const connection = doctored(path, `PRAGMA journal_mode = WAL; PRAGMA synchronous = ${level}`);
    expect(findingOf(path, connection, 'synchronous')).toMatchObject({
      status: 'fail',
      message: `synchronous is ${level}: a power cut loses acknowledged writes`,
      fix: expect.stringContaining('synchronous = FULL'),
    });
    expect(durabilityOf(path, connection)).toBe('process-crash');
  });

  it('fails a journal mode other than WAL', () => {
    const path = newPath();
    const connection = doctored(path, 'PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL');
    expect(findingOf(path, connection, 'journal mode')).toMatchObject({ status: 'fail', fix: expect.any(String) });
  });

  it('warns about a large WAL, which a long-lived reader causes', async () => {
    const path = newPath();
    const store = await openStore(path);
    await store.runs.appendEvent(runEvent('r'));
    const walFinding = async () => (await store.doctor()).findings.find(({ check }) => check === 'WAL size');
    expect(await walFinding()).toMatchObject({ status: 'ok' });
    // Extended with zeros, which SQLite ignores.
    truncateSync(`${path}-wal`, 65 * 1024 ** 2);
    expect(await walFinding()).toMatchObject({ status: 'warn', fix: expect.stringContaining('reader') });
  });

  it('fails a damaged file', async () => {
    const path = newPath();
    const store = await sqliteStore(path);
    await store.runs.appendEvent(runEvent('r'));
    await store.close();
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0x55, bytes.length - 4096));
    expect(findingOf(path, doctored(path, ''), 'quick_check')).toMatchObject({
      status: 'fail',
      fix: 'Restore the file from a backup',
    });
  });
});

describe.skipIf(!hasTmpfs)('a file in memory (tmpfs)', () => {
  it('survives only a process crash, and the doctor fails it', async () => {
    const store = await openStore(newPath('/dev/shm'));
    const { ok, durability, findings } = await store.doctor();
    expect([ok, durability, store.info.durability]).toEqual([false, 'process-crash', 'process-crash']);
    expect(findings.find(({ check }) => check === 'file system')).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('tmpfs is memory'),
      fix: 'Put the file on a disk',
    });
  });

  it("is refused under durability: 'require', which a disk satisfies", async () => {
    await expect(sqliteStore({ path: newPath('/dev/shm'), durability: 'require' })).rejects.toMatchObject({
      code: 'DURABILITY_TOO_WEAK',
      current: 'process-crash',
      message: expect.stringContaining('tmpfs is memory'),
    });
    await openStore(newPath(), { durability: 'require' });
  });
});

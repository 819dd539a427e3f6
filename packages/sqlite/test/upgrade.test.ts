/** Files that released versions wrote open, upgrade and go on with the code of today (UPG-1). */
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkContents, checkContinuing } from '../../../scripts/fixtures/checks.ts';
import { type Fixture, fixturesOf } from '../../../scripts/fixtures/packed.ts';
import { loadMigrations } from '../src/migrations.ts';
import { newPath, openStore } from './fixtures.ts';

/** The name of the file, unpacked into a folder of its own. */
function unpacked(fixture: Fixture): string {
  const path = newPath();
  fixture.unpack(dirname(path));
  return path;
}

describe.each(fixturesOf('sqlite'))('a file of version $version', (fixture) => {
  it('holds what was written', async () => {
    await checkContents(await openStore(unpacked(fixture)), fixture);
  });

  it('goes on where it was', async () => {
    const path = unpacked(fixture);
    await checkContinuing(await openStore(path), fixture, join(dirname(path), 'archive'));
  });

  it('has every migration and guard afterwards', async () => {
    const path = unpacked(fixture);
    const store = await openStore(path);
    const database = new DatabaseSync(path);
    onTestFinished(() => database.close());
    const rows = database.prepare('SELECT version FROM tidemark_migrations ORDER BY version').all();
    expect(rows.map(({ version }) => version)).toEqual(loadMigrations().map(({ version }) => version));
    expect(() => database.exec('INSERT OR REPLACE INTO run_events SELECT * FROM run_events')).toThrow('append-only');
    expect((await store.doctor()).findings.find(({ check }) => check === 'append-only')).toMatchObject({
      status: 'ok',
    });
  });
});

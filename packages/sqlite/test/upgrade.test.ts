/** Files that released versions wrote can be opened, upgraded and used with the current code (UPG-1). */
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkContents, checkContinuing, checkUpgrade } from '../../../scripts/fixtures/checks.ts';
import { type Fixture, fixturesOf } from '../../../scripts/fixtures/packed.ts';
import { loadMigrations } from '../src/migrations.ts';
import { newPath, openStore } from './fixtures.ts';

/** Unpacks the file into a new folder and returns its name. */
function unpacked(fixture: Fixture): string {
  const path = newPath();
  fixture.unpack(dirname(path));
  return path;
}

describe.each(fixturesOf('sqlite'))('a file of version $version', (fixture) => {
  it('holds the data that was written', async () => {
    await checkContents(await openStore(unpacked(fixture)), fixture);
  });

  it('can be written to', async () => {
    const path = unpacked(fixture);
    await checkContinuing(await openStore(path), fixture, join(dirname(path), 'archive'));
  });

  it('writes chain format 2 once the marker is raised', async () => {
    const path = unpacked(fixture);
    await checkUpgrade((options) => openStore(path, options));
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

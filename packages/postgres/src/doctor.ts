/** Every server setting that weakens the promise, and how to mend it (GEN-6). */
import { type DoctorFinding, type Durability, TidemarkError } from '@tidemark/core';
import type pg from 'pg';
import type { Dialect } from './sql.ts';

const SETTINGS = ['fsync', 'full_page_writes', 'synchronous_standby_names', 'data_checksums', 'server_encoding', 'synchronous_commit'];

async function settingsOf(pool: pg.Pool): Promise<Map<string, string>> {
  const { rows } = await pool.query('SELECT name, setting FROM pg_settings WHERE name = ANY ($1)', [SETTINGS]);
  return new Map(rows.map(({ name, setting }) => [name, setting]));
}

/** What an acknowledged write survives: each is committed with synchronous_commit on, whatever the defaults say. */
export async function durabilityOf(pool: pg.Pool): Promise<Durability> {
  const settings = await settingsOf(pool);
  if (settings.get('fsync') !== 'on' || settings.get('full_page_writes') !== 'on') return 'process-crash';
  return settings.get('synchronous_standby_names') ? 'node-loss' : 'host-crash';
}

export async function requireDurability(pool: pg.Pool): Promise<void> {
  const durability = await durabilityOf(pool);
  if (durability === 'host-crash' || durability === 'node-loss') return;
  throw new TidemarkError('DURABILITY_TOO_WEAK', 'The server would lose acknowledged writes in a power cut: set fsync = on and full_page_writes = on', { current: durability });
}

export async function examine(pool: pg.Pool, dialect: Dialect): Promise<DoctorFinding[]> {
  void dialect;
  const settings = await settingsOf(pool);
  return ['fsync', 'full_page_writes'].map((name) =>
    settings.get(name) === 'on'
      ? { check: name, status: 'ok', message: 'on' }
      : { check: name, status: 'fail', message: `${name} is off: a power cut loses acknowledged writes`, fix: `Set ${name} = on and restart` },
  );
}

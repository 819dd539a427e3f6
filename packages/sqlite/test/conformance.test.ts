/** The whole conformance kit on SQLite: in this process, and in four processes on one file at the same time. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ALL_CASES, isTimed, registerConformance, type StoreUnderTest } from '@tidemark/conformance';
import { afterAll, describe, expect, it } from 'vitest';
import { sqliteStore } from '../src/store.ts';
import { type Ended, startNode } from './programs.ts';

const PROCESSES = 4;

async function inNewFolder(): Promise<StoreUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-conformance-'));
  const path = join(folder, 'store.db');
  const under: StoreUnderTest = {
    store: await sqliteStore(path),
    peer: () => sqliteStore(path),
    reopen: async () => {
      await under.store.close();
      return sqliteStore(path);
    },
    damage: (tenantId, key, field) => damage(path, tenantId, key, field),
    dispose: () => rmSync(folder, { recursive: true }),
  };
  return under;
}

/** Changes a stored value as a failing disk would, without firing triggers. */
function damage(path: string, ...field: [tenantId: string, key: string, field: string]): void {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA busy_timeout = 5000; BEGIN IMMEDIATE');
  const trigger = database.prepare("SELECT sql FROM sqlite_schema WHERE name = 'kv_fields_sum'").get()!;
  database.exec('DROP TRIGGER kv_fields_sum');
  database.prepare("UPDATE kv_fields SET value = x'00' WHERE tenant_id = ? AND key = ? AND field = ?").run(...field);
  database.exec(`${trigger.sql}; COMMIT`);
  database.close();
}

registerConformance({ describe, it, afterAll }, 'The SQLite store', inNewFolder);

/** Opens a store whose clock the kit advances and sets back. */
async function onInjectedClock(): Promise<StoreUnderTest> {
  const time = { wall: Date.now(), elapsed: 0 };
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-conformance-'));
  const path = join(folder, 'store.db');
  const options = { path, clock: () => time.wall, monotonic: () => time.elapsed };
  return {
    store: await sqliteStore(options),
    peer: () => sqliteStore(options),
    advance: (ms) => {
      time.wall += ms;
      time.elapsed += ms;
    },
    setBack: (ms) => {
      time.wall -= ms;
    },
    dispose: () => rmSync(folder, { recursive: true }),
  };
}

registerConformance({ describe, it, afterAll }, 'The SQLite store on a clock that is moved', onInjectedClock, {
  cases: ALL_CASES.filter(isTimed),
});

describe('The SQLite store', () => {
  it('keeps the contract in four processes on one file at the same time', { timeout: 240_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-conformance-'));
    const path = join(folder, 'store.db');
    const script = 'packages/sqlite/test/conformance-child.ts';
    const run = () => startNode({ script }, path).ended;
    const passedIn = ({ code, stdout, stderr }: Ended) => {
      expect(stderr).toBe('');
      expect(code).toBe(0);
      const { totals, failed } = JSON.parse(stdout) as { totals: { passed: number }; failed: unknown[] };
      expect(failed).toEqual([]);
      return totals.passed;
    };
    try {
      // Wait for all processes before checking any: one that is still running would recreate the folder.
      const shared = await Promise.all(Array.from({ length: PROCESSES }, run));
      for (const ended of shared) expect(passedIn(ended)).toBeGreaterThan(400);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

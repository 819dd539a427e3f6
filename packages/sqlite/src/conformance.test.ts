/** The whole conformance kit on SQLite: in this process, and in four processes on one file at the same time. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { registerConformance, type StoreUnderTest } from '@tidemark/conformance';
import { afterAll, describe, expect, it } from 'vitest';
import { startNode } from '../test/programs.ts';
import { sqliteStore } from './store.ts';

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
    dispose: () => rmSync(folder, { recursive: true }),
  };
  return under;
}

registerConformance({ describe, it, afterAll }, 'The SQLite store', inNewFolder);

describe('The SQLite store', () => {
  it('keeps the contract in four processes on one file at the same time', { timeout: 240_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-conformance-'));
    const path = join(folder, 'store.db');
    const run = async (part: 'shared' | 'alone') => {
      const script = 'packages/sqlite/test/conformance-child.ts';
      const { code, stdout, stderr } = await startNode({ script }, path, part).ended;
      expect(stderr).toBe('');
      expect(code).toBe(0);
      const { totals, failed } = JSON.parse(stdout) as { totals: { passed: number }; failed: unknown[] };
      expect(failed).toEqual([]);
      return totals.passed;
    };
    try {
      const alone = await run('alone');
      const shared = await Promise.all(Array.from({ length: PROCESSES }, () => run('shared')));
      for (const passed of shared) expect(alone + passed).toBeGreaterThan(400);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

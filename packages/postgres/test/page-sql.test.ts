/** Runs the SQL of the pages about PostgreSQL on the tables and roles that they describe. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { blocksOf } from '../../../scripts/pages/blocks.ts';
import { SQL_PAGES } from '../../../scripts/pages/executed.ts';
import { startOwnServer } from '../../../scripts/servers/index.ts';
import { openClient, openStore, WITHOUT_POSTGRES } from './databases.ts';

const ROOT = join(import.meta.dirname, '../../..');

function sqlOf(path: string): string[] {
  const blocks = blocksOf(readFileSync(join(ROOT, path), 'utf8'));
  return blocks.filter(({ language }) => language === 'sql').map(({ code }) => code);
}

describe.skipIf(WITHOUT_POSTGRES)('the SQL of', () => {
  it.each(SQL_PAGES)(
    '%s runs as written',
    async (path) => {
      const server = await startOwnServer('postgres');
      onTestFinished(() => server.stop());
      const store = await openStore(server.url, { rowLevelSecurity: true, payloadIndex: true });
      const run = store.forTenant('acme').runs.handle('order-42');
      await run.append('RunStarted', { orderId: 42 });
      await run.snapshot();
      const client = await openClient(server.url);
      const rows: object[] = [];
      for (const sql of sqlOf(path)) {
        // The policies do not apply to the superuser who runs the other blocks.
        const results = await client.query(sql.includes('tidemark.tenants') ? `SET ROLE app; ${sql}` : sql);
        for (const result of [results].flat()) rows.push(...(result.rows as object[]));
        await client.query('RESET ROLE');
      }
      if (path === 'docs/postgres.md')
        expect(rows).toEqual([
          { run_id: 'order-42', status: 'RUNNING' },
          { run_id: 'order-42', run_seq: '1' },
        ]);
    },
    120_000,
  );
});

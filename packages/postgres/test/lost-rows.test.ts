/** A page of a table whose last write was lost: PostgreSQL reads on silently, and `doctor({ deep: true })` finds it. */
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Store } from '@tidemark/core';
import pg from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { startOwnServer } from '../../../scripts/servers/index.ts';
import { openStore, WITHOUT_POSTGRES } from './databases.ts';

const PAGE = 8_192;

const findingOf = async (store: Store, check: string) =>
  (await store.doctor({ deep: true })).findings.find((finding) => finding.check === check);

it.skipIf(WITHOUT_POSTGRES)(
  'rows that are in indexes but missing in the table are found',
  { timeout: 60_000 },
  async () => {
    const server = await startOwnServer('postgres');
    onTestFinished(() => server.stop());
    const before = await openStore(server.url);
    for (let n = 0; n < 60; n++) {
      const update = {
        sessionId: 's',
        taskId: 't',
        createdAt: '2026-02-16T09:30:00.000Z',
        updateType: 'PROGRESS' as const,
      };
      await before.agents.saveUpdate({ ...update, updateId: `u${n}`, content: { text: 'x'.repeat(500) } });
    }
    expect(await findingOf(before, 'pageinspect')).toMatchObject({
      status: 'warn',
      fix: 'CREATE EXTENSION pageinspect',
    });
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    await client.query('CREATE EXTENSION amcheck; CREATE EXTENSION pageinspect');
    for (const check of ['amcheck', 'pageinspect'])
      expect(await findingOf(before, check)).toMatchObject({ status: 'ok' });
    await client.query('CHECKPOINT');
    const { rows } = await client.query("SELECT pg_relation_filepath('tidemark.updates') AS path");
    await client.end();
    await before.close();
    await server.kill!();
    // PostgreSQL treats a page of zeros as added and never written.
    const file = openSync(join(server.started!.directory, 'data', (rows[0] as { path: string }).path), 'r+');
    writeSync(file, Buffer.alloc(PAGE), 0, PAGE, 2 * PAGE);
    closeSync(file);
    await server.revive!();
    const after = await openStore(server.url);
    expect((await after.agents.listUpdates('s', { limit: 100 })).length).toBeLessThan(60);
    expect(await findingOf(after, 'pageinspect')).toMatchObject({ status: 'fail', message: /not in tidemark.updates/ });
  },
);

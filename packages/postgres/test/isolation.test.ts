/** Appends in a database whose default isolation is not read committed, directly and through a pooler (RUN-3). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startKind } from '../../../scripts/servers/index.ts';
import { pgbouncer } from '../../../scripts/servers/pgbouncer.ts';
import type { RunningServer } from '../../../scripts/servers/start.ts';
import { keysOf, newDatabase, openStore, runEvent, sharedServer, WITHOUT_POSTGRES } from './databases.ts';
import { through, withClient } from './servers.ts';

const STORES = 3;
const WRITERS = 8;
const EVENTS = 10;

describe.skipIf(WITHOUT_POSTGRES)('concurrent appends to one run', () => {
  let pooler: RunningServer;
  beforeAll(async () => {
    pooler = await startKind(pgbouncer(sharedServer()));
  }, 180_000);
  afterAll(() => pooler?.stop());

  for (const level of ['repeatable read', 'serializable']) {
    for (const way of ['directly', 'through PgBouncer']) {
      it(`are dense and complete in a database that is ${level} by default, ${way}`, { timeout: 60_000 }, async () => {
        const direct = await newDatabase();
        const name = new URL(direct).pathname.slice(1);
        const url = way === 'directly' ? direct : through(direct, pooler.url);
        await withClient(direct, (client) =>
          client.query(`ALTER DATABASE ${name} SET default_transaction_isolation = '${level}'`),
        );
        const stores = await Promise.all(Array.from({ length: STORES }, () => openStore(url, { timeoutMs: 20_000 })));
        const sent: string[] = [];
        const write = async (at: number, writer: number) => {
          for (let count = 0; count < EVENTS; count++) {
            const key = `${at}.${writer}.${count}`;
            sent.push(key);
            await stores[at]!.runs.appendEvent(runEvent('hot', key));
          }
        };
        await Promise.all(stores.flatMap((_, at) => Array.from({ length: WRITERS }, (_, writer) => write(at, writer))));
        expect((await keysOf(stores[0]!, 'hot')).sort()).toEqual(sent.sort());
        expect(await stores[0]!.runs.verify('hot')).toMatchObject({ ok: true, events: sent.length });
      });
    }
  }
});

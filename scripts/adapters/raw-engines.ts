/** Engines whose stored bytes can be searched without Tidemark, to show that adapters store nothing readable. */
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PayloadCodec, Store } from '@tidemark/core';
import { postgresStore } from '@tidemark/postgres';
import { sqliteStore } from '@tidemark/sqlite';
import pg from 'pg';
import { offeredUrl } from '../servers/index.ts';

/** A new store, and a search through everything that its engine has stored. */
export interface RawEngine {
  store: Store;
  /** Returns whether the ASCII text is anywhere in the engine. */
  contains(text: string): Promise<boolean>;
}

export const RAW_ENGINES: Record<string, (codec?: PayloadCodec) => Promise<RawEngine>> = {
  async sqlite(codec) {
    const directory = await mkdtemp(join(tmpdir(), 'tidemark-raw-'));
    const store = await sqliteStore({ path: join(directory, 'state.db'), ...(codec && { codec }) });
    return {
      store,
      async contains(text) {
        // The database and its write-ahead log.
        const files = await Promise.all((await readdir(directory)).map((name) => readFile(join(directory, name))));
        return files.some((bytes) => bytes.includes(text));
      },
    };
  },
  ...(offeredUrl('postgres') && { postgres: (codec?: PayloadCodec) => openPostgres(offeredUrl('postgres')!, codec) }),
};

async function openPostgres(url: string, codec: PayloadCodec | undefined): Promise<RawEngine> {
  const schema = `raw_${crypto.randomUUID().slice(0, 8)}`;
  const store = await postgresStore({ url, schema, ...(codec && { codec }) });
  return {
    store,
    async contains(text) {
      const client = new pg.Client(url);
      await client.connect();
      try {
        const tables = await client.query('SELECT tablename FROM pg_tables WHERE schemaname = $1', [schema]);
        // Bytes are written as hex digits in the text of a row.
        const forms = [text, Buffer.from(text).toString('hex')];
        for (const { tablename } of tables.rows) {
          const found = await client.query(
            `SELECT 1 FROM "${schema}"."${tablename}" AS it WHERE strpos(it::text, $1) > 0 OR strpos(it::text, $2) > 0 LIMIT 1`,
            forms,
          );
          if (found.rows.length > 0) return true;
        }
        return false;
      } finally {
        await client.end();
      }
    },
  };
}

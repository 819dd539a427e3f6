/** Cases about time on a server whose clock the kit controls: the store reads it through one function of its schema. */
import { ALL_CASES, isTimed, registerConformance, type StoreUnderTest } from '@tidemark/conformance';
import pg from 'pg';
import { afterAll, describe, it } from 'vitest';
import { postgresStore } from '../src/index.ts';
import { sharedServer, WITHOUT_POSTGRES } from './databases.ts';
import { createDatabase, dropDatabase } from './servers.ts';

async function onMovedClock(): Promise<StoreUnderTest> {
  const url = await createDatabase(sharedServer());
  const store = await postgresStore({ url });
  const client = new pg.Client(url);
  await client.connect();
  let now = Date.now();
  const moveBy = async (ms: number) => {
    now += ms;
    await client.query(
      `CREATE OR REPLACE FUNCTION tidemark.tidemark_now() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE
       AS $$ SELECT ${now}::bigint $$`,
    );
  };
  await moveBy(0);
  return {
    store,
    peer: () => postgresStore({ url }),
    advance: moveBy,
    setBack: (ms) => moveBy(-ms),
    dispose: async () => {
      await client.end();
      await dropDatabase(url);
    },
  };
}

describe.skipIf(WITHOUT_POSTGRES)('On a server with a controlled clock', () => {
  const cases = ALL_CASES.filter((it) => isTimed(it) && it.domain !== 'artifacts');
  registerConformance({ describe, it, afterAll }, 'The store', onMovedClock, { cases });
});

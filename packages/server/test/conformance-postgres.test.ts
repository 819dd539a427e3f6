/** The whole conformance kit through client and server, on PostgreSQL. */
import { postgresStore } from '@tidemark/postgres';
import { describe } from 'vitest';
import { sharedServer, WITHOUT_POSTGRES } from '../../postgres/test/databases.ts';
import { createDatabase, dropDatabase } from '../../postgres/test/servers.ts';
import { registerKit } from './kit.ts';

describe.skipIf(WITHOUT_POSTGRES)('With PostgreSQL', () => {
  registerKit('Over HTTP on PostgreSQL', async () => {
    const url = await createDatabase(sharedServer());
    return { open: () => postgresStore({ url }), remove: () => dropDatabase(url) };
  });
});

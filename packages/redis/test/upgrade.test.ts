/**
 * Append-only files of Redis servers with stores of released versions can be opened and used with the current code
 * (UPG-1).
 */
import { join } from 'node:path';
import type { Store } from '@tidemark/core';
import { describe, it, onTestFinished } from 'vitest';
import { checkContents, checkContinuing } from '../../../scripts/fixtures/checks.ts';
import { type Fixture, fixturesOf } from '../../../scripts/fixtures/packed.ts';
import { startKind } from '../../../scripts/servers/index.ts';
import { redis } from '../../../scripts/servers/redis.ts';
import { redisStore } from '../src/index.ts';
import { WITHOUT_REDIS } from './servers.ts';

/** Starts a server on the files of the fixture and opens the store in it. */
async function opened(fixture: Fixture): Promise<{ store: Store; archive: string }> {
  const server = await startKind({
    ...redis,
    prepare: async ({ directory }) => {
      fixture.unpack(directory);
      return undefined;
    },
  });
  onTestFinished(() => server.stop());
  const store = await redisStore({ url: server.url });
  onTestFinished(() => store.close());
  return { store, archive: join(server.started!.directory, 'archive') };
}

describe.skipIf(WITHOUT_REDIS)('an append-only file', () => {
  describe.each(fixturesOf('redis'))('of version $version', (fixture) => {
    it('holds the data that was written', async () => {
      await checkContents((await opened(fixture)).store, fixture);
    });

    it('can be written to', async () => {
      const { store, archive } = await opened(fixture);
      await checkContinuing(store, fixture, archive);
    });
  });
});

/**
 * Append-only files of Redis servers with stores of released versions can be opened and used with the current code
 * (UPG-1).
 */
import { join } from 'node:path';
import type { Store } from '@tidemark/core';
import { describe, it, onTestFinished } from 'vitest';
import { checkContents, checkContinuing, checkUpgrade } from '../../../scripts/fixtures/checks.ts';
import { type Fixture, fixturesOf } from '../../../scripts/fixtures/packed.ts';
import { startKind } from '../../../scripts/servers/index.ts';
import { redis } from '../../../scripts/servers/redis.ts';
import { redisStore } from '../src/index.ts';
import { WITHOUT_REDIS } from './servers.ts';

interface Opened {
  store: Store;
  archive: string;
  open(options?: { upgrade: true }): Promise<Store>;
}

/** Starts a server on the files of the fixture and opens the store in it. */
async function opened(fixture: Fixture): Promise<Opened> {
  const server = await startKind({
    ...redis,
    prepare: async ({ directory }) => {
      fixture.unpack(directory);
      return undefined;
    },
  });
  onTestFinished(() => server.stop());
  const open = async (options?: { upgrade: true }) => {
    const store = await redisStore({ url: server.url, ...options });
    onTestFinished(() => store.close());
    return store;
  };
  return { store: await open(), archive: join(server.started!.directory, 'archive'), open };
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

    it('writes chain format 2 once the marker is raised', async () => {
      await checkUpgrade((await opened(fixture)).open);
    });
  });
});

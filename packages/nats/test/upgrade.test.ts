/**
 * Directories of NATS servers with stores of released versions can be opened and used with the current code (UPG-1).
 */
import { join } from 'node:path';
import type { Store } from '@tidemark/core';
import { describe, it, onTestFinished } from 'vitest';
import { checkContents, checkContinuing, checkUpgrade } from '../../../scripts/fixtures/checks.ts';
import { type Fixture, fixturesOf } from '../../../scripts/fixtures/packed.ts';
import { startKind } from '../../../scripts/servers/index.ts';
import { nats } from '../../../scripts/servers/nats.ts';
import { natsStore } from '../src/index.ts';
import { WITHOUT_NATS } from './servers.ts';

interface Opened {
  store: Store;
  archive: string;
  open(options?: { upgrade: true }): Promise<Store>;
}

/** Starts a server on the files of the fixture and opens the store in it. */
async function opened(fixture: Fixture): Promise<Opened> {
  const server = await startKind({
    ...nats,
    prepare: async ({ directory }) => {
      fixture.unpack(directory);
      return undefined;
    },
  });
  onTestFinished(() => server.stop());
  const open = async (options?: { upgrade: true }) => {
    const store = await natsStore({ url: server.url, ...options });
    onTestFinished(() => store.close());
    return store;
  };
  return { store: await open(), archive: join(server.started!.directory, 'archive'), open };
}

describe.skipIf(WITHOUT_NATS)('a directory', () => {
  describe.each(fixturesOf('nats'))('of version $version', (fixture) => {
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

/** Memory states: returned exactly as saved; the last write wins and each write has a version (AGT-5). */
import { expect, expectCode, expectEqual } from '../../expect.ts';
import { allPages } from '../iterate.ts';
import { casesOf, inOrder, memoryState, peerAgents } from './samples.ts';

const memory = casesOf('agents', 'memory');

export const MEMORY_CASES = [
  memory({
    id: 'agents/memory/comes-back-exactly',
    title: 'A memory state is returned exactly as it was saved',
    proves: ['000 save_memory_state', '000 load_memory_state', 'AGT-5'],
    async run(bench) {
      const key = bench.id('key');
      await bench.tenant.agents.saveMemoryState(key, memoryState());
      expectEqual(await bench.tenant.agents.loadMemoryState(key), memoryState(), 'the state is exactly what was saved');
      expectEqual(await bench.tenant.agents.loadMemoryState(key), memoryState(), 'every read returns the same state');
      expectEqual(
        await (await peerAgents(bench)).loadMemoryState(key),
        memoryState(),
        'another client reads the same state',
      );
      await bench.tenant.agents.saveMemoryState(key, {});
      expectEqual(await bench.tenant.agents.loadMemoryState(key), {}, 'an empty state is a state');
    },
  }),

  memory({
    id: 'agents/memory/unknown-is-null',
    title: 'An unknown key is null, not an error',
    proves: ['000 load_memory_state', '000 errors', 'AGT-5'],
    async run(bench) {
      const key = bench.id('unknown');
      expectEqual(await bench.tenant.agents.loadMemoryState(key), null, 'an unknown key has no state');
      expectEqual(await bench.tenant.agents.getMemoryRecord(key), null, 'an unknown key has no record');
      expectEqual(await bench.tenant.agents.deleteMemoryState(key), false, 'an unknown key has nothing to delete');
      expectEqual((await bench.tenant.agents.listMemory()).items, [], 'nothing is listed');
    },
  }),

  memory({
    id: 'agents/memory/last-write-wins',
    title: 'The last write wins, and each write increments the version',
    proves: ['000 save_memory_state', '000 idempotency', '000 consistency', 'AGT-5'],
    async run(bench) {
      const { agents } = bench.tenant;
      const key = bench.id('key');
      for (const version of [1, 2, 3]) {
        expectEqual((await agents.saveMemoryState(key, memoryState(version))).version, version, 'versions are 1, 2, 3');
      }
      const record = await agents.getMemoryRecord(key);
      expect(record && Number.isFinite(Date.parse(record.updatedAt)), 'a record has the time it was written');
      const { updatedAt: _, ...rest } = record;
      expectEqual(rest, { key, state: memoryState(3), version: 3 }, 'the record is the last write');
    },
  }),

  memory({
    id: 'agents/memory/conditional-save',
    title: 'A save with expectedVersion succeeds only on that version',
    proves: ['AGT-5'],
    async run(bench) {
      const { agents } = bench.tenant;
      const key = bench.id('key');
      expectEqual(
        (await agents.saveMemoryState(key, memoryState(1), { expectedVersion: 0 })).version,
        1,
        'version 0 means absent',
      );
      expectEqual(
        (await agents.saveMemoryState(key, memoryState(2), { expectedVersion: 1 })).version,
        2,
        'a save with the current version succeeds',
      );
      for (const expectedVersion of [0, 1, 3]) {
        const error = await expectCode('VERSION_CONFLICT', `version ${expectedVersion} is not the current one`, () =>
          agents.saveMemoryState(key, memoryState(9), { expectedVersion }),
        );
        expectEqual(error.current, 2, 'the conflict carries the current version');
      }
      expectEqual(await agents.loadMemoryState(key), memoryState(2), 'a conflict writes nothing');
      const unknown = await expectCode('VERSION_CONFLICT', 'an absent state has no version 1', () =>
        agents.saveMemoryState(bench.id('key'), memoryState(), { expectedVersion: 1 }),
      );
      expectEqual(unknown.current, 0, 'the version of an absent state is 0');
    },
  }),

  memory({
    id: 'agents/memory/one-conditional-writer-wins',
    title: 'Of concurrent conditional writers exactly one wins',
    proves: ['AGT-5'],
    async run(bench) {
      const key = bench.id('key');
      const clients = [bench.tenant.agents, await peerAgents(bench)];
      for (const expectedVersion of [0, 1]) {
        const writes = Array.from({ length: 20 }, (_, n) =>
          clients[n % 2]!.saveMemoryState(key, memoryState(n), { expectedVersion }),
        );
        const settled = await Promise.allSettled(writes);
        expectEqual(
          settled.filter((write) => write.status === 'fulfilled').length,
          1,
          `one of 20 wins on version ${expectedVersion}`,
        );
        expectEqual(
          (await bench.tenant.agents.getMemoryRecord(key))?.version,
          expectedVersion + 1,
          'one version was used',
        );
      }
    },
  }),

  memory({
    id: 'agents/memory/concurrent-saves-count',
    title: 'Concurrent saves each get their own version',
    proves: ['AGT-5'],
    async run(bench) {
      const key = bench.id('key');
      const clients = [bench.tenant.agents, await peerAgents(bench)];
      const saves = Array.from({ length: 20 }, (_, n) => clients[n % 2]!.saveMemoryState(key, { n }));
      const versions = (await Promise.all(saves)).map((saved) => saved.version);
      expectEqual(
        [...versions].sort((a, b) => a - b),
        Array.from({ length: 20 }, (_, n) => n + 1),
        'no version is used twice',
      );
      const last = await bench.tenant.agents.loadMemoryState(key);
      expectEqual(last?.n, versions.indexOf(20), 'the state is that of the last version');
    },
  }),

  memory({
    id: 'agents/memory/retried-save-hears-the-same',
    title: 'A save retried with the same request id returns the same version',
    proves: ['GEN-8', 'AGT-5'],
    async run(bench) {
      const { agents } = bench.tenant;
      for (const expectedVersion of [undefined, 0]) {
        const key = bench.id('key');
        const options = { expectedVersion, requestId: bench.id('request') };
        expectEqual(
          await agents.saveMemoryState(key, memoryState(), options),
          { version: 1 },
          'the save returns version 1',
        );
        expectEqual(
          await agents.saveMemoryState(key, memoryState(), options),
          { version: 1 },
          'the retry returns the same version',
        );
        expectEqual((await agents.getMemoryRecord(key))?.version, 1, 'the retry wrote nothing');
        const next = { requestId: bench.id('request') };
        expectEqual(
          await agents.saveMemoryState(key, memoryState(2), next),
          { version: 2 },
          'a different request id is a different write',
        );
      }
    },
  }),

  memory({
    id: 'agents/memory/keys-are-compared-whole',
    title: 'Keys match only when all of their parts are equal',
    proves: ['000 save_memory_state', 'AGT-5', 'GEN-5'],
    async run(bench) {
      const { agents } = bench.tenant;
      const keys = [
        'a:b:c',
        'a:b',
        'a',
        'a::b',
        'a:b:',
        ':a:b',
        'a%3Ab',
        'a\\:b',
        'A:b',
        'kv:v1:t:u:s:session:ns:key',
        `k:${'x'.repeat(510)}`,
      ];
      await inOrder(keys, (key) => agents.saveMemoryState(key, { key }));
      for (const key of keys)
        expectEqual(await agents.loadMemoryState(key), { key }, `the key ${key} has its own state`);
      expectEqual(await agents.loadMemoryState('a:'), null, 'a prefix of keys is not a key');
    },
  }),

  memory({
    id: 'agents/memory/listed-by-prefix-as-text',
    title: 'A key prefix matches as plain text, without wildcards',
    proves: ['AGT-5', 'GEN-5'],
    async run(bench) {
      const { agents } = bench.tenant;
      const keys = ['a%b', 'a_b', 'axb', 'a*b', 'a?b', 'a[x]b', 'a\\b', 'ab', 'A%b', 'a', "a'b"];
      await inOrder(keys, (key) => agents.saveMemoryState(key, { key }));
      for (const prefix of ['a%', 'a_', 'a*', 'a?', 'a[x]', 'a[', 'a\\', "a'", 'a', 'b', 'a%b']) {
        const listed = (await agents.listMemory({ prefix })).items.map((item) => item.key);
        const expected = keys.filter((key) => key.startsWith(prefix)).sort();
        expectEqual(listed, expected, `the prefix ${prefix} matches keys that start with it and nothing else`);
      }
    },
  }),

  memory({
    id: 'agents/memory/listed-in-byte-order',
    title: 'Keys are listed in byte order, page by page, without their states',
    proves: ['AGT-5', 'GEN-5'],
    async run(bench) {
      const { agents } = bench.tenant;
      // U+FFFD sorts before an emoji by UTF-8 bytes, after it by UTF-16 units.
      const keys = ['\u{1F600}', '\uFFFD', 'é', 'z', 'a.b', 'a', 'Z', 'a/b', '~'];
      await inOrder(keys, (key) => agents.saveMemoryState(key, { key }));
      const byBytes = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      expectEqual((await agents.listMemory({ limit: 2 })).items.length, 2, 'a page holds as many as its limit');
      const listed = await allPages((cursor) => agents.listMemory({ cursor, limit: 2 }));
      expectEqual(
        listed.map((item) => item.key),
        byBytes,
        'every key once, in byte order',
      );
      expect(
        listed.every((item) => item.version === 1 && !('state' in item)),
        'listed with version and without state',
      );
    },
  }),

  memory({
    id: 'agents/memory/deleted-is-gone',
    title: 'A deleted state is gone and can be saved again',
    proves: ['AGT-5'],
    async run(bench) {
      const { agents } = bench.tenant;
      const [key, other] = [bench.id('key'), bench.id('key')];
      await inOrder([key, other], (one) => agents.saveMemoryState(one, memoryState()));
      expectEqual(await agents.deleteMemoryState(key), true, 'delete returns true for a stored state');
      expectEqual(await agents.deleteMemoryState(key), false, 'delete returns false for a missing state');
      expectEqual(await agents.loadMemoryState(key), null, 'a deleted state is gone');
      expectEqual(
        (await agents.listMemory()).items.map((item) => item.key),
        [other],
        'a deleted state is not listed',
      );
      expectEqual(await agents.loadMemoryState(other), memoryState(), 'other keys stay');
      await agents.saveMemoryState(key, memoryState(2), { expectedVersion: 0 });
      expectEqual(await agents.loadMemoryState(key), memoryState(2), 'a conditional save sees it as absent');
    },
  }),

  memory({
    id: 'agents/memory/deleted-at-a-version',
    title: 'A delete with expectedVersion leaves a state that was saved since',
    proves: ['AGT-5'],
    async run(bench) {
      const { agents } = bench.tenant;
      const key = bench.id('key');
      const { version } = await agents.saveMemoryState(key, memoryState());
      const next = await agents.saveMemoryState(key, memoryState(2));
      await expectCode('VERSION_CONFLICT', 'the version is not the current one', () =>
        agents.deleteMemoryState(key, { expectedVersion: version }),
      );
      expectEqual(await agents.loadMemoryState(key), memoryState(2), 'the state is unchanged');
      expectEqual(
        await agents.deleteMemoryState(key, { expectedVersion: next.version }),
        true,
        'the current version is deleted',
      );
      expectEqual(await agents.loadMemoryState(key), null, 'the state is gone');
      expectEqual(
        await agents.deleteMemoryState(key, { expectedVersion: next.version }),
        false,
        'there is nothing left',
      );
    },
  }),
];

/** Versions of memory states: they continue after a delete, and retried requests return theirs (AGT-5, GEN-8). */
import { expect, expectCode, expectEqual } from '../../expect.ts';
import { upTo } from '../iterate.ts';
import { casesOf, memoryState, peerAgents } from './samples.ts';

const memory = casesOf('agents', 'memory');

/** More requests than a state has to remember itself. */
const MANY = 90;

export const MEMORY_VERSION_CASES = [
  memory({
    id: 'agents/memory/versions-go-on-after-a-delete',
    title: 'A state saved after a delete gets a version that was never used before',
    proves: ['AGT-5'],
    async run(bench) {
      const { agents } = bench.tenant;
      const key = bench.id('key');
      await agents.saveMemoryState(key, memoryState(1));
      await agents.saveMemoryState(key, memoryState(2));
      await agents.deleteMemoryState(key);
      for (const expectedVersion of [1, 2]) {
        const { current } = await expectCode(
          'VERSION_CONFLICT',
          `version ${expectedVersion} does not exist any more`,
          () => agents.saveMemoryState(key, memoryState(9), { expectedVersion }),
        );
        expectEqual(current, 0, 'an absent state has version 0');
      }
      const { version } = await agents.saveMemoryState(key, memoryState(3), { expectedVersion: 0 });
      expectEqual(version, 3, 'versions continue after the delete');
      for (const expectedVersion of [0, 1, 2]) {
        await expectCode(
          'VERSION_CONFLICT',
          `a stale version ${expectedVersion} does not overwrite the new state`,
          () => agents.saveMemoryState(key, memoryState(9), { expectedVersion }),
        );
        if (expectedVersion === 0) continue;
        await expectCode('VERSION_CONFLICT', 'a stale version does not delete the new state', () =>
          agents.deleteMemoryState(key, { expectedVersion }),
        );
      }
      expectEqual(await agents.loadMemoryState(key), memoryState(3), 'the state is the one saved last');
      expectEqual((await agents.listMemory()).items.length, 1, 'the state is listed once');
    },
  }),

  memory({
    id: 'agents/memory/versions-beside-deletes',
    title: 'Concurrent saves and deletes never use a version twice',
    proves: ['AGT-5'],
    async run(bench) {
      const clients = [bench.tenant.agents, await peerAgents(bench)];
      const key = bench.id('key');
      const versions: number[] = [];
      const save = async (n: number) => {
        versions.push((await clients[n % 2]!.saveMemoryState(key, memoryState(n))).version);
      };
      const remove = (n: number) => clients[(n + 1) % 2]!.deleteMemoryState(key);
      for (const round of upTo(5)) await Promise.all(upTo(6).flatMap((n) => [save(n), remove(n + round)]));
      expectEqual(new Set(versions).size, versions.length, 'every save has a different version');
      const { version } = await clients[0]!.saveMemoryState(key, memoryState());
      expect(version > Math.max(...versions), 'the next save has a higher version than all others');
    },
  }),

  memory({
    id: 'agents/memory/requests-outlive-the-state',
    title: 'A retried save or delete returns its first result, even if the state was deleted or saved since',
    proves: ['GEN-8', 'AGT-5'],
    async run(bench) {
      const { agents } = bench.tenant;
      const key = bench.id('key');
      const save = () => agents.saveMemoryState(key, memoryState(1), { expectedVersion: 0, requestId: 'save' });
      const remove = () => agents.deleteMemoryState(key, { requestId: 'remove' });
      expectEqual([await save(), await remove()], [{ version: 1 }, true], 'a state is saved and deleted');
      expectEqual(
        [await save(), await agents.loadMemoryState(key)],
        [{ version: 1 }, null],
        'the retried save is not applied again',
      );
      expectEqual(await remove(), true, 'the retried delete returns its first result');
      await agents.saveMemoryState(key, memoryState(2));
      expectEqual(
        [await remove(), await save()],
        [true, { version: 1 }],
        'the retried delete returns its first result when another state is stored',
      );
      expectEqual(await agents.loadMemoryState(key), memoryState(2), 'the other state stays');
      expectEqual(
        await agents.deleteMemoryState(bench.id('none'), { requestId: 'none' }),
        false,
        'there is nothing to delete',
      );
    },
  }),

  memory({
    id: 'agents/memory/many-requests-of-one-key',
    title: 'Each of many saves of one key is remembered for minutes, with its version',
    proves: ['GEN-8', 'AGT-5'],
    async run(bench) {
      const { agents } = bench.tenant;
      const key = bench.id('key');
      const save = (n: number) => agents.saveMemoryState(key, memoryState(n), { requestId: `request-${n}` });
      for (const n of upTo(MANY)) expectEqual(await save(n), { version: n }, `save ${n} is version ${n}`);
      for (const n of upTo(MANY)) expectEqual(await save(n), { version: n }, `save ${n} returns version ${n} on retry`);
      expectEqual((await agents.getMemoryRecord(key))?.version, MANY, 'nothing was written again');
      await agents.deleteMemoryState(key);
      for (const n of upTo(MANY))
        expectEqual(await save(n), { version: n }, 'retries after a delete return the same versions');
      expectEqual(await agents.loadMemoryState(key), null, 'the state stays deleted');
    },
  }),
];

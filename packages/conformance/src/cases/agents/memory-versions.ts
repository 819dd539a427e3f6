/** Versions of memory states: they go on after a delete, and requests are remembered with theirs (AGT-5, GEN-8). */
import { expect, expectCode, expectEqual } from '../../expect.ts';
import { upTo } from '../iterate.ts';
import { casesOf, memoryState, peerAgents } from './samples.ts';

const memory = casesOf('agents', 'memory');

/** More than a state need hold itself. */
const MANY = 90;

export const MEMORY_VERSION_CASES = [
  memory({
    id: 'agents/memory/versions-go-on-after-a-delete',
    title: 'A state that is saved after a delete has a version that none had before',
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
          `there is no version ${expectedVersion} any more`,
          () => agents.saveMemoryState(key, memoryState(9), { expectedVersion }),
        );
        expectEqual(current, 0, 'an absent state has version 0');
      }
      const { version } = await agents.saveMemoryState(key, memoryState(3), { expectedVersion: 0 });
      expectEqual(version, 3, 'versions go on where they were');
      for (const expectedVersion of [0, 1, 2]) {
        await expectCode(
          'VERSION_CONFLICT',
          `a stale version ${expectedVersion} does not overwrite the new state`,
          () => agents.saveMemoryState(key, memoryState(9), { expectedVersion }),
        );
        if (expectedVersion === 0) continue;
        await expectCode('VERSION_CONFLICT', 'nor delete it', () => agents.deleteMemoryState(key, { expectedVersion }));
      }
      expectEqual(await agents.loadMemoryState(key), memoryState(3), 'which is what was saved');
      expectEqual((await agents.listMemory()).items.length, 1, 'and is listed once');
    },
  }),

  memory({
    id: 'agents/memory/versions-beside-deletes',
    title: 'Saves and deletes at once never give a version twice',
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
      expectEqual(new Set(versions).size, versions.length, 'every save has a version of its own');
      const { version } = await clients[0]!.saveMemoryState(key, memoryState());
      expect(version > Math.max(...versions), 'and the next one is above them all');
    },
  }),

  memory({
    id: 'agents/memory/requests-outlive-the-state',
    title: 'A retried save or delete is answered as before though the state was deleted or saved since',
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
        'the save is not repeated',
      );
      expectEqual(await remove(), true, 'the delete is answered as before');
      await agents.saveMemoryState(key, memoryState(2));
      expectEqual([await remove(), await save()], [true, { version: 1 }], 'also when another state is there');
      expectEqual(await agents.loadMemoryState(key), memoryState(2), 'which stays');
      expectEqual(await agents.deleteMemoryState(bench.id('none'), { requestId: 'none' }), false, 'nothing to delete');
    },
  }),

  memory({
    id: 'agents/memory/many-requests-of-one-key',
    title: 'Of many saves of one key none is forgotten within minutes, nor are their versions',
    proves: ['GEN-8', 'AGT-5'],
    async run(bench) {
      const { agents } = bench.tenant;
      const key = bench.id('key');
      const save = (n: number) => agents.saveMemoryState(key, memoryState(n), { requestId: `request-${n}` });
      for (const n of upTo(MANY)) expectEqual(await save(n), { version: n }, `save ${n} is version ${n}`);
      for (const n of upTo(MANY)) expectEqual(await save(n), { version: n }, `and is when it is retried`);
      expectEqual((await agents.getMemoryRecord(key))?.version, MANY, 'nothing was written again');
      await agents.deleteMemoryState(key);
      for (const n of upTo(MANY)) expectEqual(await save(n), { version: n }, 'nor after a delete');
      expectEqual(await agents.loadMemoryState(key), null, 'the state stays deleted');
    },
  }),
];

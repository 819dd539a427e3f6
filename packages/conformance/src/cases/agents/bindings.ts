/** Remote bindings: one per trace, task and optional context; saving one again updates it (AGT-3). */
import type { RemoteBinding } from '@tidemark/core';
import { expectEqual } from '../../expect.ts';
import { binding, casesOf, inOrder, peerAgents } from './samples.ts';

const bindings = casesOf('agents', 'bindings');

/** The document does not define an order of bindings, so the cases sort them. */
function sorted(list: RemoteBinding[]): RemoteBinding[] {
  const key = (item: RemoteBinding) => JSON.stringify([item.contextId, item.taskId]);
  return [...list].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

export const BINDING_CASES = [
  bindings({
    id: 'agents/bindings/come-back-whole',
    title: 'A binding is returned as it was saved',
    proves: ['000 save_remote_binding', 'AGT-3'],
    async run(bench) {
      const traceId = bench.id('trace');
      const both = [binding(traceId), binding(traceId, { taskId: 'other', contextId: null })];
      await inOrder(both, (item) => bench.tenant.agents.saveRemoteBinding(item));
      expectEqual(
        sorted(await bench.tenant.agents.listRemoteBindings(traceId)),
        sorted(both),
        'bindings come back as saved',
      );
    },
  }),

  bindings({
    id: 'agents/bindings/unknown-trace-is-empty',
    title: 'An unknown trace has no bindings',
    proves: ['AGT-3', '000 errors'],
    async run(bench) {
      const listed = await bench.tenant.agents.listRemoteBindings(bench.id('unknown'));
      expectEqual(listed, [], 'an unknown trace has no bindings and is not an error');
    },
  }),

  bindings({
    id: 'agents/bindings/saving-again-updates',
    title: 'Saving a binding again updates it and never adds a second',
    proves: ['000 save_remote_binding', '000 idempotency', 'AGT-3'],
    async run(bench) {
      const { agents } = bench.tenant;
      for (const contextId of ['context', null]) {
        const traceId = bench.id('trace');
        await agents.saveRemoteBinding(binding(traceId, { contextId }));
        await agents.saveRemoteBinding(binding(traceId, { contextId }));
        const moved = binding(traceId, { contextId, agentUrl: 'https://elsewhere.example' });
        await agents.saveRemoteBinding(moved);
        expectEqual(
          await agents.listRemoteBindings(traceId),
          [moved],
          `with context ${contextId} there is one binding, the last`,
        );
      }
    },
  }),

  bindings({
    id: 'agents/bindings/contexts-stand-side-by-side',
    title: 'A second context of the same task does not overwrite the first',
    proves: ['000 save_remote_binding', 'AGT-3'],
    async run(bench) {
      const traceId = bench.id('trace');
      const contexts = [null, 'null', 'one', 'two', '-', ' '];
      const all = contexts.map((contextId) =>
        binding(traceId, { contextId, agentUrl: `https://${contextId}.example` }),
      );
      await inOrder(all, (item) => bench.tenant.agents.saveRemoteBinding(item));
      const listed = sorted(await bench.tenant.agents.listRemoteBindings(traceId));
      expectEqual(listed, sorted(all), 'every context, and no context, has its own binding');
    },
  }),

  bindings({
    id: 'agents/bindings/traces-are-apart',
    title: 'A trace lists its own bindings only',
    proves: ['AGT-3'],
    async run(bench) {
      const [one, two] = [bench.id('trace'), bench.id('trace')];
      await bench.tenant.agents.saveRemoteBinding(binding(one));
      await bench.tenant.agents.saveRemoteBinding(binding(two));
      expectEqual(await bench.tenant.agents.listRemoteBindings(one), [binding(one)], 'bindings belong to their trace');
    },
  }),

  bindings({
    id: 'agents/bindings/concurrent-saves-leave-one',
    title: 'Concurrent saves of one binding leave one',
    proves: ['000 save_remote_binding', 'AGT-3'],
    async run(bench) {
      const traceId = bench.id('trace');
      const clients = [bench.tenant.agents, await peerAgents(bench)];
      const saves = Array.from({ length: 20 }, (_, n) =>
        clients[n % 2]!.saveRemoteBinding(binding(traceId, { contextId: null })),
      );
      await Promise.all(saves);
      const listed = await bench.tenant.agents.listRemoteBindings(traceId);
      expectEqual(listed, [binding(traceId, { contextId: null })], 'there is one binding');
    },
  }),
];

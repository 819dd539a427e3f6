/** The KV records of a placed store: each record is on the server of its tenant. */
import type { EngineCall, RecordChange, RecordName, Records, StoredRecord } from '@tidemark/core/engine';
import type { Routes } from './routes.ts';
import { watchAcrossMoves } from './watch.ts';

export function routedRecords(routes: Routes): Records {
  const getOf = (tenantId: string, names: readonly RecordName[], call: EngineCall) =>
    routes.read(tenantId, call, ({ engine }) => engine.kv.get(names, call));
  return {
    async get(names, call) {
      const tenants = new Set(names.map(({ tenantId }) => tenantId));
      if (tenants.size === 1) return getOf(names[0]!.tenantId, names, call);
      const found: (StoredRecord | null)[] = [];
      await Promise.all(
        [...tenants].map(async (tenantId) => {
          const indexes = [...names.keys()].filter((at) => names[at]!.tenantId === tenantId);
          const records = await getOf(
            tenantId,
            indexes.map((at) => names[at]!),
            call,
          );
          for (const [at, index] of indexes.entries()) found[index] = records[at]!;
        }),
      );
      return found;
    },
    getField: (name, field, call) =>
      routes.read(name.tenantId, call, ({ engine }) => engine.kv.getField(name, field, call)),
    write: (write, call) => routes.write(write.name.tenantId, call, ({ engine }) => engine.kv.write(write, call)),
    async batch(writes, call) {
      if (writes.length === 0) return [];
      return routes.write(writes[0]!.name.tenantId, call, ({ engine }) => engine.kv.batch(writes, call));
    },
    scan: (space, tenantId, range, call) =>
      routes.read(tenantId, call, ({ engine }) => engine.kv.scan(space, tenantId, range, call)),
    damagedFields: (tenantId, range, call) =>
      routes.read(tenantId, call, async ({ engine }) => (await engine.kv.damagedFields?.(tenantId, range, call)) ?? []),
    scanIndex: (tenantId, range, call) =>
      routes.read(tenantId, call, ({ engine }) => engine.kv.scanIndex(tenantId, range, call)),
    claimFirst: (tenantId, step, call) =>
      routes.write(tenantId, call, ({ engine }) => engine.kv.claimFirst!(tenantId, step, call)),
    awaitClaims: (tenantId, taskType, call) =>
      routes.write(tenantId, call, ({ engine }) => engine.kv.awaitClaims!(tenantId, taskType, call)),
    async now(call) {
      const { tenantId } = call;
      if (tenantId === undefined || tenantId === null) return routes.first.engine.kv.now(call);
      return routes.read(tenantId, call, ({ engine }) => engine.kv.now(call));
    },
    watch: (space, tenantId, prefix, signal): AsyncIterable<RecordChange> =>
      watchAcrossMoves(routes, { space, tenantId, prefix }, signal),
    removeExpired: (limit, call) => routes.sum(null, call, ({ engine }) => engine.kv.removeExpired(limit, call)),
    tenants: (space, after, limit, call) =>
      routes.tenants(({ engine }, from, count) => engine.kv.tenants(space, from, count, call), after, limit),
    erase: (space, tenantId, limit, call) =>
      routes.write(tenantId, call, ({ engine }) => engine.kv.erase(space, tenantId, limit, call)),
  };
}

/** Damages one value of each layer in its table, without the store and its triggers (KV-12, RUN-14). */
import { expect, it } from 'vitest';
import { checkLayer, fillLayers, LAYERS, type Layer } from '../../../faults/damage-layers.ts';
import { newDatabase, openClient, openStore, WITHOUT_POSTGRES } from './databases.ts';

const DAMAGES: Record<Layer, string> = {
  snapshot: `UPDATE tidemark.run_snapshots
                SET snapshot_data = replace(snapshot_data::text, '"lastEventSeq":3', '"lastEventSeq":2')::json
              WHERE tenant_id = 'default' AND run_id = 'sick'`,
  kv: `UPDATE tidemark.kv_fields SET value = 'kv sicK' WHERE tenant_id = 'default' AND key = 'sick'`,
  memory: `UPDATE tidemark.memory_states SET state = replace(state::text, 'memory sick', 'memory sicK')::json
            WHERE tenant_id = 'default' AND key = 'sick'`,
  artifact: `UPDATE tidemark.artifact_chunks SET bytes = overlay(bytes PLACING 'S' FROM 1) WHERE bytes LIKE 'sick%'`,
};

it.skipIf(WITHOUT_POSTGRES).each(LAYERS)('damage of one %s affects nothing else', async (layer) => {
  const url = await newDatabase();
  const store = await openStore(url);
  const client = await openClient(url);
  await fillLayers(store);
  await client.query('SET session_replication_role = replica');
  expect((await client.query(DAMAGES[layer])).rowCount).toBe(1);
  expect(await checkLayer(store, layer)).toEqual([]);
});

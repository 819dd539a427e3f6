/** Damages one value of each layer in the file, without the store and its triggers (KV-12, RUN-14). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { checkLayer, fillLayers, LAYERS, type Layer } from '../../../faults/damage-layers.ts';
import { sqliteStore } from '../src/index.ts';
import { alter } from './alter.ts';

const DAMAGES: Record<Layer, string> = {
  snapshot: `UPDATE run_snapshots SET snapshot_data = replace(snapshot_data, '"lastEventSeq":3', '"lastEventSeq":2')
              WHERE tenant_id = 'default' AND run_id = 'sick'`,
  kv: `UPDATE kv_fields SET value = CAST('kv sicK' AS BLOB) WHERE tenant_id = 'default' AND key = 'sick'`,
  memory: `UPDATE memory_states SET state = replace(state, 'memory sick', 'memory sicK')
            WHERE tenant_id = 'default' AND key = 'sick'`,
  artifact: `UPDATE artifact_chunks SET bytes = CAST(replace(CAST(bytes AS TEXT), 'sick', 'sicK') AS BLOB)
              WHERE CAST(bytes AS TEXT) LIKE 'sick%'`,
};

it.each(LAYERS)('damage of one %s affects nothing else', async (layer) => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-layers-'));
  const path = join(folder, 'store.db');
  const store = await sqliteStore(path);
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });
  await fillLayers(store);
  expect(alter(path, DAMAGES[layer])).toBe(1);
  expect(await checkLayer(store, layer)).toEqual([]);
});

/**
 * Checks the guarantees of every engine after one stored snapshot, record, memory state or artifact was changed in
 * storage: no wrong data is read, everything else can still be read, and only its owner and operators can see its name.
 * The tests of each engine damage its own storage. `damage-check.ts` covers events and links.
 */
import { isTidemarkError, type Store, textOf } from '@tidemark/core';
import { runEvent } from './run-event.ts';

export const LAYERS = ['snapshot', 'kv', 'memory', 'artifact'] as const;
export type Layer = (typeof LAYERS)[number];

/** The name of the damaged item. Another tenant has an item with the same name. */
export const SICK = 'sick';
const OTHER_TENANT = 'neighbour';
/** The bytes of the damaged artifact. Its reference has a unique name. */
export const BYTES = Buffer.alloc(5_000, 'sick artifact ');

export async function fillLayers(store: Store): Promise<void> {
  for (const tenantId of ['default', OTHER_TENANT]) {
    const view = store.forTenant(tenantId);
    for (const name of [SICK, 'well']) {
      await view.kv.put(name, { text: `kv ${name}` });
      await view.agents.saveMemoryState(name, { text: `memory ${name}` });
      for (const n of [1, 2, 3]) await view.runs.appendEvent({ ...runEvent(name, `${n}`), tenantId });
      await view.runs.refreshSnapshot(name);
    }
    await view.artifacts.putBytes(Buffer.alloc(5_000, 'well artifact '), { filename: 'well' });
  }
  await store.artifacts.putBytes(BYTES, { filename: SICK });
}

/** Reads one item of a layer. Returns `null` if the store refuses it as damaged. */
const READS: Record<Layer, (view: Store, name: string) => Promise<string>> = {
  snapshot: async (view, name) => String((await view.runs.projectSnapshot(name)).lastEventSeq),
  kv: async (view, name) => textOf((await view.kv.get(name))!.fields.text)!,
  memory: async (view, name) => (await view.agents.getMemoryRecord(name))!.state.text as string,
  artifact: async (view, name) => {
    const { items } = await view.artifacts.list({}, { limit: 100 });
    return Buffer.from((await view.artifacts.get(items.find(({ filename }) => filename === name)!.id))!).toString();
  },
};

const RIGHT: Record<Layer, (name: string) => string> = {
  snapshot: () => '3',
  kv: (name) => `kv ${name}`,
  memory: (name) => `memory ${name}`,
  artifact: (name) => Buffer.alloc(5_000, `${name} artifact `).toString(),
};

/** Checks a store with one damaged layer, and returns one sentence for each broken guarantee. */
export async function checkLayer(store: Store, layer: Layer): Promise<string[]> {
  const problems: string[] = [];
  const [owner, other] = [store.forTenant('default'), store.forTenant(OTHER_TENANT)];
  const read = async (who: string, view: Store, name: string, mayRefuse: boolean) => {
    try {
      const found = await READS[layer](view, name);
      if (found !== RIGHT[layer](name)) problems.push(`${who} read ${name} as ${found.slice(0, 100)}`);
    } catch (error) {
      if (!mayRefuse || !isTidemarkError(error, 'CORRUPT_VALUE', 'CORRUPT_EVENT'))
        problems.push(`${who} could not read ${name}: ${String(error)}`);
      else if (layer === 'snapshot')
        problems.push(`${who} was refused a snapshot that events can make: ${String(error)}`);
    }
  };
  // Must run before any read, because a reader of a wrong snapshot replaces it.
  const report = await store.doctor({ deep: true, timeoutMs: 30_000 });
  const isNamed = JSON.stringify(report.findings).includes(SICK) || layer === 'artifact';
  if (report.ok || !isNamed) problems.push('the operator is not shown the damaged item');
  await read('its owner', owner, SICK, true);
  await read('its owner', owner, 'well', false);
  await read('another tenant', other, 'well', false);
  if (layer !== 'artifact') await read('another tenant', other, SICK, false);
  await owner.kv.put('after', { text: 'kv after' });
  await other.runs.appendEvent({ ...runEvent('well', 'after'), tenantId: OTHER_TENANT });
  const { findings } = await other.doctor({ deep: true, timeoutMs: 30_000 });
  const shown = findings.filter(({ check }) => ['stored values', 'quarantine', 'indexes'].includes(check));
  for (const { status, message } of shown)
    if (status === 'fail') problems.push(`another tenant is shown damage that is not its own: ${message}`);
  return problems;
}

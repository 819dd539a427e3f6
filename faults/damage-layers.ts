/**
 * What every engine promises when one stored snapshot, record, memory or artifact is changed past the store: nothing wrong is
 * read, everything beside it is, and only its owner and the operator learn its name. Engines damage their own storage; events and
 * links are in `damage-check.ts`.
 */
import { isTidemarkError, type Store, textOf } from '@tidemark/core';
import { runEvent } from './run-event.ts';

export const LAYERS = ['snapshot', 'kv', 'memory', 'artifact'] as const;
export type Layer = (typeof LAYERS)[number];

/** The name of what is damaged, and of the same thing of another tenant. */
export const SICK = 'sick';
const OTHER_TENANT = 'neighbour';
/** The bytes of the damaged artifact; its reference has a name that no other has. */
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

/** Reads of one thing of a layer; `null` where the store has refused it as damaged. */
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

/** Returns one sentence for each promise that a store breaks in which one layer was damaged. */
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
  // Before anybody reads: a reader of a wrong snapshot replaces it.
  const report = await store.doctor({ deep: true, timeoutMs: 30_000 });
  const isNamed = JSON.stringify(report.findings).includes(SICK) || layer === 'artifact';
  if (report.ok || !isNamed) problems.push('the operator is not told what is damaged');
  await read('its owner', owner, SICK, true);
  await read('its owner', owner, 'well', false);
  await read('another tenant', other, 'well', false);
  if (layer !== 'artifact') await read('another tenant', other, SICK, false);
  await owner.kv.put('after', { text: 'kv after' });
  await other.runs.appendEvent({ ...runEvent('well', 'after'), tenantId: OTHER_TENANT });
  const { findings } = await other.doctor({ deep: true, timeoutMs: 30_000 });
  const told = findings.filter(({ check }) => ['stored values', 'quarantine', 'indexes'].includes(check));
  for (const { status, message } of told)
    if (status === 'fail') problems.push(`another tenant is told of damage that is not its own: ${message}`);
  return problems;
}

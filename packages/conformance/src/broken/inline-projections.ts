/** Broken inline projections: states stored apart from their events, or states that do not match the log. */

import type { AppendOptions, AppendResult, JsonObject, Projection, RunEventInput, Store } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import { type BrokenStore, broken } from './wrap.ts';

interface InlineAppend {
  event: RunEventInput;
  options: AppendOptions;
  projections: readonly Projection<JsonObject>[];
  /** The unbroken view of the event's tenant. */
  view: Store;
}

/** A store that replaces single appends with projections by `append`. */
function appending(
  name: string,
  fault: string,
  caughtBy: string,
  append: (it: InlineAppend) => Promise<AppendResult>,
): BrokenStore {
  return broken(name, fault, `runs/inline-projections-${caughtBy}`, {
    runs: (runs, whole) => ({
      async appendEvent(event, options) {
        if (!Array.isArray(options?.projections)) return runs.appendEvent(event, options);
        const projections = options.projections as Projection<JsonObject>[];
        return append({ event, options, projections, view: whole.forTenant(event.tenantId!) });
      },
    }),
  });
}

const withoutStates = ({ view, event, options: { projections: _, ...options } }: InlineAppend) =>
  view.runs.appendEvent(event, options);

/** Run ids made by the kit need no escaping. */
const keyOf = ({ name, version }: Projection<JsonObject>, runId: string) =>
  `tidemark.projections.${name}.${version}.${runId}`;

function put({ view, event: { runId } }: InlineAppend, projection: Projection<JsonObject>, seq: number, state: object) {
  return view.kv.put(keyOf(projection, runId), { run: runId, seq, state: JSON.stringify(state) });
}

async function refreshAfterwards(it: InlineAppend): Promise<AppendResult> {
  const result = await withoutStates(it);
  await sleep(5);
  for (const projection of it.projections) await projection.refresh(it.view, it.event.runId);
  return result;
}

export const BROKEN_INLINE_PROJECTIONS: readonly BrokenStore[] = [
  appending('states-come-later', 'stores states after their events', 'commit-together', refreshAfterwards),
  appending('events-stay', 'keeps events whose handler throws', 'undo-the-append', refreshAfterwards),
  appending(
    'head-looked-at-before',
    'assumes that its event comes right after the head it read',
    'many-writers',
    async (it) => {
      const seq = (await it.view.runs.headSeq(it.event.runId)) + 1;
      const result = await withoutStates(it);
      for (const projection of it.projections) {
        const { state } = await projection.project(it.view, it.event.runId, { atSeq: seq });
        await put(it, projection, seq, state);
      }
      return result;
    },
  ),
  appending(
    'states-from-now-on',
    'starts a state at the first append that names the projection',
    'catch-up',
    async (it) => {
      const { view, event, projections } = it;
      const head = await view.runs.headSeq(event.runId);
      for (const projection of projections)
        if (!(await view.kv.get(keyOf(projection, event.runId)))) await put(it, projection, head, { count: 0, sum: 0 });
      return view.runs.appendEvent(event, it.options);
    },
  ),
  appending('folds-what-it-knows', 'folds retried events twice', 'fold-once', async (it) => {
    const { view, event, projections } = it;
    const result = await view.runs.appendEvent(event, it.options);
    if (!result.idempotent) return result;
    for (const projection of projections) {
      const { state, lastEventSeq } = (await projection.get(view, event.runId))!;
      await put(it, projection, lastEventSeq, { ...state, count: (state.count as number) + 1 });
    }
    return result;
  }),
  broken(
    'one-state-for-all',
    'keeps one state for the runs of all tenants',
    'runs/inline-projections-stay-within-the-tenant',
    {
      runs: (runs, whole) => ({
        async appendEvent(event, options) {
          const result = await runs.appendEvent(event, options);
          for (const projection of (options?.projections ?? []) as Projection<JsonObject>[]) {
            const key = keyOf(projection, event.runId);
            const record = await whole.forTenant(event.tenantId!).kv.get(key);
            for (const tenantId of (await whole.admin.listTenants()).items)
              await whole.forTenant(tenantId).kv.put(key, record!.fields);
          }
          return result;
        },
      }),
    },
  ),
  appending('no-fence-with-states', 'ignores the fence', 'keep-conditions', ({ view, event, options }) =>
    view.runs.appendEvent(event, { ...options, expectedSeq: undefined }),
  ),
];

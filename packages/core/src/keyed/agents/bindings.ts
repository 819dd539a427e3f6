/**
 * Remote bindings over records. The key is (trace, optional context, task), so saving again updates (AGT-3). Bindings
 * of a router's session are found through `BindingSessions`.
 */
import type { BindingEngine, BindingRow } from '../../engine/agents.ts';
import type { EngineCall } from '../../engine/call.ts';
import type { Fields, RecordName, Records } from '../../engine/records.ts';
import { CONFLICT, type Contention } from '../../tools/contention.ts';
import { joinKey, keyPrefix, splitKey } from '../../tools/joined-keys.ts';
import { inParts } from '../../tools/paging.ts';
import { fieldsOf, textField } from '../../tools/record-fields.ts';
import { scanRecords } from '../scan.ts';
import { BindingSessions, sessionOf } from './binding-sessions.ts';

const PAGE = 100;

export function keyedBindings(records: Records, contention: Contention): BindingEngine {
  const sessions = new BindingSessions(records);
  let lastRecency = 0;

  /**
   * Returns a number above all earlier ones of this process and of the binding. The clock orders the numbers of
   * different processes.
   */
  const nextRecency = async (stored: number, call: EngineCall) => {
    const now = await records.now(call);
    lastRecency = Math.max(lastRecency + 1, stored + 1, now * 1_000);
    return lastRecency;
  };

  return {
    async save(tenantId, binding, call) {
      const { routerSessionId } = binding;
      const name = nameOf(tenantId, binding);
      const before = await contention.settle(call, async () => {
        const [stored] = await records.get([name], call);
        const recency = await nextRecency(stored ? recencyOf(stored) : 0, call);
        if (routerSessionId !== null) await sessions.add(tenantId, routerSessionId, name.key, call);
        const expect = { revision: stored?.revision ?? 0 };
        const set = fieldsOf(withoutNulls({ ...columnsOf(binding), recency }));
        const { applied } = await records.write({ name, mode: 'replace', expect, set, brief: true }, call);
        return applied ? { session: stored ? sessionOf(stored) : null } : CONFLICT;
      });
      if (routerSessionId !== null) await sessions.keep(tenantId, routerSessionId, name.key, call);
      if (before.session !== null && before.session !== routerSessionId)
        await sessions.drop(tenantId, before.session, name.key, call);
    },

    async list(tenantId, traceId, call) {
      const range = { prefix: keyPrefix([traceId]) };
      const bindings: BindingRow[] = [];
      for await (const record of scanRecords(records, 'bindings', tenantId, range, call))
        bindings.push(rowOf(record.key, record));
      return bindings;
    },

    async *readSession(tenantId, routerSessionId, call) {
      const found = await sessions.read(tenantId, routerSessionId, call);
      found.sort((a, b) => recencyOf(b.record) - recencyOf(a.record) || (a.key < b.key ? -1 : 1));
      for (const page of inParts(found, PAGE)) yield page.map(({ key, record }) => rowOf(key, record));
    },

    markTerminal(tenantId, key, call) {
      const name = nameOf(tenantId, key);
      return contention.settle(call, async () => {
        const [stored] = await records.get([name], call);
        if (!stored) return false;
        if (textField(stored, 'isTerminal') === 'true') return true;
        const set = fieldsOf({ isTerminal: 'true', recency: await nextRecency(recencyOf(stored), call) });
        const expect = { revision: stored.revision };
        const { applied } = await records.write({ name, mode: 'merge', expect, set, brief: true }, call);
        return applied || CONFLICT;
      });
    },
  };
}

function nameOf(
  tenantId: string,
  { traceId, contextId, taskId }: Pick<BindingRow, 'traceId' | 'contextId' | 'taskId'>,
) {
  return { space: 'bindings', tenantId, key: joinKey([traceId, contextId, taskId]) } as const satisfies RecordName;
}

function columnsOf({ agentUrl, routerSessionId, isTerminal, details }: BindingRow) {
  return { agentUrl, routerSessionId, isTerminal: isTerminal === null ? null : String(isTerminal), details };
}

function withoutNulls(values: Record<string, string | number | null>): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string | number] => entry[1] !== null),
  );
}

/** Older versions stored no recency. */
function recencyOf(record: { fields: Fields }): number {
  return Number(textField(record, 'recency') ?? 0);
}

function rowOf(key: string, record: { fields: Fields }): BindingRow {
  const [traceId, contextId, taskId] = splitKey(key) as [string, string | null, string];
  const isTerminal = textField(record, 'isTerminal');
  return {
    traceId,
    contextId,
    taskId,
    agentUrl: textField(record, 'agentUrl')!,
    routerSessionId: sessionOf(record),
    isTerminal: isTerminal === null ? null : isTerminal === 'true',
    details: textField(record, 'details'),
  };
}

/** Remote bindings over records. The key is (trace, optional context, task), so saving again updates (AGT-3). */
import type { RemoteBinding } from '../../contracts/agents.ts';
import type { BindingEngine } from '../../engine/agents.ts';
import type { Records, ScannedRecord } from '../../engine/records.ts';
import { joinKey, keyPrefix, splitKey } from '../../tools/joined-keys.ts';
import { fieldsOf, textField } from '../../tools/record-fields.ts';
import { scanRecords } from '../scan.ts';

export function keyedBindings(records: Records): BindingEngine {
  return {
    async save(tenantId, binding, call) {
      const key = joinKey([binding.traceId, binding.contextId, binding.taskId]);
      const name = { space: 'bindings', tenantId, key } as const;
      await records.write({ name, mode: 'replace', set: fieldsOf({ agentUrl: binding.agentUrl }) }, call);
    },

    async list(tenantId, traceId, call) {
      const range = { prefix: keyPrefix([traceId]) };
      const bindings: RemoteBinding[] = [];
      for await (const record of scanRecords(records, 'bindings', tenantId, range, call))
        bindings.push(bindingOf(record));
      return bindings;
    },
  };
}

function bindingOf(record: ScannedRecord): RemoteBinding {
  const [traceId, contextId, taskId] = splitKey(record.key) as [string, string | null, string];
  return { traceId, contextId, taskId, agentUrl: textField(record, 'agentUrl')! };
}

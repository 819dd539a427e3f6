/** Memory over records: a version counted by conditional writes; the record remembers the last requests (AGT-5, GEN-8). */
import type { MemoryEngine } from '../../engine/agents.ts';
import type { RecordName, Records, StoredRecord } from '../../engine/records.ts';
import { REMEMBERED_REQUESTS } from '../../engine/records.ts';
import { CONFLICT, type Contention, Turns } from '../contention.ts';
import { fieldsOf, numberField, textField } from '../fields.ts';
import { joinKey } from '../keys.ts';
import { scanRecords } from '../scan.ts';

/** Memory states are megabytes at times: few are held at a time. */
const SCAN_PAGE = 32;

/** The version that each of the last requests was given, oldest first. */
type Requests = [requestId: string, version: number][];

export function keyedMemory(records: Records, contention: Contention): MemoryEngine {
  const turns = new Turns();
  const nameOf = (tenantId: string, key: string): RecordName => ({ space: 'memory', tenantId, key });

  return {
    save(tenantId, { key, state, ifVersion, requestId }, call) {
      const name = nameOf(tenantId, key);
      const attempt = async () => {
        const [[record], now] = await Promise.all([records.get([name], call), records.now(call)]);
        const requests = requestsOf(record);
        const answered = requests.find(([id]) => id === requestId);
        if (answered) return { saved: true, version: answered[1] };
        const current = record ? numberField(record, 'version') : 0;
        if (ifVersion !== null && ifVersion !== current) return { saved: false, version: current };
        const version = current + 1;
        const expect = { revision: record?.revision ?? 0 };
        // Remembered with its version, which the record's own revision could not tell a retry.
        if (requestId !== null) requests.push([requestId, version]);
        const remembered = JSON.stringify(requests.slice(-REMEMBERED_REQUESTS));
        const set = fieldsOf({ state, version, updatedAt: now, requests: remembered });
        const outcome = await records.write({ name, mode: 'replace', expect, set }, call);
        return outcome.applied ? { saved: true, version } : CONFLICT;
      };
      return turns.take(joinKey([tenantId, key]), call, () => contention.settle(call, attempt));
    },

    async load(tenantId, key, call) {
      const [record] = await records.get([nameOf(tenantId, key)], call);
      return record ? { ...listedRow(key, record), state: textField(record, 'state')! } : null;
    },

    async list(tenantId, range, call) {
      const rows: ReturnType<typeof listedRow>[] = [];
      const scan = { prefix: range.prefix, after: range.after, page: Math.min(range.limit, SCAN_PAGE) };
      for await (const record of scanRecords(records, 'memory', tenantId, scan, call)) {
        rows.push(listedRow(record.key, record));
        if (rows.length === range.limit) break;
      }
      return rows;
    },

    delete(tenantId, { key, ifVersion }, call) {
      const name = nameOf(tenantId, key);
      return contention.settle(call, async () => {
        const [record] = await records.get([name], call);
        const version = record ? numberField(record, 'version') : 0;
        if (!record || (ifVersion !== null && ifVersion !== version)) return { deleted: false, version };
        const expect = { revision: record.revision };
        const outcome = await records.write({ name, mode: 'delete', set: new Map(), expect }, call);
        return outcome.applied ? { deleted: true, version } : CONFLICT;
      });
    },
  };
}

function requestsOf(record: StoredRecord | null | undefined): Requests {
  const text = record ? textField(record, 'requests') : null;
  return text === null ? [] : (JSON.parse(text) as Requests);
}

function listedRow(key: string, record: StoredRecord) {
  return { key, version: numberField(record, 'version'), updatedAt: numberField(record, 'updatedAt') };
}

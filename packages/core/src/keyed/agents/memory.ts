/**
 * Memory over records: a version counted by conditional writes, and the requests that changed it (AGT-5, GEN-8). A
 * deleted state leaves its version and requests for a day, without content.
 */
import {
  type MemoryRequest,
  memoryRequestName,
  memoryRequestsAfter,
  VERSION_KEPT_MS,
  versionOfRequest,
} from '../../agents/memory-requests.ts';
import type { MemoryChange, MemoryEngine } from '../../engine/agents.ts';
import type { EngineCall } from '../../engine/call.ts';
import { REQUEST_KEPT_MS, type RecordName, type Records, type StoredRecord } from '../../engine/records.ts';
import { CONFLICT, type Contention, KeyedMutex } from '../../tools/contention.ts';
import { joinKey } from '../../tools/joined-keys.ts';
import { fieldsOf, numberField, textField } from '../../tools/record-fields.ts';
import { scanRecords } from '../scan.ts';

/** Memory states can be megabytes, so few are read at a time. */
const SCAN_PAGE = 32;
/** The content of a deleted state, for readers that ignore the `deleted` field. */
const NOTHING = 'null';

/** A stored state, deleted or not. */
interface Stored {
  isThere: boolean;
  /** The version of the last save. */
  version: number;
  requests: MemoryRequest[];
  revision: number;
  now: number;
}

export function keyedMemory(records: Records, contention: Contention): MemoryEngine {
  const mutex = new KeyedMutex();
  const nameOf = (tenantId: string, key: string): RecordName => ({ space: 'memory', tenantId, key });

  /** Returns the version a request produced, if it was already applied. */
  const appliedVersion = async (
    tenantId: string,
    { key, requestId, requestIsNew }: MemoryChange,
    { requests }: Stored,
    call: EngineCall,
  ): Promise<number | undefined> => {
    if (requestIsNew) return undefined;
    const version = versionOfRequest(requests, requestId);
    if (version !== undefined) return version;
    const [kept] = await records.get([memoryRequestName(tenantId, key, requestId)], call);
    return kept ? numberField(kept, 'answer') : undefined;
  };

  /** Writes a state at the revision that was read, after storing the dropped requests separately. */
  const write = async (
    tenantId: string,
    { key, requestId }: MemoryChange,
    stored: Stored,
    next: { state: string; version: number; deleted: 1 | null },
    call: EngineCall,
  ): Promise<boolean> => {
    const { state, version, deleted } = next;
    const { now } = stored;
    const { held, left } = memoryRequestsAfter(stored.requests, [requestId, version, now], now);
    await Promise.all(left.map(([id, given]) => storeRequest(tenantId, key, id, given, call)));
    const set = fieldsOf({ state, version, updatedAt: now, requests: JSON.stringify(held) });
    if (deleted !== null) set.set('deleted', Buffer.from('1'));
    const [expect, ttlMs] = [{ revision: stored.revision }, deleted === null ? null : VERSION_KEPT_MS];
    const name = nameOf(tenantId, key);
    return (await records.write({ name, mode: 'replace', expect, set, ttlMs, brief: true }, call)).applied;
  };

  const storeRequest = (tenantId: string, key: string, requestId: string, version: number, call: EngineCall) => {
    const name = memoryRequestName(tenantId, key, requestId);
    return records.write(
      { name, mode: 'replace', set: fieldsOf({ answer: version }), ttlMs: REQUEST_KEPT_MS, brief: true },
      call,
    );
  };

  const read = async (tenantId: string, key: string, call: EngineCall): Promise<Stored> => {
    const [[record], now] = await Promise.all([records.get([nameOf(tenantId, key)], call), records.now(call)]);
    if (!record) return { isThere: false, version: 0, requests: [], revision: 0, now };
    const [version, requests] = [numberField(record, 'version'), textField(record, 'requests')];
    return {
      isThere: isThere(record),
      version,
      requests: requests === null ? [] : (JSON.parse(requests) as MemoryRequest[]),
      revision: record.revision,
      now,
    };
  };

  return {
    save(tenantId, memory, call) {
      const { key, state, expectedVersion } = memory;
      const attempt = async () => {
        const stored = await read(tenantId, key, call);
        const appliedAs = await appliedVersion(tenantId, memory, stored, call);
        if (appliedAs !== undefined) return { saved: true, version: appliedAs };
        const current = stored.isThere ? stored.version : 0;
        if (expectedVersion !== null && expectedVersion !== current) return { saved: false, version: current };
        const version = stored.version + 1;
        const isWritten = await write(tenantId, memory, stored, { state, version, deleted: null }, call);
        return isWritten ? { saved: true, version } : CONFLICT;
      };
      return mutex.run(joinKey([tenantId, key]), call, () => contention.settle(call, attempt));
    },

    async load(tenantId, key, call) {
      const [record] = await records.get([nameOf(tenantId, key)], call);
      return record && isThere(record) ? { ...listedRow(key, record), state: textField(record, 'state')! } : null;
    },

    async list(tenantId, range, call) {
      const rows: ReturnType<typeof listedRow>[] = [];
      const scan = { prefix: range.prefix, after: range.after, page: Math.min(range.limit, SCAN_PAGE) };
      for await (const record of scanRecords(records, 'memory', tenantId, scan, call)) {
        if (range.withDeleted || isThere(record)) rows.push(listedRow(record.key, record));
        if (rows.length === range.limit) break;
      }
      return rows;
    },

    delete(tenantId, memory, call) {
      const { key, expectedVersion } = memory;
      return contention.settle(call, async () => {
        const stored = await read(tenantId, key, call);
        const appliedAs = await appliedVersion(tenantId, memory, stored, call);
        if (appliedAs !== undefined) return { deleted: true, version: appliedAs };
        const { isThere, version } = stored;
        if (!isThere) return { deleted: false, version: 0 };
        if (expectedVersion !== null && expectedVersion !== version) return { deleted: false, version };
        const isWritten = await write(tenantId, memory, stored, { state: NOTHING, version, deleted: 1 }, call);
        return isWritten ? { deleted: true, version } : CONFLICT;
      });
    },

    async erase(tenantId, key, call) {
      const { isThere } = await read(tenantId, key, call);
      await records.write({ name: nameOf(tenantId, key), mode: 'delete', set: new Map(), brief: true }, call);
      return isThere;
    },

    removeExpired(limit, call) {
      return records.removeExpired(limit, call);
    },
  };
}

function isThere(record: Pick<StoredRecord, 'fields'>): boolean {
  return !record.fields.has('deleted');
}

function listedRow(key: string, record: StoredRecord) {
  return { key, version: numberField(record, 'version'), updatedAt: numberField(record, 'updatedAt') };
}

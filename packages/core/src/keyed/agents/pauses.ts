/**
 * Pauses over records (AGT-4): one record per pause. Every step is conditional on the revision that was read, so
 * exactly one claimer or loader succeeds. A consumed pause remains as a tombstone until its expiry, and for as long as
 * the request that consumed it may be retried.
 */
import { timeText } from '../../checks/numbers.ts';
import type { PauseInfo } from '../../contracts/agents.ts';
import type { PauseEngine, PauseRow } from '../../engine/agents.ts';
import type { EngineCall } from '../../engine/call.ts';
import {
  REQUEST_KEPT_MS,
  type RecordName,
  type Records,
  type ScannedRecord,
  type StoredRecord,
} from '../../engine/records.ts';
import { CONFLICT, type Contention } from '../../tools/contention.ts';
import { fieldsOf, numberField, textField } from '../../tools/record-fields.ts';
import { scanRecords } from '../scan.ts';

/** Pauses can have payloads of megabytes, so few are read at a time. */
const SCAN_PAGE = 32;

/** The current state of a pause, in which a claim whose lease has expired is waiting again. */
interface Pause {
  state: PauseInfo['state'];
  record: StoredRecord;
  payload: string | null;
  /** The id of the current or last claim. */
  claimId: string | null;
  leaseUntil: number | null;
  expiresAt: number;
}

export function keyedPauses(records: Records, contention: Contention): PauseEngine {
  const nameOf = (tenantId: string, pauseId: string): RecordName => ({ space: 'pauses', tenantId, key: pauseId });

  /** Reads the current state of a pause, and its record, which may outlive the pause. */
  const readPause = async (name: RecordName, call: EngineCall) => {
    const [[record = null], now] = await Promise.all([records.get([name], call), records.now(call)]);
    return { pause: record && pauseOf(record, now), record, now };
  };

  /** Performs one conditional step. Does not change the expiry, and keeps the record for at least another `keptMs`. */
  const change = async (
    name: RecordName,
    { record }: Pause,
    values: Record<string, string | number | null>,
    call: EngineCall,
    keptMs = 0,
  ): Promise<boolean> => {
    const expect = { revision: record.revision };
    const ttlMs = record.ttlMs !== null && record.ttlMs < keptMs ? keptMs : undefined;
    return (await records.write({ name, mode: 'merge', expect, set: fieldsOf(values), ttlMs }, call)).applied;
  };

  return {
    save(tenantId, row, call) {
      const name = nameOf(tenantId, row.pauseId);
      return contention.settle(call, async () => {
        const { pause, record, now } = await readPause(name, call);
        if (pause?.state === 'consumed') return 'consumed';
        // A save keeps an existing claim, because the claimer may already be resuming.
        const saved = savedFields(row, now);
        const set = fieldsOf(pause ? saved : { ...saved, state: 'waiting', createdAt: now });
        const mode = pause ? 'merge' : 'replace';
        const expect = { revision: record?.revision ?? 0 };
        const outcome = await records.write({ name, mode, expect, set, ttlMs: row.ttlMs }, call);
        return outcome.applied ? 'saved' : CONFLICT;
      });
    },

    claim(tenantId, pauseId, { claimId, leaseMs }, call) {
      const name = nameOf(tenantId, pauseId);
      return contention.settle(call, async () => {
        const { pause, now } = await readPause(name, call);
        if (!pause || pause.payload === null || pause.state === 'consumed') return null;
        if (pause.state === 'claimed') {
          const isRetry = pause.claimId === claimId;
          return isRetry ? { payload: pause.payload, leaseUntil: pause.leaseUntil! } : null;
        }
        // A lease must not outlive its pause.
        const leaseUntil = Math.min(now + leaseMs, pause.expiresAt);
        const claimed = await change(name, pause, { state: 'claimed', claimId, leaseUntil }, call);
        return claimed ? { payload: pause.payload, leaseUntil } : CONFLICT;
      });
    },

    consume(tenantId, pauseId, claimId, call) {
      const name = nameOf(tenantId, pauseId);
      return contention.settle(call, async () => {
        const { pause, record } = await readPause(name, call);
        // The payload is kept for a retry of this request, which gets it even after the pause expired.
        if (isConsumed(record)) return textField(record, 'claimId') === claimId ? textField(record, 'payload') : null;
        if (!pause || (pause.state === 'claimed' && pause.claimId !== claimId)) return null;
        const values = { state: 'consumed', claimId, leaseUntil: null };
        return (await change(name, pause, values, call, REQUEST_KEPT_MS)) ? pause.payload : CONFLICT;
      });
    },

    settle(tenantId, pauseId, claimId, as, call) {
      const name = nameOf(tenantId, pauseId);
      return contention.settle(call, async () => {
        const { pause, record } = await readPause(name, call);
        if (!record || textField(record, 'claimId') !== claimId) return false;
        // A repeated confirm succeeds, even after the pause expired.
        if (isConsumed(record)) return as === 'consumed';
        if (!pause) return false;
        // Uses the stored state and not the current one, because a claim whose lease has expired is valid until another
        // claimer takes over.
        if (textField(record, 'state') !== 'claimed') return as === 'waiting';
        const values = { state: as, payload: as === 'consumed' ? null : pause.payload, leaseUntil: null };
        return (await change(name, pause, values, call, as === 'consumed' ? REQUEST_KEPT_MS : 0)) || CONFLICT;
      });
    },

    bury(tenantId, row, call) {
      const name = nameOf(tenantId, row.pauseId);
      return contention.settle(call, async () => {
        const { pause, record, now } = await readPause(name, call);
        if (pause?.state === 'consumed') return true;
        if (pause?.state === 'claimed') return false;
        const buried = { ...savedFields({ ...row, payload: null }, now), state: 'consumed', createdAt: now };
        const set = fieldsOf(buried);
        const expect = { revision: record?.revision ?? 0 };
        const write = { name, mode: 'replace', expect, set, ttlMs: row.ttlMs } as const;
        return (await records.write(write, call)).applied || CONFLICT;
      });
    },

    async peek(tenantId, pauseId, call) {
      const { pause } = await readPause(nameOf(tenantId, pauseId), call);
      return pause && infoOf(pauseId, pause);
    },

    async payload(tenantId, pauseId, call) {
      const { pause } = await readPause(nameOf(tenantId, pauseId), call);
      return pause?.state === 'waiting' ? pause.payload : null;
    },

    async list(tenantId, range, call) {
      const now = await records.now(call);
      const found: PauseInfo[] = [];
      const scan = { prefix: '', after: range.after, page: SCAN_PAGE };
      for await (const record of scanRecords(records, 'pauses', tenantId, scan, call)) {
        const info = listedInfo(record, now, range.sessionId);
        if (info) found.push(info);
        if (found.length === range.limit) break;
      }
      return found;
    },

    removeExpired(limit, call) {
      return records.removeExpired(limit, call);
    },
  };
}

function isConsumed(record: StoredRecord | null): record is StoredRecord {
  return record !== null && textField(record, 'state') === 'consumed';
}

function savedFields(
  row: Omit<PauseRow, 'payload'> & { payload: string | null },
  now: number,
): Record<string, string | number | null> {
  return {
    payload: row.payload,
    expiresAt: now + row.ttlMs,
    sessionId: row.sessionId,
    taskId: row.taskId,
    reason: row.reason,
  };
}

/** Decodes the current state of a record. Returns `null` from the millisecond of its expiry onwards. */
function pauseOf(record: StoredRecord, now: number): Pause | null {
  const expiresAt = numberField(record, 'expiresAt');
  if (expiresAt <= now) return null;
  const stored = textField(record, 'state') as PauseInfo['state'];
  const leaseUntil = stored === 'claimed' ? numberField(record, 'leaseUntil') : null;
  const lapsed = leaseUntil !== null && leaseUntil <= now;
  return {
    state: lapsed ? 'waiting' : stored,
    record,
    payload: textField(record, 'payload'),
    claimId: textField(record, 'claimId'),
    leaseUntil: lapsed ? null : leaseUntil,
    expiresAt,
  };
}

function listedInfo(record: ScannedRecord, now: number, sessionId: string | null): PauseInfo | null {
  if (sessionId !== null && textField(record, 'sessionId') !== sessionId) return null;
  const pause = pauseOf(record, now);
  return pause && infoOf(record.key, pause);
}

function infoOf(pauseId: string, { state, record, leaseUntil, expiresAt }: Pause): PauseInfo {
  const info: PauseInfo = {
    pauseId,
    state,
    createdAt: timeText(numberField(record, 'createdAt')),
    expiresAt: timeText(expiresAt),
  };
  if (leaseUntil !== null) info.leaseUntil = timeText(leaseUntil);
  for (const field of ['sessionId', 'taskId', 'reason'] as const) {
    const value = textField(record, field);
    if (value !== null) info[field] = value;
  }
  return info;
}

/**
 * The answer to a batch, stored under its request id in the same step as the batch, so that a retry returns the first
 * result (GEN-8, KV-10). It is a list of `[revision, existed]`, with 0 for no record and for false.
 */
import type { KvOperationResult } from '../contracts/kv.ts';
import type { RecordName, RecordOutcome, RecordWrite, StoredRecord } from '../engine/records.ts';
import { REQUEST_KEPT_MS } from '../engine/records.ts';
import { fieldsOf, textField } from '../tools/record-fields.ts';
import { requestName } from './requests.ts';

const FIELD = 'answer';

/**
 * Returns the last write of a batch with a request id, which requires that no answer is stored yet. On a retry that
 * condition fails, and with it the batch.
 */
export function answerWrite(tenantId: string, requestId: string): RecordWrite {
  return {
    name: answerName(tenantId, requestId),
    mode: 'replace',
    expect: { exists: false },
    set: new Map(),
    answersBatch: true,
    ttlMs: REQUEST_KEPT_MS,
  };
}

/**
 * No record has an empty key, so this name differs from the names under which requests of single records are stored.
 */
function answerName(tenantId: string, requestId: string): RecordName {
  return requestName({ space: 'kv', tenantId, key: '' }, requestId);
}

/** Returns the answer for the outcomes of the writes so far. */
function batchAnswer(outcomes: readonly Pick<RecordOutcome, 'record' | 'existed'>[]): string {
  return JSON.stringify(outcomes.map(({ record, existed }) => [record?.revision ?? 0, existed ? 1 : 0]));
}

/** Returns the write that stores the answer with the answer filled in, and any other write unchanged. */
export function withAnswer(write: RecordWrite, outcomes: readonly RecordOutcome[]): RecordWrite {
  return write.answersBatch ? { ...write, set: fieldsOf({ [FIELD]: batchAnswer(outcomes) }) } : write;
}

/** Parses a stored answer. */
export function resultsIn(record: StoredRecord): KvOperationResult[] {
  const outcomes = JSON.parse(textField(record, FIELD)!) as [number, number][];
  return outcomes.map(([revision, existed]) => ({
    revision: revision === 0 ? null : revision,
    existed: existed === 1,
  }));
}

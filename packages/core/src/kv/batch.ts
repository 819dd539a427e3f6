/** Batches of operations on several records: one step of the engine, or nothing (KV-10). */
import { corruptValue } from '../checks/damage.ts';
import { checkDuration, checkInteger } from '../checks/numbers.ts';
import { checkBatchBytes, checkOperations, sizeOfFields, type UncheckedOperation } from '../checks/operations.ts';
import { checkOptionalBoolean } from '../checks/text.ts';
import { invalidArgument, TidemarkError } from '../contracts/errors.ts';
import type { KvBatchResult, KvOperationResult, KvUnmetCondition } from '../contracts/kv.ts';
import type { RecordOutcome, RecordWrite, StoredRecord } from '../engine/records.ts';
import { answerWrite, resultsIn } from './batch-answers.ts';
import { meets } from './conditions.ts';
import { compareKeys } from './order.ts';
import { refuseSealedConditions, type Sealing } from './sealing.ts';
import { encodeFields } from './values.ts';

interface BatchSettings {
  tenantId: string;
  sealing: Sealing;
  fieldBytes: number;
  requestId: string | undefined;
}

/** A checked batch. */
export interface BatchPlan {
  /** The writes in byte order of keys, so that two batches lock records in the same order. The answer is last. */
  writes: RecordWrite[];
  /** The index of the operation of each write. */
  order: number[];
}

/** Throws `UNSUPPORTED` unless the store supports batches. */
export function requireBatches(can: boolean): void {
  if (can) return;
  throw new TidemarkError('UNSUPPORTED', 'This store has no kv.atomicBatch; see info.capabilities for what it has', {
    field: 'kv.atomicBatch',
    rule: 'a capability of the store',
  });
}

export function planBatch(operations: unknown, settings: BatchSettings): BatchPlan {
  let bytes = 0;
  const planned = checkOperations(operations).map((operation, at) => {
    const { write, size } = planOperation(operation, `operations[${at}].`, settings);
    bytes += size;
    return { write, at };
  });
  checkBatchBytes(bytes);
  planned.sort((a, b) => compareKeys(a.write.name.key, b.write.name.key));
  const writes = planned.map(({ write }) => write);
  if (settings.requestId !== undefined) writes.push(answerWrite(settings.tenantId, settings.requestId));
  return { writes, order: planned.map(({ at }) => at) };
}

function planOperation(
  { op, key, ...it }: UncheckedOperation,
  at: string,
  { tenantId, sealing, fieldBytes }: BatchSettings,
): { write: RecordWrite; size: number } {
  const encode = (name: 'fields' | 'expected', nulls: boolean) =>
    encodeFields(it[name], `${at}${name}`, fieldBytes, { nulls });
  const expected = it.expected === undefined ? undefined : encode('expected', true);
  const set = op === 'delete' ? new Map<string, Uint8Array | null>() : encode('fields', op === 'setFields');
  if (op !== 'delete' && set.size === 0) throw invalidArgument(`${at}fields`, 'at least one field');
  const write: RecordWrite = {
    name: { space: 'kv', tenantId, key },
    mode: op === 'put' ? 'replace' : op === 'setFields' ? 'merge' : 'delete',
    set: sealing.stored(key, set, { sealed: it.sealed, expected, at }),
  };
  if (op !== 'delete') write.ttlMs = ttlOf(it.ttl, `${at}ttl`, op === 'setFields');
  const expect = {
    exists: checkOptionalBoolean(it.ifExists, `${at}ifExists`) ? true : undefined,
    fields: expected && sealing.comparable(expected),
    revision:
      it.expectedRevision === undefined
        ? undefined
        : checkInteger(it.expectedRevision as number, `${at}expectedRevision`, 0),
  };
  // The result of a failed condition contains the record, so only writes without conditions may omit it.
  if (Object.values(expect).some((condition) => condition !== undefined)) write.expect = expect;
  else write.brief = true;
  return { write, size: sizeOfFields([[key, null], ...set, ...(expected ?? [])]) };
}

/** With `undefined`, a merge keeps the time to live, and a replacement clears it. */
function ttlOf(ttl: unknown, field: string, removable: boolean): number | null | undefined {
  if (ttl === undefined || (ttl === null && removable)) return ttl;
  return checkDuration(ttl as number, field);
}

/** Returns the result of a batch from the outcomes of its writes. */
export function batchResult(
  { writes, order }: BatchPlan,
  outcomes: readonly RecordOutcome[],
  sealing: Sealing,
): KvBatchResult {
  const applied = outcomes.every((outcome) => outcome.applied);
  const answer = writes.length > order.length ? outcomes.at(-1)! : null;
  if (applied) {
    const results = outcomes.slice(0, order.length).map(({ record, existed }) => ({
      revision: record?.revision ?? null,
      existed,
    }));
    return { written: true, results: inOrder(results, order) };
  }
  // The request was already executed: its stored answer made the condition of the last write fail.
  if (answer?.record) return { written: true, results: inOrder(firstResults(answer.record, order), order) };
  return { written: false, unmet: unmetIn({ writes, order }, outcomes, sealing) };
}

function firstResults(answer: StoredRecord, order: readonly number[]): KvOperationResult[] {
  const results = resultsIn(answer);
  if (results.length === order.length) return results;
  throw new TidemarkError('CONFLICT', 'The request id was used for another batch; use a new one', {
    field: 'requestId',
    rule: 'the id of this batch alone',
  });
}

function inOrder(results: readonly KvOperationResult[], order: readonly number[]): KvOperationResult[] {
  const sorted: KvOperationResult[] = [];
  for (const [at, result] of results.entries()) sorted[order[at]!] = result;
  return sorted;
}

/**
 * Returns the condition that did not hold. If there are several, returns the first in the caller's order of operations.
 */
function unmetIn({ writes, order }: BatchPlan, outcomes: readonly RecordOutcome[], sealing: Sealing): KvUnmetCondition {
  for (const index of order.keys()) {
    const at = order.indexOf(index);
    const [{ name, expect }, { record }] = [writes[at]!, outcomes[at]!];
    const unmet = unmetCondition(expect, record);
    if (!unmet) continue;
    refuseSealedConditions(expect?.fields, record?.fields, `operations[${index}].`);
    return { index, key: name.key, ...unmet, record: record && sealing.record(name.key, record) };
  }
  // All conditions hold for the returned records, so the engine compared a damaged field that it did not return.
  throw corruptValue('record', writes[0]!.name.key);
}

function unmetCondition(
  expect: RecordWrite['expect'],
  record: StoredRecord | null,
): Pick<KvUnmetCondition, 'condition' | 'field'> | null {
  const holds = (part: RecordWrite['expect']) => meets({ expect: part }, record ?? undefined);
  if (!holds({ exists: expect?.exists })) return { condition: 'ifExists' };
  if (!holds({ revision: expect?.revision })) return { condition: 'expectedRevision' };
  for (const [field, value] of expect?.fields ?? [])
    if (!holds({ fields: new Map([[field, value]]) })) return { condition: 'expected', field };
  return null;
}

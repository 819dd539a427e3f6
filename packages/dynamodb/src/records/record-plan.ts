/** Decides how a write changes a record that was read, and expresses the change as conditional actions. */
import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import {
  corruptValue,
  type Fields,
  indexKeysOf,
  jobTypeOf,
  meets,
  type RecordName,
  type RecordOutcome,
  type RecordState,
  type RecordWrite,
  recordAfter,
  requestsAfter,
  startsAnew,
} from '@tidemark/core/engine';
import type { Item } from '../client.ts';
import { joined, keyOf, recordPartition, sortKey } from '../keys.ts';
import {
  type Found,
  liveState,
  type PartsOf,
  recordItem,
  removableAt,
  revisionAfter,
  storedRecord,
} from './record-item.ts';
import { newWriteId } from './write-history.ts';

/** The maximum number of request ids in a record. When a record has more, the older half is moved elsewhere. */
const MAX_REQUESTS = 32;

/** The planned change of a record. */
export interface Plan {
  write: RecordWrite;
  before: Found;
  /** The state after the write; `null` when no record is left. */
  after: RecordState | null;
  revision: number;
  writeId: Buffer;
  now: number;
  requests: readonly string[];
  /** Request ids that must be stored outside the record before this write. */
  left: readonly string[];
}

/**
 * Returns the plan of a write whose conditions are met, or the write's outcome when there is nothing to write. Throws
 * `CORRUPT_VALUE` when the write would keep fields of a damaged record.
 */
export function planWrite(write: RecordWrite, before: Found, answered: boolean, now: number): Plan | RecordOutcome {
  const live = liveState(before, now);
  if (live && before.damaged && !startsAnew(write)) throw corruptValue('record', write.name.key);
  const existed = live !== undefined;
  const record = live ? storedRecord(live, now) : null;
  if (answered) return { applied: true, record, existed: existed || write.mode === 'delete' };
  if (!meets(write, live)) return { applied: false, record, existed };
  const revision = revisionAfter(before.revision);
  const after = recordAfter(write, live, revision, now);
  if (after === null && !existed) return { applied: true, record: null, existed };
  const { held, left } = requestsAfter(before.requests, write.requestId, true, MAX_REQUESTS);
  return { write, before, after, revision, writeId: newWriteId(revision), now, requests: held, left };
}

export function isPlan(it: Plan | RecordOutcome): it is Plan {
  return 'writeId' in it;
}

export function outcomeOf({ before, after, now }: Plan): RecordOutcome {
  return {
    applied: true,
    record: after && storedRecord(after, now),
    existed: liveState(before, now) !== undefined,
  };
}

/** Returns the item in its state after the write. */
export function itemAfter(plan: Plan, parts: PartsOf | null): Item {
  const { write, before, after, revision, writeId, requests, left, now } = plan;
  const leftAt = left.length > 0 ? now : before.leftAt;
  return recordItem(write.name, {
    state: after,
    revision,
    writeId,
    writes: before.writes,
    requests,
    leftAt,
    now,
    parts,
  });
}

/** Returns the condition that a record has not changed since it was read. */
export function unchanged({ writes: [last] }: Found): {
  ConditionExpression: string;
  ExpressionAttributeNames: Record<string, string>;
  ExpressionAttributeValues?: Item;
} {
  if (!last) return { ConditionExpression: 'attribute_not_exists(#p)', ExpressionAttributeNames: { '#p': 'p' } };
  return {
    ConditionExpression: '#w = :w',
    ExpressionAttributeNames: { '#w': 'w' },
    ExpressionAttributeValues: { ':w': { B: last } },
  };
}

/** Returns the changes of index entries that a write requires. */
export function indexKeyActions({ write: { name }, before, after }: Plan, table: string): TransactWriteItem[] {
  if (!hasIndexKeys(name)) return [];
  const old = new Set(before.isDeleted ? [] : indexKeysOf(name.key, before.fields));
  const next = new Set(after ? indexKeysOf(name.key, after.fields) : []);
  const actions: TransactWriteItem[] = [];
  const expires = after?.expiresAt ?? null;
  for (const indexKey of next) {
    if (old.has(indexKey) && expires === before.expiresAt) continue;
    const item: Item = {
      ...indexEntryKey(name, indexKey),
      k: { S: name.key },
      a: { S: indexKey },
      o: { S: name.tenantId },
    };
    if (expires !== null) item.e = removableAt(expires);
    actions.push({ Put: { TableName: table, Item: item } });
  }
  for (const indexKey of old)
    if (!next.has(indexKey)) actions.push({ Delete: { TableName: table, Key: indexEntryKey(name, indexKey) } });
  return actions;
}

/** Whether records of this name can have index entries. */
export function hasIndexKeys({ space, key }: RecordName): boolean {
  return space === 'kv' && jobTypeOf(key) !== null;
}

function indexEntryKey(name: RecordName, indexKey: string): Item {
  return keyOf(recordPartition('i', 'kv', name.tenantId), sortKey(joined(name.tenantId, indexKey, name.key)));
}

/** Returns the index entries to delete with a record. */
export function indexKeysToDelete(name: RecordName, fields: Fields): Item[] {
  return hasIndexKeys(name) ? indexKeysOf(name.key, fields).map((indexKey) => indexEntryKey(name, indexKey)) : [];
}

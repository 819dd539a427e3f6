/**
 * Several steps on one record, applied in memory one after the other, for engines that write the results of many steps
 * with one statement. Contains no I/O: the engine reads the record, and writes the rows only if the revision has not
 * changed since.
 */
import {
  corruptValue,
  jobTypeOf,
  meets,
  type RecordName,
  type RecordOutcome,
  type RecordWrite,
  requestName,
  startsAnew,
} from '@tidemark/core/engine';
import { storedRecord } from './rows.ts';
import type { Seen } from './seen.ts';
import { changedBy, type MadeChange, requestsColumn, staysAbsent } from './step.ts';
import { fieldSum, recordStart, recordSum } from './sums.ts';
import { hidesIndexKeys, movedIndexKeys } from './writing.ts';

/** A record as it was read, and the steps to apply to it. */
export interface Chain {
  name: RecordName;
  before: Seen;
  /** The names of all stored field rows of the record. */
  storedFields: readonly string[];
  writes: readonly RecordWrite[];
  /** The request ids that are stored apart from the record. */
  answered: ReadonlySet<string>;
}

/** The rows to write if the record still has the revision that was read. */
export interface ChainRows {
  /** The revision that was read; 0 for an absent record. */
  before: number;
  /** The new revision; 0 removes the record. */
  revision: number;
  expiresAt: number | null;
  requests: string | null;
  sum: number;
  fields: { field: string; value: Uint8Array; sum: number }[];
  goneFields: string[];
  addedIndexKeys: string[];
  removedIndexKeys: string[];
  /** The ids of requests to store. If the record was absent, storing an id fails when the id is already stored. */
  requestIds: { id: string; isNew: boolean }[];
}

export interface ChainPlan {
  /** One outcome per step. They hold once the rows are written. */
  outcomes: (RecordOutcome | Error)[];
  changes: MadeChange[];
  /** `null` if nothing changes. `'alone'` if the steps need a separate transaction. */
  rows: ChainRows | null | 'alone';
}

/** Applies the steps. `nextRevision` returns a new revision for each change. */
export function planChain(chain: Chain, now: number, nextRevision: () => number): ChainPlan {
  const { name, before, writes, answered } = chain;
  const outcomes: (RecordOutcome | Error)[] = [];
  const changes: MadeChange[] = [];
  const [left, executed] = [new Set<string>(), new Set<string>()];
  const touched = new Set<string>();
  let seen = before;
  for (const write of writes) {
    const { requestId } = write;
    if (seen.damaged && !startsAnew(write)) {
      outcomes.push(corruptValue('record', name.key));
      continue;
    }
    const isAnswered =
      requestId !== undefined &&
      !write.requestIsNew &&
      (seen.requests.includes(requestId) || left.has(requestId) || answered.has(requestId));
    const applied = isAnswered || meets(write, seen.state);
    const existed = seen.state !== undefined || (isAnswered && write.mode === 'delete');
    if (applied && !isAnswered && !staysAbsent(write, seen)) {
      const changed = changedBy(write, seen, nextRevision(), now);
      changes.push(changed.change);
      for (const id of changed.left) left.add(id);
      if (requestId !== undefined && !write.requestIsNew) executed.add(requestId);
      const isReplaced = write.mode !== 'merge' || !seen.state;
      const names = isReplaced ? (changed.after.state?.fields.keys() ?? []) : namesIn(write);
      for (const field of names) touched.add(field);
      seen = changed.after;
    }
    outcomes.push({ applied, existed, record: seen.state ? storedRecord(seen.state, seen.now) : null });
  }
  return { outcomes, changes, rows: changes.length === 0 ? null : rowsOf(chain, seen, touched, { left, executed }) };
}

function* namesIn(write: RecordWrite): Iterable<string> {
  yield* write.set.keys();
  if (write.stamps) yield* write.stamps.keys();
}

function rowsOf(
  { name, before, storedFields }: Chain,
  after: Seen,
  touched: ReadonlySet<string>,
  requests: { left: ReadonlySet<string>; executed: ReadonlySet<string> },
): ChainRows | 'alone' {
  const { state } = after;
  const isJob = jobTypeOf(name.key) !== null;
  // A record that these steps create and remove again has no row whose revision could be compared.
  if ((!state && before.storedRevision === 0) || (isJob && hidesIndexKeys(before))) return 'alone';
  const start = recordStart(name.tenantId, name.key);
  const indexKeys = isJob ? movedIndexKeys(name.key, before.state, state) : { added: [], gone: [] };
  const fields: ChainRows['fields'] = [];
  for (const field of touched) {
    const value = state?.fields.get(field);
    if (value) fields.push({ field, value, sum: fieldSum(start, field, value) });
  }
  return {
    before: before.storedRevision,
    revision: after.storedRevision,
    expiresAt: state?.expiresAt ?? null,
    requests: requestsColumn(after.requests),
    sum: state ? recordSum(start, state) : 0,
    fields,
    goneFields: storedFields.filter((field) => !state?.fields.has(field)),
    addedIndexKeys: indexKeys.added,
    removedIndexKeys: indexKeys.gone,
    requestIds: requestsToStore(name, before, requests),
  };
}

/**
 * Returns the request ids to store. An absent record has no row to compare: since the read, a retry may have created it
 * and another request may have removed it. The ids of its requests are therefore stored at once, which fails if the
 * retry has stored them.
 */
function requestsToStore(
  name: RecordName,
  before: Seen,
  { left, executed }: { left: ReadonlySet<string>; executed: ReadonlySet<string> },
): ChainRows['requestIds'] {
  const fenced = before.storedRevision === 0 ? executed : NO_IDS;
  const ids = new Set([...fenced, ...left]);
  return Array.from(ids, (it) => ({ id: requestName(name, it).key, isNew: fenced.has(it) }));
}

const NO_IDS: ReadonlySet<string> = new Set();

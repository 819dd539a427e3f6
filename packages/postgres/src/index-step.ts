/** Finds records by their index keys and plans writes on them, from the rows of one statement. */
import type { IndexedRecord, IndexStep } from '@tidemark/core/engine';
import { type ChainPlan, planChain, type RecordRow, seenRows, storedRecord } from '@tidemark/sql';
import { BinaryArray } from './binary-arrays.ts';
import { type ChainOfGroup, chainsOf, type LookRow, push, type Statement } from './record-group.ts';
import { CLOCK_ROW, LOOK_AT_PLACES, RANGE_PARAMETERS } from './record-group-sql.ts';

/** A result row: a column of `LOOK`, then the index key and the key of the record. */
export type IndexedRow = readonly [...LookRow, place: string | null, key: string | null];

export function indexKeysStatement(tenantId: string, { ranges }: IndexStep): Statement {
  const columns = RANGE_PARAMETERS.map((type) => new BinaryArray(type));
  for (const [no, { from, to, limit }] of ranges.entries()) push(columns, [no, from, to, limit]);
  const arrays = columns.map((column) => column.finish());
  return { text: LOOK_AT_PLACES, values: [tenantId, ...arrays, ranges.length - 1] };
}

/** The writes that the step decided on, planned against the records that were found. */
export interface IndexStepPlan {
  chains: ChainOfGroup[];
  plans: ChainPlan[];
  now: number;
}

export function planIndexStep(tenantId: string, step: IndexStep, rows: readonly IndexedRow[]): IndexStepPlan {
  let [now, revisions] = [0, [] as string[]];
  const ranges = step.ranges.map(() => new Map<string, IndexedRow[]>());
  for (const row of rows) {
    if (row[0] === CLOCK_ROW) [now, revisions] = [Number(row[1]), row[3]?.split(',') ?? []];
    else entryOf(ranges[row[0]]!, `${row[7]}\0${row[8]}`).push(row);
  }
  const stored = new Map<string, RecordRow[]>();
  const found = ranges.map((entries) => ({
    read: entries.size,
    records: Array.from(entries.values()).flatMap((it) => recordOf(tenantId, it, now, stored) ?? []),
  }));
  const chains = chainsOf(step.decide({ ranges: found, now }));
  let issued = 0;
  const nextRevision = () => Number(revisions[issued++]);
  const plans = chains.map(({ name, writes }) => {
    const rowsOfKey = stored.get(name.key)!;
    const before = seenRows(name, rowsOfKey, true);
    const storedFields = rowsOfKey.flatMap(({ field }) => field ?? []);
    return planChain({ name, before, storedFields, writes, answered: new Set() }, now, nextRevision);
  });
  return { chains, plans, now };
}

function entryOf(entries: Map<string, IndexedRow[]>, id: string): IndexedRow[] {
  const known = entries.get(id);
  if (known) return known;
  const rows: IndexedRow[] = [];
  entries.set(id, rows);
  return rows;
}

/** Returns the record of an index key, `null` if it is absent or expired. Adds its rows to `stored`. */
function recordOf(
  tenantId: string,
  rows: readonly IndexedRow[],
  now: number,
  stored: Map<string, RecordRow[]>,
): IndexedRecord | null {
  const [first] = rows;
  const [place, key] = [first![7]!, first![8]!];
  if (first![1] === null) return null;
  const joined = rows.map(
    ([, revision, expires_at, requests, sum, field, value]): RecordRow => ({
      ...{ revision: revision!, expires_at, requests, sum, now, field, value },
    }),
  );
  stored.set(key, joined);
  const seen = seenRows({ space: 'kv', tenantId, key }, joined, true);
  if (!seen.state) return null;
  const record: IndexedRecord = { place, key, ...storedRecord(seen.state, now) };
  if (seen.damaged) record.damaged = true;
  return record;
}

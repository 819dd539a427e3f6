/** Claims of jobs on a single server: one script finds the first ready jobs and writes one for each claim. */
import {
  type EngineCall,
  type FirstClaim,
  type FirstClaimed,
  type FirstClaims,
  JOB_PREFIX,
  type RecordWrite,
  type ScannedRecord,
} from '@tidemark/core/engine';
import { fieldsAfter } from './change.ts';
import { translate } from './errors.ts';
import { fieldArguments } from './field-arguments.ts';
import { placesAfter } from './job-places.ts';
import { expiryMember } from './layout.ts';
import { Encoded } from './protocol/encode.ts';
import type { RecordParts } from './record-parts.ts';
import { bytesOf } from './record-step.ts';
import { CLAIM_FIRST } from './scripts.ts';
import { NO_FIELDS, parseRecord } from './stored-record.ts';
import { sumShift } from './sum-shifts.ts';

/** The reply for one claim: its key, new revision and former fields, 0 if it got no job, or an error. */
type Reply = readonly [key: Buffer, revision: number, fields: Buffer[]] | number | Error;

const STATE = 'state';

export async function claimFirst(
  { commands, layout, hints, sums }: RecordParts,
  tenantId: string,
  step: FirstClaims,
  call: EngineCall,
): Promise<FirstClaimed> {
  const keys = new Encoded();
  for (let bucket = 0; bucket < layout.buckets; bucket++) keys.add(layout.tenants(bucket, 'jobs', tenantId));
  for (const { unless } of step.writes) keys.addReady(layout.addressOnce(unless).argument);
  const writes = step.writes.map((write) => asWrite(tenantId, step.taskType, write));
  const args = claimArguments(tenantId, layout.buckets, step, writes, sums);
  const reply = (await commands.run(CLAIM_FIRST, keys, args, call)) as [number, number, number, ...Reply[]];
  const [now, due, isCut, ...replies] = reply;
  if (due >= 0 && due <= now) return { isDue: true, isCut: false, outcomes: [] };
  const outcomes = replies.map((reply, at): ScannedRecord | Error | null => {
    if (reply instanceof Error) return translate(reply, 'write') as Error;
    if (typeof reply === 'number') return null;
    const [key, revision, flat] = [reply[0].toString(), reply[1], reply[2]];
    const name = { space: 'kv', tenantId, key } as const;
    const bucket = layout.bucketOfRecord(name);
    const before = parseRecord(name, flat)!;
    if (before.damaged) {
      hints.recordChanged({ bucket, revision, name });
      return { key, fields: NO_FIELDS, revision, ttlMs: null, damaged: true };
    }
    const record = { fields: fieldsAfter(before.fields, writes[at]!, now), revision, ttlMs: null };
    hints.recordChanged({ bucket, revision, name, record });
    return { key, ...record };
  });
  return { isDue: false, isCut: isCut === 1, outcomes };
}

/** Returns a claim as a write on a job that has yet to be found. */
function asWrite(tenantId: string, taskType: string, { unless: _, ...claim }: FirstClaim): RecordWrite {
  const name = { space: 'kv', tenantId, key: `${JOB_PREFIX}${taskType}.?` } as const;
  return { name, mode: 'merge', ...claim };
}

/** Returns the arguments in the order `claim-first.lua` reads them. */
function claimArguments(
  tenantId: string,
  buckets: number,
  { due, ready }: FirstClaims,
  writes: readonly RecordWrite[],
  sums: boolean,
): Encoded {
  const claims = new Encoded();
  const tables: string[] = [];
  const from = [STATE, Buffer.from(ready.state)] as [string, Buffer];
  for (const write of writes) addClaim(claims, write, sums ? { from, tables } : null);
  const args = new Encoded()
    .add(due?.from ?? '')
    .add(due?.to ?? '')
    .add(ready.from)
    .add(ready.to)
    .add(ready.state);
  args.add(expiryMember({ space: 'kv', tenantId, key: '' })).addBytes(`${buckets} ${tables.length}`);
  for (const table of tables) args.addBytes(table);
  return args.append(claims);
}

/** Adds the arguments of one claim. `sums` has the field whose checksum is known, and the tables used so far. */
function addClaim(
  args: Encoded,
  write: RecordWrite,
  sums: { from: [string, Uint8Array]; tables: string[] } | null,
): void {
  const { set, stamps, requestId = '' } = write;
  const places = placesAfter(write);
  if (!places) throw new Error('The index entries of a claimed job depend on more than its claim');
  const [values, dropped] = [new Encoded(), new Encoded()];
  let sets = 0;
  for (const [field, value] of set) {
    const { name, companion } = fieldArguments(field);
    if (value === null) {
      dropped.addReady(name).addReady(companion);
      continue;
    }
    sets++;
    const shift = sums && sumShift(sums.from, [field, value]);
    values.addReady(name).add(bytesOf(value)).addReady(companion);
    values
      .addBytes(shift ? String(shift.constant) : '')
      .addBytes(shift ? String(placeIn(sums.tables, shift.table)) : '');
  }
  for (const field of stamps?.keys() ?? []) dropped.addReady(fieldArguments(field).companion);
  const shape = String.fromCharCode(sets, dropped.count, stamps?.size ?? 0, places.length);
  args
    .add(shape + requestId)
    .append(values)
    .append(dropped);
  for (const [field, offset] of stamps ?? []) args.addReady(fieldArguments(field).name).addBytes(String(offset));
  for (const { start, offset } of places) args.addBytes(offset === null ? '' : String(offset)).add(start);
}

/** Returns the position of a table, counted from 1, and adds it if it is new. */
function placeIn(tables: string[], table: string): number {
  const at = tables.indexOf(table);
  return at === -1 ? tables.push(table) : at + 1;
}

/** Claims of jobs on a single server: one script finds the first ready jobs and writes one for each claim. */
import {
  type EngineCall,
  type FirstClaim,
  type FirstClaimed,
  type FirstClaims,
  JOB_PREFIX,
  type ScannedRecord,
  sumBytes,
} from '@tidemark/core/engine';
import type { Argument } from './protocol/encode.ts';
import { translate } from './errors.ts';
import { expiryMember } from './layout.ts';
import type { RecordParts } from './record-parts.ts';
import { stepArguments } from './record-step.ts';
import { sumBeforeKey } from './record-sums.ts';
import { CLAIM_FIRST } from './scripts.ts';
import { NO_FIELDS, parseRecord } from './stored-record.ts';

/** The reply for one claim: its key and fields, 0 if it got no job, or the error that prevented it. */
type Reply = readonly [key: Buffer, fields: Buffer[]] | number | Error;

/** The position of the job type in the arguments of a step. */
const JOB_TYPE = 3;

export async function claimFirst(
  { commands, layout, hints, sums }: RecordParts,
  tenantId: string,
  step: FirstClaims,
  call: EngineCall,
): Promise<FirstClaimed> {
  const { due, ready, writes } = step;
  const keys = Array.from({ length: layout.buckets }, (_, bucket) => layout.tenants(bucket, 'jobs', tenantId));
  const prefix = Buffer.from(`${JOB_PREFIX}${step.taskType}.`);
  const sum = sums ? String(~sumBytes(prefix, sumBeforeKey('kv', tenantId)) >>> 0) : '';
  const expiring = expiryMember({ space: 'kv', tenantId, key: '' });
  const args: Argument[] = [due?.from ?? '', due?.to ?? '', ready.from, ready.to];
  args.push(String(layout.buckets), sum, String(prefix.length + 1), expiring);
  for (const write of writes) {
    keys.push(layout.record(write.unless));
    args.push(...claimArguments(tenantId, step, write, sums));
  }
  const [isDue, isCut, ...replies] = (await commands.write(0, CLAIM_FIRST, keys, args, call)) as [
    number,
    number,
    ...Reply[],
  ];
  const outcomes = replies.map((reply): ScannedRecord | Error | null => {
    if (reply instanceof Error) return translate(reply, 'write') as Error;
    if (typeof reply === 'number') return null;
    const key = reply[0].toString();
    const name = { space: 'kv', tenantId, key } as const;
    const { fields, revision, damaged } = parseRecord(name, reply[1])!;
    const bucket = layout.bucketOfRecord(name);
    if (damaged) {
      hints.recordChanged({ bucket, revision, name });
      return { key, fields: NO_FIELDS, revision, ttlMs: null, damaged };
    }
    const record = { fields, revision, ttlMs: null };
    hints.recordChanged({ bucket, revision, name, record });
    return { key, ...record };
  });
  return { isDue: isDue === 1, isCut: isCut === 1, outcomes };
}

/**
 * Returns the arguments of a claim, in the order `claim-first.lua` reads them. The script fills in the key, and the checksums,
 * which depend on it.
 */
function claimArguments(tenantId: string, { taskType, ready }: FirstClaims, write: FirstClaim, sums: boolean) {
  const { unless: _, ...step } = write;
  const name = { space: 'kv', tenantId, key: '' } as const;
  const expect = { fields: new Map([['state', Buffer.from(ready.state)]]) };
  const args = stepArguments({ name, mode: 'merge', expect, ...step, requestIsNew: true }, true, sums);
  args[JOB_TYPE] = taskType;
  return args;
}

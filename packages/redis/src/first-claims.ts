/** Claims of jobs on a single server: one script finds the first ready jobs and writes one for each claim. */
import type { EngineCall, FirstClaimed, FirstClaims, ScannedRecord } from '@tidemark/core/engine';
import { fieldsAfter } from './change.ts';
import { ClaimKinds, OWN } from './claim-kinds.ts';
import { overloaded, translate } from './errors.ts';
import { expiryMember } from './layout.ts';
import { Encoded } from './protocol/encode.ts';
import type { RecordParts } from './record-parts.ts';
import { CLAIM_FIRST } from './scripts.ts';
import { NO_FIELDS, parseRecord } from './stored-record.ts';

/** The reply for one claim: its key, new revision and former fields, 0 if it got no job, or an error. */
type Reply = readonly [key: Buffer, revision: number, fields: Buffer[]] | number | Error;

export async function claimFirst(
  parts: RecordParts,
  tenantId: string,
  step: FirstClaims,
  call: EngineCall,
): Promise<FirstClaimed> {
  const { commands, layout, sums } = parts;
  const { due, ready, writes } = step;
  const kinds = new ClaimKinds(step, sums);
  const keys = new Encoded();
  for (let bucket = 0; bucket < layout.buckets; bucket++) keys.add(layout.tenants(bucket, 'jobs', tenantId));
  let sent = 0;
  for (const claim of writes) {
    if (!kinds.add(claim)) break;
    keys.addReady(layout.addressOnce(claim.unless).argument);
    sent++;
  }
  const args = new Encoded()
    .add(due?.from ?? '')
    .add(due?.to ?? '')
    .add(ready.from)
    .add(ready.to)
    .add(ready.state);
  args.add(expiryMember({ space: 'kv', tenantId, key: '' })).add(OWN);
  const reply = await commands.run(CLAIM_FIRST, keys, kinds.encode(args, layout.buckets), call);
  const [now, dueAt, isCut, ...replies] = reply as [number, number, number, ...Reply[]];
  if (dueAt >= 0 && dueAt <= now) return { isDue: true, isCut: false, outcomes: [] };
  const outcomes = writes.map((claim, at) =>
    at < sent ? outcomeOf(parts, tenantId, claim, replies[at]!, now) : overloaded(),
  );
  return { isDue: false, isCut: isCut === 1, outcomes };
}

function outcomeOf(
  { layout, hints }: RecordParts,
  tenantId: string,
  claim: FirstClaims['writes'][number],
  reply: Reply,
  now: number,
): ScannedRecord | Error | null {
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
  const record = { key, fields: fieldsAfter(before.fields, claim, now), revision, ttlMs: null };
  hints.recordChanged({ bucket, revision, name, record });
  return record;
}

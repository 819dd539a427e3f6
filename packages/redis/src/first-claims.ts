/** Claims of jobs on a single server: one script finds the first ready jobs and writes one for each claim. */
import type { EngineCall, FirstClaimed, FirstClaims, ScannedRecord } from '@tidemark/core/engine';
import { fieldsAfter } from './change.ts';
import { ClaimFronts, HarmlessChanges, type NewFront } from './claim-fronts.ts';
import { ClaimKinds, OWN } from './claim-kinds.ts';
import { overloaded, translate } from './errors.ts';
import { expiryMember } from './layout.ts';
import { Encoded } from './protocol/encode.ts';
import type { RecordParts } from './record-parts.ts';
import { CHANGE, CLAIM_FIRST } from './scripts.ts';
import { NO_FIELDS, parseRecord } from './stored-record.ts';

/** The reply for one claim: its key, new revision and former fields, 0 if it got no job, or an error. */
type Reply = readonly [key: Buffer, revision: number, fields: Buffer[]] | number | Error;
type Replies = [now: number, dueAt: number, isCut: number, fronts: NewFront[], ...Reply[]];

/** With more queues, all of them are forgotten. */
const MAX_QUEUES = 1_000;

/** The jobs of one type of a tenant. */
interface Queue {
  keys: Encoded;
  kinds: ClaimKinds;
  fronts: ClaimFronts;
}

export class FirstClaimer {
  readonly #parts: RecordParts;
  readonly #queues = new Map<string, Queue>();
  readonly #harmless = new HarmlessChanges();

  constructor(parts: RecordParts) {
    this.#parts = parts;
  }

  /** Called with each change of this process that makes no job ready or delayed. */
  noteHarmless(bucket: number, revision: number): void {
    this.#harmless.note(bucket, revision);
  }

  /** Whether this process claims jobs, so that a claim may follow the end of a job. */
  get isUsed(): boolean {
    return this.#queues.size > 0;
  }

  async claim(tenantId: string, step: FirstClaims, call: EngineCall): Promise<FirstClaimed> {
    const { commands, layout } = this.#parts;
    const { due, ready, writes } = step;
    const { keys: queueKeys, kinds, fronts } = this.#queueOf(tenantId, step);
    const isWanted = fronts.prepare(writes.length, due !== null);
    const { count, kinds: used, claims } = kinds.encode(writes);
    const keys = new Encoded().append(queueKeys);
    for (const { unless } of writes.slice(0, count)) keys.addReady(layout.addressOnce(unless).argument);
    const args = new Encoded()
      .add(due?.from ?? '')
      .add(due?.to ?? '')
      .add(ready.from)
      .add(ready.to)
      .add(ready.state);
    args.add(expiryMember({ space: 'kv', tenantId, key: '' })).add(OWN);
    args.addBytes(`${layout.buckets} ${fronts.count} ${used.length} ${isWanted ? 1 : 0}`);
    fronts.encode(args);
    for (const kind of used) args.append(kind.arguments);
    const sentAt = performance.now();
    // The ends of jobs that wait for this claim. One write to the socket is one flush of the server to its disk.
    commands.sendWaiting(CHANGE);
    const reply = await commands.run(CLAIM_FIRST, keys, args.append(claims), call).catch((error: unknown) => {
      fronts.forget();
      throw error;
    });
    const [now, dueAt, isCut, newFronts, ...replies] = reply as Replies;
    if (isWanted) fronts.update(newFronts, sentAt);
    if (dueAt >= 0 && dueAt <= now) return { isDue: true, isCut: false, outcomes: [] };
    const outcomes = writes.map((claim, at) =>
      at < count ? this.#outcomeOf(tenantId, claim, replies[at]!, now) : overloaded(),
    );
    return { isDue: false, isCut: isCut === 1, outcomes };
  }

  #queueOf(tenantId: string, { taskType, ready }: FirstClaims): Queue {
    const id = `${tenantId}\0${taskType}`;
    const known = this.#queues.get(id);
    if (known) return known;
    const { layout, sums } = this.#parts;
    const keys = new Encoded();
    for (let bucket = 0; bucket < layout.buckets; bucket++) keys.add(layout.tenants(bucket, 'jobs', tenantId));
    for (let bucket = 0; bucket < layout.buckets; bucket++) keys.add(layout.shared(bucket, 'revision'));
    const queue = { keys, kinds: new ClaimKinds(taskType, ready.state, sums), fronts: new ClaimFronts(this.#harmless) };
    if (this.#queues.size >= MAX_QUEUES) this.#queues.clear();
    this.#queues.set(id, queue);
    return queue;
  }

  #outcomeOf(
    tenantId: string,
    claim: FirstClaims['writes'][number],
    reply: Reply,
    now: number,
  ): ScannedRecord | Error | null {
    if (reply instanceof Error) return translate(reply, 'write') as Error;
    if (typeof reply === 'number') return null;
    const { layout, hints } = this.#parts;
    const [key, revision, flat] = [reply[0].toString(), reply[1], reply[2]];
    const name = { space: 'kv', tenantId, key } as const;
    const bucket = layout.bucketOfRecord(name);
    this.#harmless.note(bucket, revision);
    const before = parseRecord(name, flat)!;
    if (before.damaged) {
      hints.recordChanged({ bucket, revision, name });
      return { key, fields: NO_FIELDS, revision, ttlMs: null, damaged: true };
    }
    const record = { key, fields: fieldsAfter(before.fields, claim, now), revision, ttlMs: null };
    hints.recordChanged({ bucket, revision, name, record });
    return record;
  }
}

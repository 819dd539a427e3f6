/**
 * Claims a given job, or the next job of a type in order of priority and age. The engine's conditional write ensures
 * that only one claimer succeeds. Claimers of one process coordinate beforehand, so that they do not try the same job.
 */

import { isTidemarkError } from '../contracts/errors.ts';
import type { JobRef } from '../contracts/jobs.ts';
import type { EngineCall } from '../engine/call.ts';
import type { IndexedRecord, RecordOutcome, Records, RecordWrite, StoredRecord } from '../engine/records.ts';
import { KeyedMutex, overloaded, refuseIfOver } from '../tools/contention.ts';
import { joinKey } from '../tools/joined-keys.ts';
import { fieldsOf } from '../tools/record-fields.ts';
import { type ClaimGroup, newClaimGroup, noteRace, type ReadyScan } from './claim-groups.ts';
import { ExpiredLeases, unchangedSince } from './expired.ts';
import { indexRange, padded, timeOf } from './index-keys.ts';
import {
  closeClaim,
  closedName,
  type IntendedClaim,
  type Intent,
  intentWrite,
  isSameIntent,
  readIntent,
} from './intents.ts';
import { JointClaims } from './joint-claims.ts';
import { claimed, type Move, released, takenOver } from './moves.ts';
import { isHeldBy, jobName, jobOf, stateOf } from './record.ts';
import { scanJobs } from './scan.ts';
import { isHeld, JOB_MOVES, mayMove } from './states.ts';

/** How many ready jobs to read beyond those needed. */
const SPARE = 4;
const MAX_CANDIDATES = 1_000;
/** Begins the ids of new claims on engines that choose the job themselves. */
const CHOSEN_BY_ENGINE = 'first-';
/** How many due delayed jobs one scan releases. */
const RELEASED_AT_ONCE = 100;
const MAX_ROUNDS = 100;

export interface ClaimRequest {
  worker: string;
  claimId: string;
  leaseMs: number;
  /** The claim id was generated for this call, so it cannot be a retry. */
  isNew: boolean;
  /** Whether to take a job whose lease has ended when no job is ready. */
  takeExpired: boolean;
}

/** A claimed record with its key. */
export interface Taken {
  key: string;
  record: StoredRecord;
}

/** A move that claims a job, and its condition. */
type Way = Move & Pick<RecordWrite, 'expect'>;

/** Tries to claim a candidate. Returns `null` if there is no point in trying other candidates. */
type Take = (candidate: IndexedRecord, job: JobRef) => Promise<RecordOutcome | null>;

/** State shared by the claimers of one store, across its views. */
interface Shared {
  groups: Map<string, ClaimGroup>;
  /** New claims that share steps of the engine, on engines that support it. */
  joint: Map<string, JointClaims>;
  /** Runs retries of one claim one after the other, so that each finds the job the previous one claimed. */
  retries: KeyedMutex;
}

const sharedBy = new WeakMap<Records, Shared>();

export class Claimer {
  readonly #records: Records;
  readonly #tenantId: string;
  readonly #random: (length: number) => Uint8Array;
  readonly #shared: Shared;
  readonly #expired: ExpiredLeases;

  constructor(records: Records, tenantId: string, random: (length: number) => Uint8Array) {
    this.#records = records;
    this.#tenantId = tenantId;
    this.#random = random;
    this.#shared = sharedBy.get(records) ?? { groups: new Map(), joint: new Map(), retries: new KeyedMutex() };
    sharedBy.set(records, this.#shared);
    this.#expired = new ExpiredLeases(records, tenantId);
  }

  /** Returns the id of a new claim, which shows a retry whether the engine may still choose a job for it. */
  newClaimId(uuid: string): string {
    return this.#records.claimFirst ? `${CHOSEN_BY_ENGINE}${uuid}` : uuid;
  }

  /**
   * Claims this job if it is ready or due, or if its lease has ended and the claim takes expired ones. On a retry,
   * returns the job that the claim holds, in its current state.
   */
  async takeOne(job: JobRef, by: ClaimRequest, call: EngineCall): Promise<Taken | null> {
    const { key } = jobName(this.#tenantId, job);
    let way: Way = { expect: pendingSince(null), ...claimed(by) };
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const { applied, record } = await this.#records.write(this.#taking(key, by, way), call);
      if (!record) return null;
      if (applied || isHeldBy(record, by.claimId)) return { key, record };
      if (!(await this.#isFree({ key, ...record }, by, call))) return null;
      refuseIfOver(call);
      way = wayToTake(key, record, by);
    }
    throw overloaded('Too many others change this job at once');
  }

  /** Whether the claim may take this job now. */
  async #isFree(seen: StoredRecord & { key: string }, by: ClaimRequest, call: EngineCall): Promise<boolean> {
    const state = stateOf(seen);
    if (state === null || !mayMove(state, 'claim')) return by.takeExpired && this.#expired.mayTake(seen, call);
    const runAt = timeOf(seen.fields, 'run_at');
    return runAt === null || runAt <= (await this.#records.now(call));
  }

  /**
   * Claims the next job of a type for a new claim. Calls `onTry` before each attempt, because if the reply is lost,
   * claiming that job again settles the outcome.
   */
  async takeNext(
    taskType: string,
    by: ClaimRequest,
    call: EngineCall,
    onTry: (job: JobRef) => void,
  ): Promise<Taken | null> {
    if (this.#records.claimFirst) {
      const { claimId } = by;
      const unless = closedName({ tenantId: this.#tenantId, taskType, claimId });
      const write = { ...claimed(by), requestId: claimRequest(by), unless };
      const outcome = await this.#joint(taskType).claim({ call, claimId, write });
      if (typeof outcome !== 'string') return outcome;
      if (outcome === 'none' && !by.takeExpired) return null;
    }
    const take: Take = (candidate, job) => {
      onTry(job);
      return this.#records.write(this.#taking(candidate.key, by, wayToTake(candidate.key, candidate, by)), call);
    };
    return (await this.#takeAny(taskType, by, take, call)) ?? null;
  }

  /** Claims the next job of a type for a claim that may be a retry. All retries get the same job. */
  takeOnce(taskType: string, by: ClaimRequest, call: EngineCall): Promise<Taken | null> {
    const claim = { tenantId: this.#tenantId, taskType, claimId: by.claimId };
    return this.#shared.retries.run(joinKey(Object.values(claim)), call, () => this.#takeOnce(claim, by, call));
  }

  /**
   * Claims a job through a stored intent. Replaces the intent with an intent for another job only once the first can no
   * longer succeed.
   */
  async #takeOnce(claim: IntendedClaim, by: ClaimRequest, call: EngineCall): Promise<Taken | null> {
    const { taskType, claimId } = claim;
    const read = () => readIntent(this.#records, claim, call);
    if (claimId.startsWith(CHOSEN_BY_ENGINE)) await closeClaim(this.#records, claim, call);
    const [held, found] = await Promise.all([this.#findHeld(taskType, claimId, call), read()]);
    if (held) return held;
    let intent = found;
    const take: Take = async (candidate) => {
      const next: Intent = { key: candidate.key, revision: candidate.revision };
      const writes = [intentWrite(claim, intent, next), this.#intended(next, candidate, by)];
      const [, outcome] = await this.#records.batch(writes, call);
      if (outcome!.applied) return outcome!;
      // Either another claimer has the job, or an earlier intent (of this call or of a retry) must be settled first.
      return isSameIntent(await read(), intent) ? outcome! : null;
    };
    for (let round = 0; round < MAX_ROUNDS; round++) {
      refuseIfOver(call);
      if (intent) {
        const name = { space: 'kv', tenantId: this.#tenantId, key: intent.key } as const;
        const [seen = null] = await this.#records.get([name], call);
        const { applied, record } = await this.#records.write(this.#intended(intent, seen, by), call);
        if (applied) return record && { key: intent.key, record };
      }
      const taken = await this.#takeAny(taskType, by, take, call);
      if (taken) return taken;
      // No job is left for this claim, but a retry in another process may have claimed one in the meantime.
      const before = intent;
      intent = await read();
      if (taken === null && isSameIntent(intent, before)) return null;
    }
    throw overloaded('Too many retries of one claim at once');
  }

  /**
   * Returns the write that executes an intent. If the record still has the revision of the intent, the write claims
   * the job; otherwise it only finds out whether the claim already has the job.
   */
  #intended({ key, revision }: Intent, seen: StoredRecord | null, by: ClaimRequest): RecordWrite {
    const way = seen?.revision === revision ? wayToTake(key, seen, by) : claimed(by);
    return this.#taking(key, by, { ...way, expect: { revision } });
  }

  /**
   * Claims the first ready job it can. If there is none, claims the first one with an expired lease, if the claim
   * allows that.
   */
  async #takeAny(
    taskType: string,
    { takeExpired }: ClaimRequest,
    take: Take,
    call: EngineCall,
  ): Promise<Taken | null | undefined> {
    const taken = await this.#takeFirst(taskType, take, call);
    return taken === null && takeExpired ? this.#takeFirstExpired(taskType, take, call) : taken;
  }

  /** Like `#takeFirst`, for jobs whose lease has ended. */
  async #takeFirstExpired(taskType: string, take: Take, call: EngineCall): Promise<Taken | null | undefined> {
    const group = this.#groupOf(taskType);
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const limit = Math.min(SPARE + group.spread + group.taking.size, MAX_CANDIDATES);
      const { candidates, isCut } = await this.#expired.read({ taskType, limit }, call);
      const taken = await this.#takeOneOf(candidates, group, take, call);
      if (taken !== null || !isCut) return taken;
    }
    throw overloaded('Too many others claim jobs of this type at once');
  }

  /** Claims the first ready job it can. Returns `null` when there is none, `undefined` when `take` stopped. */
  async #takeFirst(taskType: string, take: Take, call: EngineCall): Promise<Taken | null | undefined> {
    const group = this.#groupOf(taskType);
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const { candidates, isCut } = await this.#sharedScan(taskType, group, call);
      const taken = await this.#takeOneOf(candidates, group, take, call, (key) => group.taken.has(key));
      if (taken !== null || !isCut) return taken;
    }
    throw overloaded('Too many others claim jobs of this type at once');
  }

  /** Finds the job that a claim holds. */
  async #findHeld(taskType: string, claimId: string, call: EngineCall): Promise<Taken | null> {
    const from = `claim/${taskType}/${claimId}`;
    // '!' sorts before every character of claim ids.
    const range = { from, to: `${from}!`, limit: 1 };
    const [found] = await this.#scan(range, call);
    return found ? { key: found.key, record: found } : null;
  }

  /** Tries the candidates that are not stale one after the other, and does not read again after losing a race. */
  async #takeOneOf(
    candidates: IndexedRecord[],
    group: ClaimGroup,
    take: Take,
    call: EngineCall,
    isStale: (key: string) => boolean = () => false,
  ): Promise<Taken | null | undefined> {
    while (candidates.length > 0) {
      const candidate = this.#choose(candidates, group.spread);
      const { key } = candidate;
      const job = jobOf(key, candidate);
      if (!job || group.taking.has(key) || isStale(key)) continue;
      group.taking.add(key);
      try {
        refuseIfOver(call);
        const outcome = await take(candidate, { taskType: job.taskType, taskId: job.taskId }).catch(ofDamaged);
        if (outcome === 'damaged') continue;
        if (!outcome) {
          candidates.unshift(candidate);
          return undefined;
        }
        const { applied, record } = outcome;
        noteRace(group, applied);
        if (applied) group.taken.add(key);
        if (applied && record) return { key, record };
      } finally {
        group.taking.delete(key);
      }
    }
    return null;
  }

  /** Removes and returns the first candidate, or one of the first of equal rank, so that processes spread out. */
  #choose(candidates: IndexedRecord[], spread: number): IndexedRecord {
    if (spread <= 1) return candidates.shift()!;
    const rank = rankOf(candidates[0]!.indexKey);
    const others = candidates.findIndex(({ indexKey }) => rankOf(indexKey) !== rank);
    const choices = Math.min(spread, others === -1 ? candidates.length : others);
    return candidates.splice(choices > 1 ? this.#random(1)[0]! % choices : 0, 1)[0]!;
  }

  /** Reads the ready jobs once for all waiting claimers. */
  #sharedScan(taskType: string, group: ClaimGroup, call: EngineCall): Promise<ReadyScan> {
    const { tenantId, deadline = Number.POSITIVE_INFINITY } = call;
    // A scan that hangs past its deadline must not block later claimers.
    if (group.waitUntil <= Date.now())
      Object.assign(group, { next: undefined, joined: 0, scanning: Promise.resolve() });
    group.joined++;
    if (group.next) return group.next;
    const scan = group.scanning.then(() => {
      const limit = Math.min(SPARE + Math.max(group.joined, group.spread) + group.taking.size, MAX_CANDIDATES);
      Object.assign(group, { next: undefined, joined: 0, taken: new Set(), waitUntil: deadline });
      return this.#readReady(taskType, limit, { tenantId, deadline });
    });
    const settled = () => {
      group.waitUntil = Number.POSITIVE_INFINITY;
    };
    group.next = scan;
    group.scanning = scan.then(settled, settled);
    return scan;
  }

  async #readReady(taskType: string, limit: number, call: EngineCall): Promise<ReadyScan> {
    await this.#releaseDue(taskType, call);
    const range = { ...indexRange('ready', taskType), limit };
    const candidates = await this.#scan(range, call);
    return { candidates, isCut: candidates.length === limit };
  }

  #joint(taskType: string): JointClaims {
    const id = `${this.#tenantId}\0${taskType}`;
    const known = this.#shared.joint.get(id);
    if (known) return known;
    const joint = new JointClaims({
      records: this.#records,
      tenantId: this.#tenantId,
      taskType,
      releaseDue: (call) => this.#releaseDue(taskType, call),
    });
    this.#shared.joint.set(id, joint);
    return joint;
  }

  #groupOf(taskType: string): ClaimGroup {
    const id = `${this.#tenantId}\0${taskType}`;
    const group = this.#shared.groups.get(id) ?? newClaimGroup();
    this.#shared.groups.set(id, group);
    return group;
  }

  /** Returns the write that claims a job, idempotent per claim. */
  #taking(key: string, by: ClaimRequest, way: Way): RecordWrite {
    const name = { space: 'kv', tenantId: this.#tenantId, key } as const;
    return { name, mode: 'merge', ...way, requestId: claimRequest(by), requestIsNew: by.isNew };
  }

  #scan(range: Parameters<Records['scanIndex']>[1], call: EngineCall): Promise<IndexedRecord[]> {
    return scanJobs(this.#records, this.#tenantId, range, call);
  }

  /** Makes due delayed jobs ready. Reads the clock only when there is a delayed job. */
  async #releaseDue(taskType: string, call: EngineCall): Promise<void> {
    const range = indexRange('delayed', taskType);
    const [first] = await this.#scan({ ...range, limit: 1 }, call);
    if (!first) return;
    const to = `${range.from}${padded((await this.#records.now(call)) + 1)}`;
    if (first.indexKey >= to) return;
    const due = await this.#scan({ from: range.from, to, limit: RELEASED_AT_ONCE }, call);
    refuseIfOver(call);
    const release = ({ key, revision }: IndexedRecord) => {
      const name = { space: 'kv', tenantId: this.#tenantId, key } as const;
      return this.#records.write({ name, mode: 'merge', expect: { revision }, ...released(), brief: true }, call);
    };
    await Promise.all(due.map(release));
  }
}

/** Returns the request id under which a job remembers its claim. */
function claimRequest({ claimId }: ClaimRequest): string {
  return `tidemark.claim ${claimId}`;
}

/** Returns how to claim a job in the state in which it was seen: a ready job, or a job to take over from its holder. */
function wayToTake(key: string, seen: StoredRecord, by: ClaimRequest): Way {
  const job = jobOf(key, seen);
  if (job && isHeld(job.state)) return { expect: unchangedSince(seen), ...takenOver(by, job.retryCount + 1) };
  return { expect: pendingSince(seen.fields.get('run_at') ?? null), ...claimed(by) };
}

/** Returns the condition for claiming a job: it is pending, and was not delayed since it was read. */
function pendingSince(runAt: Uint8Array | null): RecordWrite['expect'] {
  const [state] = JOB_MOVES.claim.from;
  return { fields: new Map([...fieldsOf({ state }), ['run_at', runAt] as const]) };
}

/** A scan shows only damage to fields. A job that turns out to be damaged when it is written must not stop the others. */
function ofDamaged(error: unknown): 'damaged' {
  if (isTidemarkError(error, 'CORRUPT_VALUE')) return 'damaged';
  throw error;
}

/** Returns the priority part of a `ready` index key. */
function rankOf(indexKey: string): string {
  const at = indexKey.lastIndexOf('/') + 1;
  return indexKey.slice(at, at + 4);
}

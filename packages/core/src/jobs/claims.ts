/**
 * Taking a job: this one, or the next of a type in order of priority and age. Of all who try, the engine's conditional
 * write lets one win; claimers of one process keep out of each other's way before they even try.
 */
import type { JobRef } from '../contracts/jobs.ts';
import type { EngineCall } from '../engine/call.ts';
import type { PlacedRecord, RecordOutcome, Records, RecordWrite, StoredRecord } from '../engine/records.ts';
import { KeyedMutex, overloaded, refuseIfOver } from '../tools/contention.ts';
import { joinKey } from '../tools/joined-keys.ts';
import { fieldsOf } from '../tools/record-fields.ts';
import { type IntendedClaim, type Intent, intentWrite, isSameIntent, readIntent } from './intents.ts';
import { claimed, released } from './moves.ts';
import { scanJobs } from './placed.ts';
import { padded, placeRange, timeOf } from './places.ts';
import { isHeldBy, jobName, jobOf, stateOf } from './record.ts';
import { JOB_MOVES, mayMove } from './states.ts';

/** How many ready jobs are looked at besides those that are needed. */
const SPARE = 4;
const MOST_CANDIDATES = 1_000;
/** Among so many of the first jobs claimers choose, at most, when processes get in each other's way. */
const WIDEST_SPREAD = 32;
/** How many delayed jobs one look makes ready when their time has come. */
const RELEASED_AT_ONCE = 100;
const MOST_ROUNDS = 100;

export interface ClaimRequest {
  worker: string;
  claimId: string;
  leaseMs: number;
  /** The claim id was made for this very call, so that it cannot be a retry. */
  isNew: boolean;
}

/** A record that was taken, with its key. */
export interface Taken {
  key: string;
  record: StoredRecord;
}

/** Tries to take a candidate; `null` when there is no use in trying others. */
type Take = (candidate: PlacedRecord, job: JobRef) => Promise<RecordOutcome | null>;

/** Ready jobs that some claimers share; each takes out what it tries. */
interface Look {
  candidates: PlacedRecord[];
  /** Whether there were more than were read. */
  isCut: boolean;
}

/** The claimers of one process, for one type of one tenant. */
interface ClaimGroup {
  /** Keys that are being taken right now. */
  taking: Set<string>;
  /** Keys that were taken since the look under way, or the last one, began: it may show them still. */
  taken: Set<string>;
  /** Among how many of the first jobs to choose: 1 until a race with another process is lost, and again after wins. */
  spread: number;
  /** The look that is under way, and the one after it, which those join who come meanwhile: it shows all they know of. */
  looking: Promise<unknown>;
  next: Promise<Look> | undefined;
  /** How many have joined the next one. */
  joined: number;
  /** When the look under way has to be over. */
  waitUntil: number;
}

/** What the claimers of one store share, whatever view of it they came through. */
interface Shared {
  groups: Map<string, ClaimGroup>;
  /** Retries of one claim go one after the other: each then finds what the one before it took. */
  retries: KeyedMutex;
}

const sharedBy = new WeakMap<Records, Shared>();

export class Claimer {
  readonly #records: Records;
  readonly #tenantId: string;
  readonly #random: (length: number) => Uint8Array;
  readonly #shared: Shared;

  constructor(records: Records, tenantId: string, random: (length: number) => Uint8Array) {
    this.#records = records;
    this.#tenantId = tenantId;
    this.#random = random;
    this.#shared = sharedBy.get(records) ?? { groups: new Map(), retries: new KeyedMutex() };
    sharedBy.set(records, this.#shared);
  }

  /** Takes this job if it is ready, or due; a claim that is retried returns what it took, as it is now. */
  async takeOne(job: JobRef, by: ClaimRequest, call: EngineCall): Promise<Taken | null> {
    const { key } = jobName(this.#tenantId, job);
    let { applied, record } = await this.#records.write(this.#taking(key, by, pendingSince(null)), call);
    if (!applied && record && mayClaim(record)) {
      const runAt = timeOf(record.fields, 'run_at');
      if (runAt !== null && runAt > (await this.#records.now(call))) return null;
      refuseIfOver(call);
      const expect = pendingSince(record.fields.get('run_at') ?? null);
      ({ applied, record } = await this.#records.write(this.#taking(key, by, expect), call));
    }
    return record && (applied || isHeldBy(record, by.claimId)) ? { key, record } : null;
  }

  /**
   * Takes the next ready job of a type for a claim that is new. `onTry` hears of each job before it is tried: when the reply
   * is lost, a claim of that very job settles what became of it.
   */
  async takeNext(
    taskType: string,
    by: ClaimRequest,
    call: EngineCall,
    onTry: (job: JobRef) => void,
  ): Promise<Taken | null> {
    const take: Take = (candidate, job) => {
      onTry(job);
      // Its time to run is still the one that was seen: another may have put it off.
      const expect = pendingSince(candidate.fields.get('run_at') ?? null);
      return this.#records.write(this.#taking(candidate.key, by, expect), call);
    };
    return (await this.#takeFirst(taskType, take, call)) ?? null;
  }

  /** Takes the next ready job of a type for a claim that may be a retry: the same job for all its retries. */
  takeOnce(taskType: string, by: ClaimRequest, call: EngineCall): Promise<Taken | null> {
    const claim = { tenantId: this.#tenantId, taskType, claimId: by.claimId };
    return this.#shared.retries.run(joinKey(Object.values(claim)), call, () => this.#takeOnce(claim, by, call));
  }

  /** An intent is left for another job only once it can never be carried out. */
  async #takeOnce(claim: IntendedClaim, by: ClaimRequest, call: EngineCall): Promise<Taken | null> {
    const { taskType, claimId } = claim;
    const read = () => readIntent(this.#records, claim, call);
    const [held, found] = await Promise.all([this.#findHeld(taskType, claimId, call), read()]);
    if (held) return held;
    let intent = found;
    const take: Take = async (candidate) => {
      const next: Intent = { key: candidate.key, revision: candidate.revision };
      const writes = [intentWrite(claim, intent, next), this.#taking(next.key, by, { revision: next.revision })];
      const [, outcome] = await this.#records.batch(writes, call);
      if (outcome!.applied) return outcome!;
      // The job is another's now; or there is an intent, of a retry or our own, which has to be settled first.
      return isSameIntent(await read(), intent) ? outcome! : null;
    };
    for (let round = 0; round < MOST_ROUNDS; round++) {
      refuseIfOver(call);
      if (intent) {
        const intended = this.#taking(intent.key, by, { revision: intent.revision });
        const { applied, record } = await this.#records.write(intended, call);
        if (applied) return record && { key: intent.key, record };
      }
      const taken = await this.#takeFirst(taskType, take, call);
      if (taken) return taken;
      // Nothing is left for a claim of its own; a retry in another process may have taken something meanwhile.
      const before = intent;
      intent = await read();
      if (taken === null && isSameIntent(intent, before)) return null;
    }
    throw overloaded('Too many retries of one claim at once');
  }

  /** Takes the first ready job that can be; `null` when there is none, `undefined` when `take` gave up. */
  async #takeFirst(taskType: string, take: Take, call: EngineCall): Promise<Taken | null | undefined> {
    const group = this.#groupOf(taskType);
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const { candidates, isCut } = await this.#look(taskType, group, call);
      const taken = await this.#takeOneOf(candidates, group, take, call);
      if (taken !== null || !isCut) return taken;
    }
    throw overloaded('Too many others claim jobs of this type at once');
  }

  /** The job that a claim holds. */
  async #findHeld(taskType: string, claimId: string, call: EngineCall): Promise<Taken | null> {
    const from = `claim/${taskType}/${claimId}`;
    // No claim id has a character as low as this.
    const range = { from, to: `${from}!`, limit: 1 };
    const [found] = await this.#scan(range, call);
    return found ? { key: found.key, record: found } : null;
  }

  /** Tries one after the other, without reading again after a lost race. */
  async #takeOneOf(
    candidates: PlacedRecord[],
    group: ClaimGroup,
    take: Take,
    call: EngineCall,
  ): Promise<Taken | null | undefined> {
    while (candidates.length > 0) {
      const candidate = this.#choose(candidates, group.spread);
      const { key } = candidate;
      const job = jobOf(key, candidate);
      if (!job || group.taking.has(key) || group.taken.has(key)) continue;
      group.taking.add(key);
      try {
        refuseIfOver(call);
        const outcome = await take(candidate, { taskType: job.taskType, taskId: job.taskId });
        if (!outcome) {
          candidates.unshift(candidate);
          return undefined;
        }
        const { applied, record } = outcome;
        group.spread = applied
          ? Math.max(1, Math.floor(group.spread * 0.9))
          : Math.min(group.spread * 2, WIDEST_SPREAD);
        if (applied) group.taken.add(key);
        if (applied && record) return { key, record };
      } finally {
        group.taking.delete(key);
      }
    }
    return null;
  }

  /** Takes out the first one, or any of the first ones of the same rank, so that claimers of many processes spread out. */
  #choose(candidates: PlacedRecord[], spread: number): PlacedRecord {
    const rank = rankOf(candidates[0]!.place);
    const others = candidates.findIndex(({ place }) => rankOf(place) !== rank);
    const choices = Math.min(spread, others === -1 ? candidates.length : others);
    return candidates.splice(choices > 1 ? this.#random(1)[0]! % choices : 0, 1)[0]!;
  }

  /** Ready jobs as of now, read once for all claimers that wait for them. */
  #look(taskType: string, group: ClaimGroup, call: EngineCall): Promise<Look> {
    const { tenantId, deadline = Number.POSITIVE_INFINITY } = call;
    // A look that hangs past its time must not hold up those who come later.
    if (group.waitUntil <= Date.now()) Object.assign(group, { next: undefined, joined: 0, looking: Promise.resolve() });
    group.joined++;
    if (group.next) return group.next;
    const look = group.looking.then(() => {
      const limit = Math.min(SPARE + Math.max(group.joined, group.spread) + group.taking.size, MOST_CANDIDATES);
      Object.assign(group, { next: undefined, joined: 0, taken: new Set(), waitUntil: deadline });
      return this.#readReady(taskType, limit, { tenantId, deadline });
    });
    const settled = () => {
      group.waitUntil = Number.POSITIVE_INFINITY;
    };
    group.next = look;
    group.looking = look.then(settled, settled);
    return look;
  }

  async #readReady(taskType: string, limit: number, call: EngineCall): Promise<Look> {
    await this.#releaseDue(taskType, call);
    const range = { ...placeRange('ready', taskType), limit };
    const candidates = await this.#scan(range, call);
    return { candidates, isCut: candidates.length === limit };
  }

  #groupOf(taskType: string): ClaimGroup {
    const id = `${this.#tenantId}\0${taskType}`;
    const group = this.#shared.groups.get(id) ?? newClaimGroup();
    this.#shared.groups.set(id, group);
    return group;
  }

  /** The step that takes a job, once for a claim. */
  #taking(key: string, by: ClaimRequest, expect: RecordWrite['expect']): RecordWrite {
    const name = { space: 'kv', tenantId: this.#tenantId, key } as const;
    const requestId = `tidemark.claim ${by.claimId}`;
    return { name, mode: 'merge', expect, ...claimed(by), requestId, requestIsNew: by.isNew };
  }

  #scan(range: Parameters<Records['scanPlaces']>[1], call: EngineCall): Promise<PlacedRecord[]> {
    return scanJobs(this.#records, this.#tenantId, range, call);
  }

  /** Makes delayed jobs ready whose time has come; the clock is read only when there is a delayed one. */
  async #releaseDue(taskType: string, call: EngineCall): Promise<void> {
    const range = placeRange('delayed', taskType);
    const [first] = await this.#scan({ ...range, limit: 1 }, call);
    if (!first) return;
    const to = `${range.from}${padded((await this.#records.now(call)) + 1)}`;
    if (first.place >= to) return;
    const due = await this.#scan({ from: range.from, to, limit: RELEASED_AT_ONCE }, call);
    refuseIfOver(call);
    const release = ({ key, revision }: PlacedRecord) => {
      const name = { space: 'kv', tenantId: this.#tenantId, key } as const;
      return this.#records.write({ name, mode: 'merge', expect: { revision }, ...released(), brief: true }, call);
    };
    await Promise.all(due.map(release));
  }
}

function newClaimGroup(): ClaimGroup {
  const never = Number.POSITIVE_INFINITY;
  const [taking, taken] = [new Set<string>(), new Set<string>()];
  return { taking, taken, spread: 1, looking: Promise.resolve(), next: undefined, joined: 0, waitUntil: never };
}

function mayClaim(record: StoredRecord): boolean {
  const state = stateOf(record);
  return state !== null && mayMove(state, 'claim');
}

/** What must hold of a job that is ready or due: it is pending, and to run when it was seen to be. */
function pendingSince(runAt: Uint8Array | null): RecordWrite['expect'] {
  const [state] = JOB_MOVES.claim.from;
  return { fields: new Map([...fieldsOf({ state }), ['run_at', runAt] as const]) };
}

/** The part of a ready place that is its priority's. */
function rankOf(place: string): string {
  const at = place.lastIndexOf('/') + 1;
  return place.slice(at, at + 4);
}

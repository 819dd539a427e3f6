/**
 * Taking a job: this one, or the next of a type in order of priority and age. Of all who try, the engine's conditional
 * write lets one win; claimers of one process keep out of each other's way before they even try.
 */
import type { JobRef } from '../contracts/jobs.ts';
import type { PlacedRecord, RecordOutcome, Records, StoredRecord } from '../engine/records.ts';
import type { EngineCall } from '../engine/runs.ts';
import { overloaded, refuseIfOver } from '../keyed/contention.ts';
import { fieldsOf, textField } from '../keyed/fields.ts';
import { claimed, released } from './moves.ts';
import { scanJobs } from './placed.ts';
import { padded, placeRange, timeOf } from './places.ts';
import { jobName, jobOf, stateOf } from './record.ts';

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
}

/** A record that was taken, with its key. */
export interface Taken {
  key: string;
  record: StoredRecord;
}

/** Ready jobs that some claimers share; each takes out what it tries. */
interface Look {
  candidates: PlacedRecord[];
  /** Whether there were more than were read. */
  isCut: boolean;
}

/** The claimers of one process, for one type of one tenant. */
interface Crowd {
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

/** Whatever view of the store they came through. */
const crowds = new WeakMap<Records, Map<string, Crowd>>();

export class Claimer {
  readonly #records: Records;
  readonly #tenantId: string;
  readonly #random: (length: number) => Uint8Array;
  readonly #crowds: Map<string, Crowd>;

  constructor(records: Records, tenantId: string, random: (length: number) => Uint8Array) {
    this.#records = records;
    this.#tenantId = tenantId;
    this.#random = random;
    this.#crowds = crowds.get(records) ?? new Map();
    crowds.set(records, this.#crowds);
  }

  /** Takes this job if it is ready, or due; a claim sent again finds what it took. */
  async takeOne(job: JobRef, by: ClaimRequest, call: EngineCall): Promise<Taken | null> {
    const name = jobName(this.#tenantId, job);
    let { applied, record } = await this.#take(name.key, by, null, call);
    if (!applied && record && stateOf(record) === 'pending') {
      const runAt = timeOf(record.fields, 'run_at');
      if (runAt !== null && runAt > (await this.#records.now(call))) return null;
      refuseIfOver(call);
      ({ applied, record } = await this.#take(name.key, by, record.fields.get('run_at') ?? null, call));
    }
    return record && (applied || isHeldBy(record, by.claimId)) ? { key: name.key, record } : null;
  }

  /**
   * Takes the next ready job of a type. `onTry` hears of each job before it is tried: when the reply is lost, sending the
   * claim of that very job again settles what became of it.
   */
  async takeNext(
    taskType: string,
    by: ClaimRequest,
    call: EngineCall,
    onTry: (job: JobRef) => void,
  ): Promise<Taken | null> {
    const crowd = this.#crowdOf(taskType);
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const { candidates, isCut } = await this.#look(taskType, crowd, call);
      const taken = await this.#takeOneOf(candidates, crowd, by, call, onTry);
      if (taken || !isCut) return taken;
    }
    throw overloaded('Too many others claim jobs of this type at once');
  }

  /** The job that a claim has taken, for a claim that is sent again. */
  async find(taskType: string, claimId: string, call: EngineCall): Promise<Taken | null> {
    const from = `claim/${taskType}/${claimId}`;
    // No claim id has a character as low as this.
    const range = { from, to: `${from}!`, limit: 1 };
    const [found] = await this.#scan(range, call);
    return found ? { key: found.key, record: found } : null;
  }

  /** Tries one after the other, without reading again after a lost race. */
  async #takeOneOf(
    candidates: PlacedRecord[],
    crowd: Crowd,
    by: ClaimRequest,
    call: EngineCall,
    onTry: (job: JobRef) => void,
  ): Promise<Taken | null> {
    while (candidates.length > 0) {
      const candidate = this.#choose(candidates, crowd.spread);
      const { key } = candidate;
      const job = jobOf(key, candidate);
      if (!job || crowd.taking.has(key) || crowd.taken.has(key)) continue;
      crowd.taking.add(key);
      try {
        refuseIfOver(call);
        onTry({ taskType: job.taskType, taskId: job.taskId });
        const { applied, record } = await this.#take(key, by, candidate.fields.get('run_at') ?? null, call);
        crowd.spread = applied
          ? Math.max(1, Math.floor(crowd.spread * 0.9))
          : Math.min(crowd.spread * 2, WIDEST_SPREAD);
        if (applied) crowd.taken.add(key);
        if (applied && record) return { key, record };
      } finally {
        crowd.taking.delete(key);
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
  #look(taskType: string, crowd: Crowd, call: EngineCall): Promise<Look> {
    const { tenantId, deadline = Number.POSITIVE_INFINITY } = call;
    // A look that hangs past its time must not hold up those who come later.
    if (crowd.waitUntil <= Date.now()) Object.assign(crowd, { next: undefined, joined: 0, looking: Promise.resolve() });
    crowd.joined++;
    if (crowd.next) return crowd.next;
    const look = crowd.looking.then(() => {
      const limit = Math.min(SPARE + Math.max(crowd.joined, crowd.spread) + crowd.taking.size, MOST_CANDIDATES);
      Object.assign(crowd, { next: undefined, joined: 0, taken: new Set(), waitUntil: deadline });
      return this.#readReady(taskType, limit, { tenantId, deadline });
    });
    const settled = () => {
      crowd.waitUntil = Number.POSITIVE_INFINITY;
    };
    crowd.next = look;
    crowd.looking = look.then(settled, settled);
    return look;
  }

  async #readReady(taskType: string, limit: number, call: EngineCall): Promise<Look> {
    await this.#releaseDue(taskType, call);
    const range = { ...placeRange('ready', taskType), limit };
    const candidates = await this.#scan(range, call);
    return { candidates, isCut: candidates.length === limit };
  }

  #crowdOf(taskType: string): Crowd {
    const id = `${this.#tenantId}\0${taskType}`;
    const crowd = this.#crowds.get(id) ?? newCrowd();
    this.#crowds.set(id, crowd);
    return crowd;
  }

  /** Takes a pending job whose `run_at` is still the one that was seen: another may have put it off. */
  #take(key: string, by: ClaimRequest, runAt: Uint8Array | null, call: EngineCall): Promise<RecordOutcome> {
    const name = { space: 'kv', tenantId: this.#tenantId, key } as const;
    const fields = new Map([...fieldsOf({ state: 'pending' }), ['run_at', runAt] as const]);
    return this.#records.write({ name, mode: 'merge', expect: { fields }, ...claimed(by) }, call);
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

function newCrowd(): Crowd {
  const never = Number.POSITIVE_INFINITY;
  const [taking, taken] = [new Set<string>(), new Set<string>()];
  return { taking, taken, spread: 1, looking: Promise.resolve(), next: undefined, joined: 0, waitUntil: never };
}

function isHeldBy(record: StoredRecord, claimId: string): boolean {
  const state = stateOf(record);
  return (state === 'claimed' || state === 'running') && textField(record, 'claim_id') === claimId;
}

/** The part of a ready place that is its priority's. */
function rankOf(place: string): string {
  const at = place.lastIndexOf('/') + 1;
  return place.slice(at, at + 4);
}

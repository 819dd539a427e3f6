/**
 * Claims of one process for one type of one tenant that share a step of the engine: it finds the first ready jobs and
 * claims one for each caller. Only for engines with `stepIndex`.
 */
import type { JobRef } from '../contracts/jobs.ts';
import type { EngineCall } from '../engine/call.ts';
import type { IndexedRecord, IndexStepFound, Records, RecordWrite, StoredRecord } from '../engine/records.ts';
import { overloaded, refuseIfOver } from '../tools/contention.ts';
import { GroupCommit } from '../tools/group-commit.ts';
import { indexKeysOf, indexRange, timeOf } from './index-keys.ts';
import { jobOf } from './record.ts';

/** How many ready jobs to read beyond those needed, because the first index keys may no longer have a job. */
const SPARE = 2;
const MOST_CLAIMS = 100;
const MOST_ROUNDS = 100;

/** A claim that waits for a job. */
export interface JointClaim {
  call: EngineCall;
  /** Returns the write that claims a job. */
  writeFor(candidate: IndexedRecord): RecordWrite;
  /** Called before each attempt. */
  onTry(job: JobRef): void;
}

/** A claimed record; `none` if no job is ready; `search` if the jobs must be searched in pages. */
export type JointOutcome = { key: string; record: StoredRecord } | 'none' | 'search';

export interface JointSettings {
  records: Records;
  tenantId: string;
  taskType: string;
  /** Removes a candidate to try next. Processes that compete choose differently. */
  choose(candidates: IndexedRecord[]): IndexedRecord;
  /** How many of the first ready jobs to choose among. */
  spread(): number;
  /** Called with whether a claim won or lost a race against another process. */
  settled(isWon: boolean): void;
  /** Makes due delayed jobs ready. */
  releaseDue(call: EngineCall): Promise<void>;
}

/** A claim of a group, with its outcome once it is known. */
interface Attempt {
  claim: JointClaim;
  outcome: JointOutcome | Error | undefined;
}

export class JointClaims {
  readonly #settings: JointSettings;
  readonly #group: GroupCommit<JointClaim, JointOutcome>;

  constructor(settings: JointSettings) {
    this.#settings = settings;
    this.#group = new GroupCommit((take) => this.#claimAll(take()), { maxGroup: MOST_CLAIMS });
  }

  claim(claim: JointClaim): Promise<JointOutcome> {
    return this.#group.submit(claim, claim.call);
  }

  async #claimAll(claims: readonly JointClaim[]): Promise<(JointOutcome | Error)[]> {
    const attempts = claims.map((claim): Attempt => ({ claim, outcome: undefined }));
    let isReleased = false;
    for (let round = 0; round < MOST_ROUNDS; round++) {
      for (const attempt of attempts) refuseOver(attempt);
      const waiting = attempts.filter(({ outcome }) => outcome === undefined);
      if (waiting.length === 0) break;
      try {
        const isDue = await this.#tryRound(waiting, isReleased);
        if (!isDue) continue;
        isReleased = true;
        await this.#settings.releaseDue({ tenantId: this.#settings.tenantId });
      } catch (error) {
        for (const attempt of waiting) attempt.outcome ??= error as Error;
      }
    }
    return attempts.map(({ outcome }) => outcome ?? overloaded('Too many others claim jobs of this type at once'));
  }

  /** Claims jobs for the attempts that wait. Returns whether delayed jobs must be released first. */
  async #tryRound(waiting: readonly Attempt[], isReleased: boolean): Promise<boolean> {
    const { records, tenantId, taskType, spread, settled } = this.#settings;
    const limit = Math.max(waiting.length, spread()) + SPARE;
    const ranges = [
      { ...indexRange('delayed', taskType), limit: 1 },
      { ...indexRange('ready', taskType), limit },
    ];
    let isDue = false;
    let isCut = false;
    const tried: { attempt: Attempt; key: string }[] = [];
    const decide = (found: IndexStepFound): RecordWrite[] => {
      isDue = !isReleased && hasDue(found);
      const [, ready] = found.ranges;
      isCut = ready!.read === limit;
      if (isDue) return [];
      const candidates = ready!.records.filter(isCandidate);
      const writes: RecordWrite[] = [];
      for (const attempt of waiting) {
        if (candidates.length === 0) break;
        const candidate = this.#settings.choose(candidates);
        const job = jobOf(candidate.key, candidate)!;
        attempt.claim.onTry({ taskType: job.taskType, taskId: job.taskId });
        tried.push({ attempt, key: candidate.key });
        writes.push(attempt.claim.writeFor(candidate));
      }
      return writes;
    };
    const outcomes = await records.stepIndex!(tenantId, { ranges, decide }, { tenantId });
    if (isDue) return true;
    for (const [at, { attempt, key }] of tried.entries()) {
      const { applied, record } = outcomes[at]!;
      settled(applied);
      if (applied && record) attempt.outcome = { key, record };
    }
    // The others found no job: there is none, or the first index keys belong to damaged or expired records.
    if (tried.length < waiting.length)
      for (const attempt of waiting.slice(tried.length)) attempt.outcome = isCut ? 'search' : 'none';
    return false;
  }
}

/** A claim must not begin after it was reported as failed. */
function refuseOver(attempt: Attempt): void {
  try {
    refuseIfOver(attempt.claim.call);
  } catch (error) {
    attempt.outcome ??= error as Error;
  }
}

/** Whether the first delayed job is due, or cannot be read, so that the delayed jobs must be searched. */
function hasDue({ ranges: [delayed], now }: IndexStepFound): boolean {
  if (delayed!.read === 0) return false;
  const [first] = delayed!.records;
  const runAt = first && isCandidate(first) ? timeOf(first.fields, 'run_at') : null;
  return runAt === null || runAt <= now;
}

/** Skips damaged jobs and records that are not jobs. */
function isCandidate(row: IndexedRecord): boolean {
  return !row.damaged && jobOf(row.key, row) !== null && indexKeysOf(row.key, row.fields).includes(row.place);
}

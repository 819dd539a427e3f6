/**
 * Claims of one process for one type of one tenant that share a step of the engine: it finds the first ready jobs and
 * claims one for each caller. Only for engines with `claimFirst`.
 */
import type { EngineCall } from '../engine/call.ts';
import type { FirstClaim, Records, ScannedRecord, StoredRecord } from '../engine/records.ts';
import { overloaded, refuseIfOver } from '../tools/contention.ts';
import { GroupCommit } from '../tools/group-commit.ts';
import { fieldsOf } from '../tools/record-fields.ts';
import { indexRange } from './index-keys.ts';
import { givenBack } from './moves.ts';
import { JOB_MOVES } from './states.ts';

const MAX_CLAIMS = 100;
const MAX_ROUNDS = 100;

/** A claim that waits for a job. */
export interface JointClaim {
  call: EngineCall;
  claimId: string;
  /** The write that claims the job that the engine chooses. */
  write: FirstClaim;
}

/** A claimed record; `none` if no job is ready; `search` if the jobs must be searched in pages. */
export type JointOutcome = { key: string; record: StoredRecord } | 'none' | 'search';

export interface JointSettings {
  records: Records;
  tenantId: string;
  taskType: string;
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
    this.#group = new GroupCommit((take) => this.#claimAll(take()), { maxGroup: MAX_CLAIMS });
  }

  claim(claim: JointClaim): Promise<JointOutcome> {
    return this.#group.submit(claim, claim.call);
  }

  async #claimAll(claims: readonly JointClaim[]): Promise<(JointOutcome | Error)[]> {
    const attempts = claims.map((claim): Attempt => ({ claim, outcome: undefined }));
    let isReleased = false;
    for (let round = 0; round < MAX_ROUNDS; round++) {
      for (const attempt of attempts) refuseOver(attempt);
      const waiting = attempts.filter(({ outcome }) => outcome === undefined);
      if (waiting.length === 0) break;
      try {
        if (!(await this.#letEngineChoose(waiting, isReleased))) continue;
        isReleased = true;
        await this.#settings.releaseDue(this.#sharedCall(waiting));
      } catch (error) {
        for (const attempt of waiting) attempt.outcome ??= error as Error;
      }
    }
    return attempts.map(({ outcome }) => outcome ?? overloaded('Too many others claim jobs of this type at once'));
  }

  /** Claims jobs for the attempts that wait. Returns whether delayed jobs must be released first. */
  async #letEngineChoose(waiting: readonly Attempt[], isReleased: boolean): Promise<boolean> {
    const { records, tenantId, taskType } = this.#settings;
    const [state] = JOB_MOVES.claim.from;
    const step = {
      taskType,
      due: isReleased ? null : indexRange('delayed', taskType),
      ready: { ...indexRange('ready', taskType), state },
      writes: waiting.map(({ claim }) => claim.write),
    };
    const found = await records.claimFirst!(tenantId, step, this.#sharedCall(waiting));
    if (found.isDue) return true;
    await Promise.all(
      waiting.map(async (attempt, at) => {
        const got = found.outcomes[at]!;
        if (got instanceof Error) attempt.outcome = got;
        else if (!got) attempt.outcome = found.isCut ? 'search' : 'none';
        else attempt.outcome = got.damaged ? await this.#giveBack(got, attempt) : { key: got.key, record: got };
      }),
    );
    return false;
  }

  /** Returns a damaged job to the queue, so that it stays where `doctor` finds it. The claim skips it by searching. */
  async #giveBack({ key }: ScannedRecord, { claim: { claimId, call } }: Attempt): Promise<JointOutcome | Error> {
    const { records, tenantId } = this.#settings;
    const name = { space: 'kv', tenantId, key } as const;
    const expect = { fields: fieldsOf({ claim_id: claimId }) };
    try {
      await records.write({ name, mode: 'merge', expect, ...givenBack(), brief: true }, call);
      return 'search';
    } catch (error) {
      return error as Error;
    }
  }

  /**
   * The latest deadline of the callers applies to their step, so that a caller with a short deadline cannot end the
   * other calls.
   */
  #sharedCall(waiting: readonly Attempt[]): EngineCall {
    const deadline = Math.max(...waiting.map(({ claim }) => claim.call.deadline ?? Number.POSITIVE_INFINITY));
    const { tenantId } = this.#settings;
    return Number.isFinite(deadline) ? { tenantId, deadline } : { tenantId };
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

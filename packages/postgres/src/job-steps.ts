/**
 * Performs moves of jobs that this process holds, and claims, with one statement for all of them. Leaves all other
 * writes to the caller.
 */
import {
  type EngineCall,
  type FirstClaimed,
  type RecordOutcome,
  type RecordWrite,
  refuseIfOver,
  sleep,
} from '@tidemark/core/engine';
import type { MadeChange } from '@tidemark/sql';
import { giveBack } from './damaged-claims.ts';
import type { Database } from './database.ts';
import { isLockTimeout, isRefused, translateRead, translateWrite } from './errors.ts';
import { HeldJobs } from './held-jobs.ts';
import { type ClaimsOfType, type HeldMove, JobStep } from './job-step.ts';
import type { StepOutcome, StepRow } from './job-step-outcomes.ts';
import type { ChainOfGroup } from './record-group.ts';

/** The outcomes of the moves and claims; `null` for a move that must be made another way. */
interface Outcomes {
  moves: (RecordOutcome | Error | null)[];
  claims: (FirstClaimed | Error)[];
}

/** The order of the columns is that of their evaluation. */
const AWAIT_CLAIMS = `
  SELECT set_config('lock_timeout', $3, true), pg_advisory_xact_lock(7420044, @claim_lock($1, $2))`;
/** How long to wait for the lock at a time: longer with every try, in case commits are slow. */
const [FIRST_WAIT_MS, MAX_WAIT_MS] = [50, 1_000];

export class JobSteps {
  readonly #database: Database;
  readonly #report: (changes: readonly MadeChange[]) => void;
  readonly #held = new HeldJobs();

  constructor(database: Database, report: (changes: readonly MadeChange[]) => void) {
    this.#database = database;
    this.#report = report;
  }

  /** Whether the write is a call on a job that this process holds. */
  knows(write: RecordWrite): boolean {
    return this.#held.find(write) !== undefined;
  }

  /** Forgets the remembered state of the jobs, because another statement changes them. */
  forget(chains: readonly ChainOfGroup[]): void {
    for (const { name } of chains) this.#held.forget(name);
  }

  /** Makes the moves that it can, and the claims. Claims of other types need separate statements. */
  async perform(chains: readonly ChainOfGroup[], [claims, ...others]: readonly ClaimsOfType[]): Promise<Outcomes> {
    const [outcomes, ...ofOthers] = await Promise.all([
      this.#performOne(chains, claims ?? null),
      ...others.map((it) => this.#performOne([], it)),
    ]);
    for (const other of ofOthers) outcomes.claims.push(...other.claims);
    return outcomes;
  }

  async #performOne(chains: readonly ChainOfGroup[], claims: ClaimsOfType | null): Promise<Outcomes> {
    const step = new JobStep();
    const moves = chains.map((chain) => this.#addMove(step, chain));
    const takesClaims = claims !== null && step.addClaims(claims);
    const outcomes: Outcomes = { moves: moves.map(() => null), claims: claims ? [notClaimed(claims)] : [] };
    if (step.isEmpty) return outcomes;
    const { text, values, release } = step.statement();
    try {
      const rows = (await this.#database.statement(text, values, step.tenants)) as unknown as StepRow[];
      const result = step.decode(rows);
      let next = 0;
      for (const [at, it] of moves.entries()) if (it) outcomes.moves[at] = this.#settleMove(it, result.moves[next++]!);
      if (result.claims) outcomes.claims = [await this.#settleClaims(result.claims, result)];
    } catch (error) {
      for (const it of moves) if (it) this.#held.forget(it.write.name);
      if (isRefused(error)) return { moves: moves.map(() => null), claims: claims ? [notClaimed(claims)] : [] };
      const failure = translateWrite(error) as Error;
      for (const [at, it] of moves.entries()) if (it) outcomes.moves[at] = failure;
      if (takesClaims) outcomes.claims = [failure];
    } finally {
      release();
    }
    return outcomes;
  }

  /**
   * Waits for the claims of a type that are under way. New claims queue behind a waiting lock, so this waits only briefly
   * at a time: a process that has stalled inside a claim must not stop the claims of others.
   */
  async awaitClaims(tenantId: string, taskType: string, call: EngineCall): Promise<void> {
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(MAX_WAIT_MS, 2 * waitMs)) {
      refuseIfOver(call);
      try {
        await this.#database.statement(AWAIT_CLAIMS, [tenantId, taskType, String(waitMs)], [tenantId]);
        return;
      } catch (error) {
        if (!isLockTimeout(error)) throw translateRead(error);
      }
      await sleep(Math.random() * waitMs);
    }
  }

  #addMove(step: JobStep, { writes }: ChainOfGroup): HeldMove | null {
    const [write] = writes;
    const before = writes.length === 1 ? this.#held.find(write!) : undefined;
    if (!before) return null;
    const move = { write: write!, before };
    return step.addMove(move) ? move : null;
  }

  #settleMove({ write }: HeldMove, result: StepOutcome['moves'][number]): RecordOutcome | null {
    if (result === 'raced') {
      this.#held.forget(write.name);
      return null;
    }
    this.#held.keep(write.name, result.after);
    this.#report([result.change]);
    return result.outcome;
  }

  async #settleClaims(claims: FirstClaimed, { claimed, damaged }: StepOutcome): Promise<FirstClaimed> {
    for (const { name, job } of claimed) this.#held.keep(name, job);
    this.#report(claimed.map(({ change }) => change));
    const outcomes = [...claims.outcomes];
    for (const claim of damaged) {
      // Only the claim that got the damaged job fails. The job returns to the queue when its lease ends.
      await giveBack(this.#database, claim).catch((error: Error) => {
        outcomes[claim.at] = error;
      });
    }
    return { ...claims, outcomes };
  }
}

/** The claims must find their jobs another way. */
function notClaimed({ step }: ClaimsOfType): FirstClaimed {
  return { isDue: false, isCut: true, outcomes: step.writes.map(() => null) };
}

/**
 * Jobs as this process last wrote them. A worker's next call on a job that it claimed can then be planned without
 * reading the record first. The write compares the revision, so an outdated entry only costs a round trip.
 */
import { jobTypeOf, LruMap, type RecordName, type RecordState, type RecordWrite } from '@tidemark/core/engine';
import { idOf } from '@tidemark/sql';

const MOST_JOBS = 4_000;
const CLAIM = 'claim_id';

/** A job that a claim of this process holds. */
export interface HeldJob {
  state: RecordState;
  /** The request ids that the record remembers. */
  requests: readonly string[];
}

export class HeldJobs {
  readonly #jobs = new LruMap<string, HeldJob>(MOST_JOBS);

  /** Returns the job if a write with this condition may be made by its holder. */
  find({ name, expect }: RecordWrite): HeldJob | undefined {
    return expect?.fields?.has(CLAIM) ? this.#jobs.get(idOf(name)) : undefined;
  }

  /** Remembers the job while a claim holds it. */
  keep(name: RecordName, job: HeldJob): void {
    if (job.state.fields.has(CLAIM) && jobTypeOf(name.key) !== null) this.#jobs.set(idOf(name), job);
    else this.forget(name);
  }

  forget(name: RecordName): void {
    this.#jobs.delete(idOf(name));
  }
}

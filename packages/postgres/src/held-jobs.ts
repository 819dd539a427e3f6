/**
 * Jobs as this process last wrote them. A worker's next call on a job that it claimed can then be planned without
 * reading the record first. The write compares the revision, so an outdated entry only costs a round trip.
 */
import { jobTypeOf, LruMap, meets, type RecordName, type RecordState, type RecordWrite } from '@tidemark/core/engine';
import { idOf } from '@tidemark/sql';

const MAX_BYTES = 16 * 1024 * 1024;
/** The rough size of an entry without its values. */
const ENTRY_BYTES = 1_024;
const CLAIM = 'claim_id';

/** A job that a claim of this process holds. */
export interface HeldJob {
  state: RecordState;
  /** The request ids that the record remembers. */
  requests: readonly string[];
  /** The stored checksum. */
  sum: number;
}

export class HeldJobs {
  readonly #jobs = new LruMap<string, HeldJob>(MAX_BYTES, weightOf);

  /**
   * Returns the job if the write is a call of its holder. A claim that has lost the job to another claim of this
   * process gets `undefined`: the statement compares only the revision, so it would perform the write.
   */
  find(write: RecordWrite): HeldJob | undefined {
    if (!write.expect?.fields?.has(CLAIM)) return undefined;
    const job = this.#jobs.get(idOf(write.name));
    return job && meets(write, job.state) ? job : undefined;
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

function weightOf({ state }: HeldJob): number {
  let bytes = ENTRY_BYTES;
  for (const value of state.fields.values()) bytes += value.length;
  return bytes;
}

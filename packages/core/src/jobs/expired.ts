/**
 * Jobs whose lease has ended, for claims with `takeExpired`. A claimer recovers such a job as a sweep would, but keeps
 * it. Its write is conditional on the revision it read, so only one of several sweeps, claimers and late heartbeats
 * succeeds.
 */
import type { EngineCall } from '../engine/call.ts';
import type { IndexedRecord, Records, StoredRecord } from '../engine/records.ts';
import { refuseIfOver } from '../tools/contention.ts';
import { fieldsOf } from '../tools/record-fields.ts';
import { indexRange, timeOf } from './index-keys.ts';
import { jobOf, stateOf } from './record.ts';
import { scanJobs } from './scan.ts';
import { mayMove } from './states.ts';
import { givenUpOn, hasRetriesLeft } from './sweeps.ts';

/** A job as it was read. */
interface SeenJob extends StoredRecord {
  key: string;
}

/** The condition that a held job is unchanged since it was read. */
export function unchangedSince(record: StoredRecord) {
  return { revision: record.revision, fields: fieldsOf({ state: stateOf(record) }) };
}

/** Finds and takes over expired leases in the queue of one tenant. */
export class ExpiredLeases {
  readonly #records: Records;
  readonly #tenantId: string;

  constructor(records: Records, tenantId: string) {
    this.#records = records;
    this.#tenantId = tenantId;
  }

  /** Whether a claimer may take over this job. Fails the job if its lease has ended and no retries are left. */
  async mayTake(seen: SeenJob, call: EngineCall): Promise<boolean> {
    const end = leaseEnd(seen);
    if (end === null || end > (await this.#records.now(call))) return false;
    return this.#hasRetries(seen, call);
  }

  /** Reads jobs of a type that may be taken over, the longest expired first. Fails those without retries left. */
  async read(
    { taskType, limit }: { taskType: string; limit: number },
    call: EngineCall,
  ): Promise<{ candidates: IndexedRecord[]; isCut: boolean }> {
    const range = { ...indexRange('lease', taskType), limit };
    const leases = await scanJobs(this.#records, this.#tenantId, range, call);
    if (leases.length === 0) return { candidates: [], isCut: false };
    const now = await this.#records.now(call);
    const expired = leases.filter((it) => (leaseEnd(it) ?? Number.POSITIVE_INFINITY) <= now);
    const hasRetries = await Promise.all(expired.map((it) => this.#hasRetries(it, call)));
    return { candidates: expired.filter((_, at) => hasRetries[at]), isCut: expired.length === limit };
  }

  async #hasRetries(seen: SeenJob, call: EngineCall): Promise<boolean> {
    const job = jobOf(seen.key, seen);
    if (!job || hasRetriesLeft(job)) return job !== null;
    refuseIfOver(call);
    const name = { space: 'kv', tenantId: this.#tenantId, key: seen.key } as const;
    const write = { name, mode: 'merge', expect: unchangedSince(seen), ...givenUpOn(job), brief: true } as const;
    await this.#records.write(write, call);
    return false;
  }
}

/** Returns when the lease of a held job ends, or `null` when the job is not held or has no lease. */
function leaseEnd(record: StoredRecord): number | null {
  const state = stateOf(record);
  return state !== null && mayMove(state, 'takeOver') ? timeOf(record.fields, 'timeout_at') : null;
}

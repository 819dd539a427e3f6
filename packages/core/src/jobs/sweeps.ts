/** Sweeps (KV-8): find overdue jobs through the index alone, and recover each with one conditional write. */
import type { Job, OverdueJob, OverdueReason, RecoveredJob } from '../contracts/jobs.ts';
import type { EngineCall } from '../engine/call.ts';
import type { Records, RecordWrite } from '../engine/records.ts';
import { fieldsOf } from '../tools/record-fields.ts';
import { fitsReason, isHeldReason } from './arguments.ts';
import { indexRange, padded } from './index-keys.ts';
import { givenUp, type Move, released, signalled, takenBack } from './moves.ts';
import { jobName, jobOf } from './record.ts';
import { scanJobs } from './scan.ts';

/** The fields that identify a retry of a move. */
export type RequestFields = Required<Pick<RecordWrite, 'requestId' | 'requestIsNew'>>;

/** Index ranges of overdue jobs, the most urgent first. */
const KINDS: readonly { kind: string; reason: OverdueReason; until: 'now' | 'threshold' }[] = [
  { kind: 'lease', reason: 'lease ended', until: 'now' },
  { kind: 'claimed', reason: 'not updated', until: 'threshold' },
  { kind: 'running', reason: 'not updated', until: 'threshold' },
  { kind: 'delayed', reason: 'due', until: 'now' },
  { kind: 'unannounced', reason: 'not announced', until: 'threshold' },
  { kind: 'pending', reason: 'not claimed', until: 'threshold' },
];

export async function findOverdue(
  records: Records,
  tenantId: string,
  query: { taskType: string; thresholdMs: number; limit: number },
  call: EngineCall,
): Promise<OverdueJob[]> {
  const now = await records.now(call);
  const found = new Map<string, OverdueJob>();
  for (const { kind, reason, until } of KINDS) {
    if (found.size >= query.limit) break;
    const { from } = indexRange(kind, query.taskType);
    const end = until === 'now' ? now + 1 : Math.max(0, now - query.thresholdMs);
    // A job whose lease has ended may be found again as not updated.
    const range = { from, to: `${from}${padded(end)}`, limit: query.limit };
    const rows = await scanJobs(records, tenantId, range, call);
    for (const row of rows) {
      const job = jobOf(row.key, row);
      if (job && !found.has(row.key) && found.size < query.limit) found.set(row.key, { job, reason });
    }
  }
  return [...found.values()];
}

/** Recovers a job, unless it has changed since it was seen. */
export async function recoverJob(
  records: Records,
  tenantId: string,
  { job, reason }: OverdueJob,
  request: RequestFields,
  call: EngineCall,
): Promise<RecoveredJob> {
  const name = jobName(tenantId, job);
  if (!fitsReason(job.state, reason)) {
    const [record] = await records.get([name], call);
    return { outcome: 'missed', job: jobOf(name.key, record) ?? job };
  }
  const { outcome, move } = recoveryFor(job, reason);
  const expect = { revision: job.revision, fields: fieldsOf({ state: job.state }) };
  const { applied, record } = await records.write({ name, mode: 'merge', expect, ...move, ...request }, call);
  return { outcome: applied ? outcome : 'missed', job: jobOf(name.key, record) ?? job };
}

function recoveryFor(job: Job, reason: OverdueReason): { outcome: RecoveredJob['outcome']; move: Move } {
  if (reason === 'due') return { outcome: 'released', move: released() };
  if (!isHeldReason(reason)) return { outcome: 'signalled', move: signalled() };
  if (hasRetriesLeft(job)) return { outcome: 'requeued', move: takenBack(job.retryCount + 1) };
  return { outcome: 'failed', move: givenUpOn(job) };
}

/** Whether a job that its worker lost may be tried again. */
export function hasRetriesLeft({ retryCount, maxRetries }: Job): boolean {
  return retryCount < maxRetries;
}

/** Returns the move that fails a job whose worker has stopped responding and which has no retries left. */
export function givenUpOn(job: Job): Move {
  const worker = job.worker === undefined ? 'its worker' : `worker ${job.worker}`;
  const times = job.maxRetries === 1 ? 'once' : `${job.maxRetries} times`;
  return givenUp(`No sign of life from ${worker}, and the job was sent back ${times} already`);
}

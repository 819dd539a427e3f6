/** `jobs`: lists, adds, claims, completes, parks, requeues, wakes and cancels jobs. */
import { randomUUID } from 'node:crypto';
import {
  invalidArgument,
  type Job,
  type JobRef,
  type JobStore,
  LISTED_JOB_STATES,
  type OverdueJob,
  type PageOptions,
  type ParkUntil,
  TidemarkError,
} from '@tidemark/core';
import { at, state } from '../cells.ts';
import { type CommandContext, defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { choice, duration, integer, one, pairs, required, text, toggle, withDefault } from '../options.ts';
import type { View } from '../output.ts';
import { limitOption, upTo } from '../pages.ts';

/** The states listed by default: all except completed and cancelled. */
const UNFINISHED = ['running', 'claimed', 'pending', 'delayed', 'failed'] as const;
const JOB = one('type and id of the job: email-send/mail-1');

const jobName = ({ taskType, taskId }: JobRef) => `${taskType}/${taskId}`;

function parseJob(given: string): JobRef {
  const at = given.indexOf('/');
  if (at < 1 || at === given.length - 1) throw invalidArgument('job', 'type/id, such as email-send/mail-1', given);
  return { taskType: given.slice(0, at), taskId: given.slice(at + 1) };
}

const JOBS: View<Job> = {
  columns: [
    { title: 'JOB', of: jobName },
    { title: 'STATE', of: (job) => state(job.state) },
    { title: 'WORKER', of: ({ worker }) => worker },
    {
      title: 'STEP',
      of: ({ currentStep, stepCount }) => (currentStep === undefined ? '' : `${currentStep}/${stepCount ?? '?'}`),
    },
    { title: 'RETRIES', of: ({ retryCount, maxRetries }) => `${retryCount}/${maxRetries}` },
    { title: 'UPDATED', of: ({ updatedAt }) => at(updatedAt) },
    { title: 'DUE', of: ({ runAt, timeoutAt }) => at(timeoutAt ?? runAt) },
    { title: 'ERROR', of: ({ error }) => error },
  ],
  id: jobName,
};

export const OVERDUE: View<OverdueJob> = {
  columns: [
    ...JOBS.columns.slice(0, 3).map(({ title, of }) => ({ title, of: ({ job }: OverdueJob) => of(job) })),
    { title: 'WHY', of: ({ reason }) => reason },
    { title: 'UPDATED', of: ({ job }) => at(job.updatedAt) },
  ],
  id: ({ job }) => jobName(job),
};

const list = defineCommand({
  name: 'jobs list',
  summary: 'List jobs',
  details: 'Without --state, lists running, claimed, pending, delayed and failed jobs.',
  effect: 'ro',
  options: {
    state: choice(LISTED_JOB_STATES, 'only jobs in this state'),
    type: text('type', 'only jobs of this type'),
    stuck: duration('duration', 'only stuck jobs: their lease has expired, or they have not changed for this long'),
    limit: limitOption,
  },
  examples: [
    { line: 'jobs list', shows: '"taskId":"mail-1"' },
    { line: 'jobs list --state failed -o table', shows: 'email-send/mail-3' },
    { line: 'jobs list --limit 2', shows: 'There are more than 2; use --limit to show more.' },
    { line: 'jobs list --stuck 1h --json', shows: '[]' },
  ],
  async run({ store, out, options }) {
    const { jobs } = await store();
    const taskType = options.type === undefined ? {} : { taskType: options.type };
    const states = options.state === undefined ? UNFINISHED : [options.state];
    if (options.stuck !== undefined) {
      await out.list(await overdueJobs(jobs, options.type, options.stuck, options.limit), OVERDUE, 'No stuck jobs.');
      return;
    }
    const lists = states.map((it) => (page: PageOptions) => jobs.list(it, { ...page, ...taskType }));
    await out.list(upTo(options.limit, lists, out), JOBS, 'No jobs found.');
  },
});

/** Returns stuck jobs of one type or all types. */
async function overdueJobs(
  jobs: JobStore,
  taskType: string | undefined,
  threshold: number,
  limit: number,
): Promise<OverdueJob[]> {
  const types = taskType === undefined ? await Promise.all(UNFINISHED.map((it) => jobs.types(it))) : [taskType];
  const overdue: OverdueJob[] = [];
  for (const type of [...new Set(types.flat())].sort())
    overdue.push(...(await jobs.overdue(type, { threshold, limit: Math.min(1_000, limit) })));
  return overdue.slice(0, limit);
}

const show = defineCommand({
  name: 'jobs show',
  summary: 'Show a job',
  effect: 'ro',
  args: { job: JOB },
  examples: [
    { line: 'jobs show email-send/mail-1', shows: '"state":"pending"' },
    { line: 'jobs show email-send/nobody', shows: 'NOT_FOUND', exit: 3 },
  ],
  async run({ store, out, args }) {
    const { jobs } = await store();
    const job = await jobs.get(parseJob(args.job));
    if (!job) throw noJob(args.job);
    await out.show(job, JOBS);
  },
});

function noJob(name: string): TidemarkError {
  return new TidemarkError('NOT_FOUND', `There is no job ${JSON.stringify(name)}`);
}

const add = defineCommand({
  name: 'jobs add',
  summary: 'Add a job',
  details: 'A job with the same type and id is added only once; the stored job is not changed.',
  effect: 'rw',
  args: { job: JOB },
  options: {
    delay: duration('duration', 'how long until it can be claimed'),
    priority: integer('n', '-1000 to 1000, higher first', -1_000),
    maxRetries: integer('n', 'how many times it may be retried'),
    params: text('ref', 'reference to its parameters'),
    field: pairs('additional field of the record'),
  },
  examples: [
    { line: 'jobs add email-send/mail-9 --priority 5 --field to=ada@example.com', shows: '"created":true' },
    { line: 'jobs add email-send/mail-9 --dry-run', shows: '"would":"add"' },
  ],
  async run({ store, out, args, options, dryRun }) {
    const { jobs } = await store();
    const { delay, priority, maxRetries, params, field } = options;
    const job = {
      ...parseJob(args.job),
      ...(delay === undefined ? {} : { delay }),
      ...(priority === undefined ? {} : { priority }),
      ...(maxRetries === undefined ? {} : { maxRetries }),
      ...(params === undefined ? {} : { paramsRef: params }),
      ...(Object.keys(field).length === 0 ? {} : { fields: field }),
    };
    if (dryRun) return out.report({ dryRun: true, would: 'add', ...job }, args.job);
    const result = await jobs.enqueue(job);
    await out.report({ job: args.job, created: result.created, state: result.job.state }, args.job);
  },
});

const claim = defineCommand({
  name: 'jobs claim',
  summary: 'Claim a job',
  details:
    'Prints the claim that `jobs heartbeat`, `complete` and `fail` need. Exits with code 6 if there is no job to claim.',
  effect: 'rw',
  args: { job: one('type of the job, or type/id') },
  options: {
    worker: required(text('name', 'name of the worker')),
    lease: withDefault(duration('duration', 'how long the claim lasts without a heartbeat'), 60_000, '1m'),
    claim: text('id', 'id of the claim; with the same id, a retry returns the same claim'),
    takeExpired: toggle('take a job whose lease has expired if no other is ready'),
  },
  examples: [
    { line: 'jobs claim email-send --worker w1 --claim c1', shows: '"claimId":"c1"' },
    { line: 'jobs claim image-resize --worker w1', shows: 'no job to claim', exit: 6 },
  ],
  async run({ store, out, args, options: { worker, lease, claim: claimId, takeExpired }, dryRun }) {
    const { jobs } = await store();
    const which = args.job.includes('/') ? parseJob(args.job) : { taskType: args.job };
    if (dryRun) return out.report({ dryRun: true, would: 'claim', ...which, worker });
    const claimed = await jobs.claim(which, { worker, lease, claimId: claimId ?? randomUUID(), takeExpired });
    if (!claimed) {
      await out.note(`There is no job to claim for ${args.job}.`);
      return EXIT.unmet;
    }
    await out.report(
      {
        job: jobName(claimed),
        claimId: claimed.claimId,
        timeoutAt: claimed.job.timeoutAt,
        paramsRef: claimed.job.paramsRef,
      },
      claimed.claimId,
    );
    return EXIT.ok;
  },
});

const CLAIM = one('claim id printed by `jobs claim`');
type Claimed = CommandContext<{ job: string; claim: string }, unknown>;
const parseClaim = ({ args }: Pick<Claimed, 'args'>) => ({ ...parseJob(args.job), claimId: args.claim });

const heartbeat = defineCommand({
  name: 'jobs heartbeat',
  summary: 'Renew the lease on a job',
  effect: 'rw',
  args: { job: JOB, claim: CLAIM },
  options: { lease: withDefault(duration('duration', 'new length of the lease'), 60_000, '1m') },
  examples: [{ line: 'jobs heartbeat email-send/mail-2 claim-2', shows: '"state":"claimed"' }],
  async run(context) {
    const { store, out, options, dryRun } = context;
    const { jobs } = await store();
    if (dryRun) return out.report({ dryRun: true, would: 'renew', ...parseClaim(context) });
    await out.show(await jobs.heartbeat(parseClaim(context), options), JOBS);
  },
});

const complete = defineCommand({
  name: 'jobs complete',
  summary: 'Complete a claimed job',
  effect: 'rw',
  args: { job: JOB, claim: CLAIM },
  options: { result: text('ref', 'reference to its result'), ttl: duration('duration', 'how long to keep the record') },
  examples: [{ line: 'jobs complete email-send/mail-2 claim-2 --ttl 7d', shows: '"state":"completed"' }],
  async run(context) {
    const { store, out, options, dryRun } = context;
    const { jobs } = await store();
    if (dryRun) return out.report({ dryRun: true, would: 'complete', ...parseClaim(context) });
    const result = {
      ...(options.result === undefined ? {} : { resultRef: options.result }),
      ...(options.ttl === undefined ? {} : { ttl: options.ttl }),
    };
    await out.show(await jobs.complete(parseClaim(context), result), JOBS);
  },
});

const fail = defineCommand({
  name: 'jobs fail',
  summary: 'Fail a claimed job, to be retried or permanently',
  effect: 'rw',
  args: { job: JOB, claim: CLAIM },
  options: {
    error: required(text('text', 'what went wrong')),
    final: toggle('fail permanently, even if retries are left'),
    delay: duration('duration', 'how long until it is retried'),
  },
  examples: [
    { line: `jobs fail email-send/mail-2 claim-2 --error 'mailbox full' --delay 1m`, shows: '"error":"mailbox full"' },
  ],
  async run(context) {
    const { store, out, options, dryRun } = context;
    const { jobs } = await store();
    if (dryRun) return out.report({ dryRun: true, would: 'fail', ...parseClaim(context), error: options.error });
    const failure = {
      error: options.error,
      ...(options.final ? { retry: false } : {}),
      ...(options.delay === undefined ? {} : { delay: options.delay }),
    };
    await out.show(await jobs.fail(parseClaim(context), failure), JOBS);
  },
});

const park = defineCommand({
  name: 'jobs park',
  summary: 'Return a claimed job to the queue until a time, without counting a retry',
  details: 'The job is listed as delayed. `jobs wake` makes it ready before its time.',
  effect: 'rw',
  args: { job: JOB, claim: CLAIM },
  options: {
    delay: duration('duration', 'how long the job waits'),
    until: text('time', 'when it is ready: RFC 3339, such as 2026-11-20T08:00:00Z'),
  },
  examples: [
    { line: 'jobs park email-send/mail-2 claim-2 --delay 10m', shows: '"state":"pending"' },
    { line: 'jobs park email-send/mail-2 claim-9 --delay 10m', shows: 'CLAIM_LOST', exit: 5 },
    { line: 'jobs park email-send/mail-2 claim-2', shows: '--delay', exit: 2 },
  ],
  async run(context) {
    const { store, out, options, dryRun } = context;
    const when = parkTime(options);
    const { jobs } = await store();
    if (dryRun) return out.report({ dryRun: true, would: 'park', ...parseClaim(context), ...when });
    await out.show(await jobs.park(parseClaim(context), when), JOBS);
  },
});

function parkTime({ delay, until }: { delay: number | undefined; until: string | undefined }): ParkUntil {
  if ((delay === undefined) === (until === undefined))
    throw invalidArgument('--delay', 'given, or --until, and not both', delay);
  if (delay !== undefined) return { delay };
  const at = Date.parse(until!);
  if (Number.isNaN(at)) throw invalidArgument('--until', 'an RFC 3339 time, such as 2026-11-20T08:00:00Z', until);
  return { until: at };
}

const requeue = defineCommand({
  name: 'jobs requeue',
  summary: 'Return a failed or cancelled job to the queue',
  effect: 'rw',
  args: { job: JOB },
  options: { delay: duration('duration', 'how long until it can be claimed') },
  examples: [
    { line: 'jobs requeue email-send/mail-3', shows: '"state":"pending"' },
    { line: 'jobs requeue email-send/mail-1', shows: 'CONFLICT', exit: 5 },
  ],
  async run({ store, out, args, options, dryRun }) {
    const { jobs } = await store();
    if (dryRun) return out.report({ dryRun: true, would: 'requeue', job: args.job }, args.job);
    const delay = options.delay === undefined ? {} : { delay: options.delay };
    await out.show(await jobs.requeue(parseJob(args.job), { ...delay, requestId: randomUUID() }), JOBS);
  },
});

const wake = defineCommand({
  name: 'jobs wake',
  summary: 'Make a delayed or parked job ready before its time',
  details: 'Prints the job. A job that is not delayed does not change.',
  effect: 'rw',
  args: { job: JOB },
  examples: [
    { line: 'jobs wake email-send/mail-4', shows: '"state":"pending"' },
    { line: 'jobs wake email-send/nobody', shows: 'NOT_FOUND', exit: 3 },
  ],
  async run({ store, out, args, dryRun }) {
    const { jobs } = await store();
    if (dryRun) return out.report({ dryRun: true, would: 'wake', job: args.job }, args.job);
    const job = await jobs.wake(parseJob(args.job), { requestId: randomUUID() });
    if (!job) throw noJob(args.job);
    await out.show(job, JOBS);
  },
});

const cancel = defineCommand({
  name: 'jobs cancel',
  summary: 'Cancel a job, even if a worker holds it',
  effect: 'destructive',
  args: { job: JOB },
  examples: [{ line: 'jobs cancel email-send/mail-1 --yes', shows: '"state":"cancelled"' }],
  async run({ store, out, args, dryRun, confirm }) {
    const { jobs } = await store();
    if (dryRun) return out.report({ dryRun: true, would: 'cancel', job: args.job }, args.job);
    await confirm({ action: `cancel the job ${args.job}`, answer: args.job });
    const job = await jobs.cancel(parseJob(args.job), { requestId: randomUUID() });
    if (!job) throw noJob(args.job);
    await out.show(job, JOBS);
  },
});

export const jobCommands = [list, show, add, claim, heartbeat, complete, fail, park, requeue, wake, cancel];

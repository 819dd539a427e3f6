/** Job routes: enqueue, claim, the calls of workers that hold a job, and the calls of sweepers. */
import type { JobClaim, JobRef, ParkUntil } from '@tidemark/core';
import { JOB_ROUTES } from '@tidemark/wire/routes';
import { created, json, NOTHING } from '../http/answer.ts';
import { tagOf } from '../http/conditions.ts';
import { Refusal } from '../http/refusal.ts';
import { bind } from './route.ts';

export const JOB_HANDLERS = bind(JOB_ROUTES, {
  'POST /v1/jobs': async ({ store, body, options }) => {
    const enqueued = await store.jobs.enqueue(body, options);
    return created(enqueued.created, enqueued);
  },
  'GET /v1/jobs': async ({ store, query, options }) => {
    const { state, taskType, cursor, limit } = query;
    return json(await store.jobs.list(state, { ...options, taskType, cursor, limit }));
  },
  'GET /v1/job-types': async ({ store, query, options }) =>
    json({ items: await store.jobs.types(query.state, options) }),
  'GET /v1/jobs-overdue': async ({ store, query, options }) => {
    const { taskType, limit } = query;
    const threshold = /^-?\d+(\.\d+)?$/.test(query.threshold) ? Number(query.threshold) : query.threshold;
    return json({ items: await store.jobs.overdue(taskType, { ...options, threshold, limit }) });
  },
  'POST /v1/job-claims': async ({ store, body, options }) => {
    const { taskType, taskId, worker, lease, claimId, takeExpired } = body;
    const which = taskId === undefined ? { taskType } : { taskType, taskId };
    return json({ claim: await store.jobs.claim(which, { ...options, worker, lease, claimId, takeExpired }) });
  },
  'GET /v1/jobs/{taskType}/{taskId}': async (call) => {
    const job = await call.store.jobs.get(jobOf(call), call.options);
    if (job) return json(job, { etag: tagOf(job.revision) });
    throw new Refusal(404, 'NOT_FOUND', 'There is no such job');
  },
  'POST /v1/jobs/{taskType}/{taskId}/heartbeat': async (call) => {
    const { lease } = call.body;
    return json(await call.store.jobs.heartbeat(claimOf(call), { ...call.options, lease }));
  },
  'POST /v1/jobs/{taskType}/{taskId}/progress': async (call) => {
    const { currentStep, stepCount, lease } = call.body;
    const step = { currentStep, stepCount };
    return json(await call.store.jobs.progress(claimOf(call), step, { ...call.options, lease }));
  },
  'POST /v1/jobs/{taskType}/{taskId}/complete': async (call) => {
    const { resultRef, ttl } = call.body;
    return json(
      await call.store.jobs.complete(claimOf(call), { resultRef: resultRef ?? undefined, ttl }, call.options),
    );
  },
  'POST /v1/jobs/{taskType}/{taskId}/fail': async (call) => {
    const { error, retry, delay, ttl } = call.body;
    return json(await call.store.jobs.fail(claimOf(call), { error, retry, delay, ttl }, call.options));
  },
  'POST /v1/jobs/{taskType}/{taskId}/park': async (call) => {
    const { until, delay } = call.body;
    // The store checks that exactly one of `until` and `delay` is given.
    return json(await call.store.jobs.park(claimOf(call), { until, delay } as ParkUntil, call.options));
  },
  'POST /v1/jobs/{taskType}/{taskId}/wake': async (call) => {
    const job = await call.store.jobs.wake(jobOf(call), { ...call.options, requestId: call.body.requestId });
    if (job) return json(job);
    throw new Refusal(404, 'NOT_FOUND', 'There is no such job');
  },
  'POST /v1/jobs/{taskType}/{taskId}/cancel': async (call) => {
    const { ttl, requestId } = call.body;
    const job = await call.store.jobs.cancel(jobOf(call), { ...call.options, ttl, requestId });
    if (job) return json(job);
    throw new Refusal(404, 'NOT_FOUND', 'There is no such job');
  },
  'POST /v1/jobs/{taskType}/{taskId}/requeue': async (call) => {
    const { delay, requestId } = call.body;
    return json(await call.store.jobs.requeue(jobOf(call), { ...call.options, delay, requestId }));
  },
  'POST /v1/job-recoveries': async ({ store, body, options }) => {
    const { overdue, requestId } = body;
    return json(await store.jobs.recover(overdue, { ...options, requestId }));
  },
  'POST /v1/jobs/{taskType}/{taskId}/announced': async (call) => {
    await call.store.jobs.markAnnounced(jobOf(call), call.options);
    return NOTHING;
  },
});

function jobOf({ params: { taskType, taskId } }: { params: JobRef }): JobRef {
  return { taskType, taskId };
}

function claimOf(call: { params: JobRef; body: Omit<JobClaim, keyof JobRef> }): JobClaim {
  const { claimId, lease } = call.body;
  return { ...jobOf(call), claimId, ...(lease === undefined ? {} : { lease }) };
}

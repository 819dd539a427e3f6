/** One job: the reason for its state, what happens next, and possible actions. */
import type { Job, JobRef } from '@tidemark/core/portable';
import { useEffect } from 'preact/hooks';
import { useResource } from '../live/resource.ts';
import type { Tenant } from '../live/tenant.ts';
import { CommandLine, tidemarkLine } from '../parts/command-line.tsx';
import { Countdown } from '../parts/countdown.tsx';
import { Icon } from '../parts/icons.tsx';
import { Pair } from '../parts/pair.tsx';
import { Failure, Waiting } from '../parts/states.tsx';
import { Status } from '../parts/status.tsx';
import { momentText, now, Time } from '../parts/times.tsx';
import { hrefOf, setQuery } from '../shell/router.ts';
import { getJob } from './api.ts';
import { commandOf, JobActions } from './job-actions.tsx';
import { stepText } from './job-card.tsx';
import { outlookOf } from './outlook.ts';
import { TakeBack } from './take-back.tsx';

interface JobPanelProps {
  name: JobRef;
  tenant: Tenant;
  /** The job as shown on the board. Absent if the board does not show it. */
  shown: Job | undefined;
  onChange(): void;
}

export function JobPanel({ name, tenant, shown, onChange }: JobPanelProps) {
  const { data, error, reload } = useResource('job', async (signal) => shown ?? getJob(name, tenant, signal));
  useEffect(() => {
    if (shown && shown.updatedAt >= (data.value?.updatedAt ?? 0)) data.value = shown;
    // The part of the board that is shown no longer contains the job.
    else if (!shown && data.value) reload();
  }, [shown]);
  const job = data.value;
  const take = (changed: Job) => {
    data.value = changed;
    onChange();
  };
  return (
    <article class="card job-panel" aria-label="Job">
      <header>
        <h2>{name.taskId}</h2>
        <button type="button" class="bare" onClick={() => setQuery({ job: '' })}>
          <Icon name="close" />
          <span class="unseen">Close the job</span>
        </button>
      </header>
      {error.value !== undefined && <Failure error={error.value} onRetry={reload} />}
      {!job && error.value === undefined && <Waiting what="the job" />}
      {job && <JobBody job={job} tenant={tenant} onDone={take} />}
    </article>
  );
}

function JobBody({ job, tenant, onDone }: { job: Job; tenant: Tenant; onDone(job: Job): void }) {
  const { why, next } = outlookOf(job, now.value);
  const { timeoutAt, runAt, error, paramsRef, resultRef } = job;
  const isHeld = job.state === 'claimed' || job.state === 'running';
  const isOverdue = isHeld && timeoutAt !== undefined && timeoutAt <= now.value;
  return (
    <>
      <dl class="pairs outlook">
        <Pair name="Why">{why}</Pair>
        <Pair name="Next">{next}</Pair>
      </dl>
      <div class="card-tools">
        {isOverdue && <TakeBack overdue={{ job, reason: 'lease ended' }} tenant={tenant} onDone={onDone} />}
        <JobActions job={job} tenant={tenant} onDone={onDone} />
        <a class="button small" href={hrefOf(['kv'], { tenant, key: job.key })}>
          <Icon name="kv" /> Record
        </a>
      </div>
      <CommandLine line={isOverdue ? tidemarkLine('sweep', [], tenant) : commandOf(job, tenant)} />
      <dl class="pairs">
        <Pair name="State">
          <Status status={job.state.toUpperCase()} />
        </Pair>
        <Pair name="Type">
          <a href={hrefOf(['jobs'], { tenant, type: job.taskType })}>{job.taskType}</a>
        </Pair>
        {job.worker !== undefined && <Pair name="Worker">{job.worker}</Pair>}
        {isHeld && timeoutAt !== undefined && (
          <Pair name="Lease">
            <Countdown until={timeoutAt} over="ended" />
          </Pair>
        )}
        {job.currentStep !== undefined && <Pair name="Progress">{stepText(job)}</Pair>}
        <Pair name="Retries">
          {job.retryCount} of {job.maxRetries}
        </Pair>
        {error !== undefined && <Pair name="Last error">{error}</Pair>}
        <Pair name="Priority">{job.priority}</Pair>
        <Pair name="Created">
          <Time at={momentText(job.createdAt)} />
        </Pair>
        <Pair name="Updated">
          <Time at={momentText(job.updatedAt)} />
        </Pair>
        {runAt !== undefined && (
          <Pair name="Not before">
            <Time at={momentText(runAt)} />
          </Pair>
        )}
        {paramsRef !== undefined && <Pair name="Params">{paramsRef}</Pair>}
        {resultRef !== undefined && <Pair name="Result">{resultRef}</Pair>}
        <Pair name="Revision">{job.revision}</Pair>
      </dl>
    </>
  );
}

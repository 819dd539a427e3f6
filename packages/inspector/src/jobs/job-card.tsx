/** A job on the board. */
import type { Job } from '@tidemark/core/portable';
import { useEffect, useRef } from 'preact/hooks';
import { Countdown } from '../parts/countdown.tsx';
import { Mark } from '../parts/status.tsx';
import { momentText, Time } from '../parts/times.tsx';
import { hrefOf, route } from '../shell/router.ts';

export function JobCard({ job, isChosen }: { job: Job; isChosen: boolean }) {
  const { taskType, taskId, state, worker, timeoutAt, runAt, retryCount, maxRetries, error, priority } = job;
  const isHeld = state === 'claimed' || state === 'running';
  const query = { ...Object.fromEntries(route.value.query), job: `${taskType}/${taskId}` };
  const card = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isChosen) card.current?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [isChosen]);
  return (
    <li ref={card} class={isChosen ? 'job-card chosen' : 'job-card'}>
      <a href={hrefOf(['jobs'], query)} aria-current={isChosen ? 'true' : undefined}>
        <span class="strong">{taskId}</span> <span class="quiet">{taskType}</span>
      </a>
      <div class="marks">
        {isHeld && worker !== undefined && <Mark tone="quiet">{worker}</Mark>}
        {job.currentStep !== undefined && <Mark tone="quiet">{stepText(job)}</Mark>}
        {retryCount > 0 && <Mark tone="warn">{`retry ${retryCount} of ${maxRetries}`}</Mark>}
        {priority !== 0 && <Mark tone="quiet">{`priority ${priority}`}</Mark>}
      </div>
      {isHeld && timeoutAt !== undefined && (
        <p>
          Lease: <Countdown until={timeoutAt} over="ended" />
        </p>
      )}
      {state === 'pending' && runAt !== undefined && (
        <p>
          Ready <Time at={momentText(runAt)} />
        </p>
      )}
      {error !== undefined && <p class="job-error tone-bad">{error}</p>}
      {!isHeld && (
        <p class="quiet">
          <Time at={momentText(job.updatedAt)} />
        </p>
      )}
    </li>
  );
}

export function stepText({ currentStep, stepCount }: Job): string {
  return stepCount === undefined ? `step ${currentStep}` : `step ${currentStep} of ${stepCount}`;
}

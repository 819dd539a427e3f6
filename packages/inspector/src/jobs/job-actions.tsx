/** Buttons that requeue or cancel a job. */
import { type Job, mayMove } from '@tidemark/core/portable';
import { useState } from 'preact/hooks';
import { useAction } from '../live/action.ts';
import type { Tenant } from '../live/tenant.ts';
import { tidemarkLine } from '../parts/command-line.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { notify } from '../parts/copy.tsx';
import { Icon } from '../parts/icons.tsx';
import { newId } from '../parts/ids.ts';
import { Failure } from '../parts/states.tsx';
import { cancelJob, requeueJob } from './api.ts';

interface JobActionsProps {
  job: Job;
  tenant: Tenant;
  /** Called with the job after the action. */
  onDone(job: Job): void;
}

/** Returns the command line that does the same as the first button. */
export function commandOf(job: Job, tenant: Tenant): string {
  const name = `${job.taskType}/${job.taskId}`;
  return tidemarkLine(`jobs ${canRequeue(job) ? 'requeue' : canCancel(job) ? 'cancel' : 'show'}`, [name], tenant);
}

function canRequeue({ state }: Job): boolean {
  return mayMove(state, 'requeue');
}

function canCancel({ state }: Job): boolean {
  return mayMove(state, 'cancel');
}

export function JobActions({ job, tenant, onDone }: JobActionsProps) {
  const [isAsking, setAsking] = useState(false);
  const action = useAction();
  const name = `${job.taskType}/${job.taskId}`;
  const requeue = () => {
    const requestId = newId();
    action.run(async () => {
      onDone(await requeueJob(job, requestId, tenant));
      notify(`Requeued ${name}`);
    });
  };
  const cancel = () =>
    action.run(async () => {
      onDone(await cancelJob(job, tenant));
      notify(`Cancelled ${name}`);
      setAsking(false);
    });
  return (
    <>
      {canRequeue(job) && (
        <button type="button" class="small" disabled={action.isBusy.value} onClick={requeue}>
          <Icon name="reload" />
          Requeue
        </button>
      )}
      {canCancel(job) && (
        <button type="button" class="small" onClick={() => setAsking(true)}>
          <Icon name="close" />
          Cancel
        </button>
      )}
      {action.error.value !== undefined && !isAsking && <Failure error={action.error.value} onRepeat={action.again} />}
      {isAsking && (
        <Confirm
          title="Cancel the job"
          does="Cancel the job"
          command={tidemarkLine('jobs cancel', [name], tenant)}
          action={action}
          onConfirm={cancel}
          onClose={() => setAsking(false)}
        >
          <p>
            <code>{name}</code> ends even if a worker holds it: the worker loses its claim and can no longer update the
            job.
          </p>
        </Confirm>
      )}
    </>
  );
}

/** Takes a job back from an unresponsive worker, in the same way as the next sweep would. */
import type { Job, OverdueJob, RecoveredJob } from '@tidemark/core/portable';
import { useAction } from '../live/action.ts';
import type { Tenant } from '../live/tenant.ts';
import { notify } from '../parts/copy.tsx';
import { Icon } from '../parts/icons.tsx';
import { newId } from '../parts/ids.ts';
import { Failure } from '../parts/states.tsx';
import { recoverJob } from './api.ts';

const OUTCOME_TEXTS: Record<RecoveredJob['outcome'], string> = {
  requeued: 'Sent back to pending',
  failed: 'It had no retries left and failed permanently',
  released: 'Made available to workers',
  signalled: 'Signalled again',
  missed: 'The job changed in the meantime; nothing was done',
};

interface TakeBackProps {
  overdue: OverdueJob;
  tenant: Tenant;
  /** Called with the job after the action. */
  onDone(job: Job): void;
}

export function TakeBack({ overdue, tenant, onDone }: TakeBackProps) {
  const action = useAction();
  const takeBack = () => {
    const requestId = newId();
    action.run(async () => {
      const { outcome, job } = await recoverJob(overdue, requestId, tenant);
      notify(OUTCOME_TEXTS[outcome]);
      onDone(job);
    });
  };
  return (
    <>
      <button type="button" class="small" disabled={action.isBusy.value} onClick={takeBack}>
        <Icon name="reload" />
        Take it back now
      </button>
      {action.error.value !== undefined && <Failure error={action.error.value} onRepeat={action.again} />}
    </>
  );
}

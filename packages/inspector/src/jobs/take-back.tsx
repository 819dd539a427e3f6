/** Takes a job back from a worker that fell silent, as the next sweep would. */
import type { Job, OverdueJob, RecoveredJob } from '@tidemark/core/portable';
import { useAction } from '../live/action.ts';
import type { Tenant } from '../live/tenant.ts';
import { tell } from '../parts/copy.tsx';
import { Icon } from '../parts/icons.tsx';
import { newId } from '../parts/ids.ts';
import { Failure } from '../parts/states.tsx';
import { recoverJob } from './api.ts';

const TOLD: Record<RecoveredJob['outcome'], string> = {
  requeued: 'Sent back to pending',
  failed: 'It had no retries left and has failed for good',
  released: 'Made ready',
  signalled: 'Signalled again',
  missed: 'It moved on meanwhile; nothing was done',
};

interface TakeBackProps {
  overdue: OverdueJob;
  tenant: Tenant;
  /** Told the job as it is afterwards. */
  onDone(job: Job): void;
}

export function TakeBack({ overdue, tenant, onDone }: TakeBackProps) {
  const action = useAction();
  const takeBack = () => {
    const requestId = newId();
    action.run(async () => {
      const { outcome, job } = await recoverJob(overdue, requestId, tenant);
      tell(TOLD[outcome]);
      onDone(job);
    });
  };
  return (
    <>
      <button type="button" class="small" disabled={action.isBusy.value} onClick={takeBack}>
        <Icon name="reload" />
        Take it back now
      </button>
      {action.error.value !== undefined && <Failure error={action.error.value} onRetry={action.again} />}
    </>
  );
}

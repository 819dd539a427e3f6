/**
 * One pause and its answer. Approving and rejecting write a steering event for the waiting task; the process that holds
 * the token then resumes it. The token is not available here, because the store has only its hash.
 */
import { useSignal } from '@preact/signals';
import type { PauseInfo, SteeringEvent } from '@tidemark/core/portable';
import { useAction } from '../live/action.ts';
import { useResource } from '../live/resource.ts';
import type { Tenant } from '../live/tenant.ts';
import { CommandLine, tidemarkLine } from '../parts/command-line.tsx';
import { notify } from '../parts/copy.tsx';
import { Countdown } from '../parts/countdown.tsx';
import { Icon } from '../parts/icons.tsx';
import { newId } from '../parts/ids.ts';
import { JsonTree } from '../parts/json-tree.tsx';
import { Failure, Waiting } from '../parts/states.tsx';
import { Mark, Status } from '../parts/status.tsx';
import { Time } from '../parts/times.tsx';
import { hrefOf } from '../shell/router.ts';
import { readPause, saveSteering } from './api.ts';
import { canBeAnswered } from './pauses.ts';
import { wordsOf } from './update-text.ts';

interface PauseCardProps {
  pause: PauseInfo;
  decision: SteeringEvent | undefined;
  tenant: Tenant;
  onDecided(): void;
}

export function PauseCard({ pause, decision, tenant, onDecided }: PauseCardProps) {
  const isOpen = useSignal(false);
  const { pauseId, reason, sessionId, taskId, state } = pause;
  return (
    <li class="card pause-card">
      <header>
        <h2>{reason ?? 'Pause without a reason'}</h2>
        <Status status={state.toUpperCase()} />
      </header>
      <p>
        <Countdown until={Date.parse(pause.expiresAt)} over="expired" />{' '}
        <span class="quiet">
          asked <Time at={pause.createdAt} />
        </span>
      </p>
      <div class="marks">
        {sessionId !== undefined && (
          <a href={hrefOf(['sessions', sessionId], { tenant })}>
            <Icon name="sessions" /> {sessionId}
          </a>
        )}
        {taskId !== undefined && <Mark tone="quiet">{taskId}</Mark>}
        <Mark tone="quiet" title={pauseId}>{`pause ${pauseId.slice(0, 8)}`}</Mark>
      </div>
      {decision ? <Decided decision={decision} /> : <Answer pause={pause} tenant={tenant} onDecided={onDecided} />}
      <details
        onToggle={({ currentTarget }) => {
          isOpen.value = currentTarget.open;
        }}
      >
        <summary>Show its content without consuming it</summary>
        {isOpen.value && <Content pauseId={pauseId} tenant={tenant} />}
      </details>
    </li>
  );
}

function Decided({ decision }: { decision: SteeringEvent }) {
  const isApproved = decision.eventType === 'APPROVE';
  return (
    <p class={isApproved ? 'tone-good' : 'tone-bad'}>
      <Icon name={isApproved ? 'check' : 'cross'} /> {isApproved ? 'Approved' : 'Rejected'}{' '}
      <Time at={decision.createdAt} />
      {decision.source !== undefined && ` from ${decision.source}`}
      {typeof decision.payload?.comment === 'string' && `: ${wordsOf(decision.payload)}`}
      <span class="quiet"> · the process that holds the token resumes the task</span>
    </p>
  );
}

function Answer({ pause, tenant, onDecided }: Omit<PauseCardProps, 'decision'>) {
  const comment = useSignal('');
  const action = useAction();
  if (!canBeAnswered(pause))
    return <p class="quiet">This pause has no session and task, so it cannot be answered here.</p>;
  const { sessionId, taskId, pauseId } = pause;
  const decide = (eventType: 'APPROVE' | 'REJECT') => {
    const text = comment.value.trim();
    const payload = { pauseId, ...(text === '' ? {} : { comment: text }) };
    const ids = { sessionId, taskId, eventId: newId() };
    const event = { ...ids, eventType, payload, source: 'inspector', createdAt: new Date().toISOString() };
    action.run(async () => {
      await saveSteering(event, tenant);
      notify(eventType === 'APPROVE' ? 'Approved' : 'Rejected');
      onDecided();
    });
  };
  return (
    <form class="answer" onSubmit={(event) => event.preventDefault()}>
      <label>
        <span class="unseen">Comment</span>
        <input
          type="text"
          placeholder="Why (optional)"
          value={comment.value}
          onInput={(event) => {
            comment.value = event.currentTarget.value;
          }}
        />
      </label>
      <button type="button" class="primary" disabled={action.isBusy.value} onClick={() => decide('APPROVE')}>
        Approve
      </button>
      <button type="button" disabled={action.isBusy.value} onClick={() => decide('REJECT')}>
        Reject
      </button>
      {action.error.value !== undefined && <Failure error={action.error.value} onRepeat={action.again} />}
      <CommandLine line={tidemarkLine('pauses approve', [pauseId.slice(0, 16)], tenant)} />
    </form>
  );
}

function Content({ pauseId, tenant }: { pauseId: string; tenant: Tenant }) {
  const { data, error, reload } = useResource(pauseId, (signal) => readPause(pauseId, tenant, signal));
  if (error.value !== undefined) return <Failure error={error.value} onRetry={reload} />;
  return data.value ? (
    <JsonTree value={data.value} label="Content of the pause" openLevels={3} />
  ) : (
    <Waiting what="the pause" />
  );
}

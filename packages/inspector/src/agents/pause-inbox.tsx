/** The waiting pauses with their reason, time left and answer form. */
import type { PauseInfo } from '@tidemark/core/portable';
import { useEffect } from 'preact/hooks';
import { useResource } from '../live/resource.ts';
import type { Tenant } from '../live/tenant.ts';
import { countText } from '../parts/numbers.ts';
import { Command, Empty, Failure, Waiting } from '../parts/states.tsx';
import { Time } from '../parts/times.tsx';
import { PauseCard } from './pause-card.tsx';
import { isOpen, readDecisions, readPauses } from './pauses.ts';

const POLL_MS = 5_000;

interface InboxProps {
  /** Shows only the pauses of this session. Default: all pauses. */
  sessionId?: string;
  tenant: Tenant;
}

export function PauseInbox({ sessionId, tenant }: InboxProps) {
  const key = JSON.stringify([tenant, sessionId]);
  const { data, error, reload } = useResource(key, async (signal) => {
    const read = await readPauses(sessionId, tenant, signal);
    return { ...read, decisions: await readDecisions(read.items, tenant, signal) };
  });
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && reload(), POLL_MS);
    return () => clearInterval(timer);
  }, [reload]);
  const inbox = data.value;
  if (!inbox)
    return error.value === undefined ? <Waiting what="pauses" /> : <Failure error={error.value} onRetry={reload} />;
  const open = inbox.items.filter(isOpen);
  const consumed = inbox.items.filter((pause) => !isOpen(pause));
  return (
    <div class="pause-inbox">
      {error.value !== undefined && <Failure error={error.value} onRetry={reload} />}
      {!inbox.isComplete && (
        <p class="tone-warn">Only {countText(inbox.items.length)} pauses were read; there are more.</p>
      )}
      {open.length === 0 && <NoPauses />}
      <ol aria-label="Waiting pauses, next to expire first">
        {open.map((pause) => (
          <PauseCard
            key={pause.pauseId}
            pause={pause}
            decision={inbox.decisions.get(pause.pauseId)}
            tenant={tenant}
            onDecided={reload}
          />
        ))}
      </ol>
      {consumed.length > 0 && <Consumed pauses={consumed} />}
    </div>
  );
}

function NoPauses() {
  return (
    <Empty icon="pauses" title="No pauses are waiting">
      <p>A pause appears here until its task is resumed or the pause expires:</p>
      <Command>{`const token = mintPauseToken();
await store.agents.savePlannerState(token, { reason: 'approve a refund' }, { sessionId, taskId, ttl: '1h' });`}</Command>
    </Empty>
  );
}

function Consumed({ pauses }: { pauses: readonly PauseInfo[] }) {
  return (
    <details>
      <summary>{countText(pauses.length)} resumed recently</summary>
      <ol class="trace-events">
        {pauses.map((pause) => (
          <li key={pause.pauseId}>
            {pause.reason ?? 'without a reason'}{' '}
            <span class="quiet">
              {pause.sessionId} · asked <Time at={pause.createdAt} />
            </span>
          </li>
        ))}
      </ol>
    </details>
  );
}

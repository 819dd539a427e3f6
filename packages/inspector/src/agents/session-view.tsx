/** One session, live: conversation, tasks, updates, steering, memory, trajectories, pauses and artifacts. */
import type { StateUpdate } from '@tidemark/core/portable';
import { encodeSegment } from '@tidemark/wire';
import { useEffect, useMemo } from 'preact/hooks';
import { ArtifactShelf } from '../artifacts/artifact-shelf.tsx';
import { useTopic } from '../live/stream.ts';
import { CopyButton } from '../parts/copy.tsx';
import { Icon } from '../parts/icons.tsx';
import { countText } from '../parts/numbers.ts';
import { Empty, Failure, Waiting } from '../parts/states.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { hrefOf } from '../shell/router.ts';
import { currentTenant } from '../shell/tenant-box.tsx';
import { Conversation } from './conversation.tsx';
import { MemoryTab } from './memory-tab.tsx';
import { PauseInbox } from './pause-inbox.tsx';
import { Session } from './session.ts';
import { SteeringTab } from './steering-tab.tsx';
import { TasksTab } from './tasks-tab.tsx';
import { TrajectoriesTab } from './trajectories-tab.tsx';
import { UpdatesTab } from './updates-tab.tsx';

export function SessionView({ ids: [sessionId = ''] }: { ids: string[] }) {
  const tenant = currentTenant();
  const session = useMemo(() => new Session(sessionId, tenant), [sessionId, tenant]);
  useEffect(() => () => session.close(), [session]);
  const isLoaded = session.isLoaded.value;
  const topic = `sessions/${encodeSegment(sessionId)}`;
  const last = session.lastUpdateId;
  const subscription = {
    topic,
    ...(tenant && { tenantId: tenant }),
    after: last === null ? null : encodeURIComponent(last),
    onItem: (update: unknown) => session.receive(update as StateUpdate),
    onReset: () => void session.load(),
  };
  useTopic(isLoaded ? subscription : null, `${topic} ${tenant} ${isLoaded}`);
  return (
    <section class="view session-view">
      <header class="run-title">
        <a class="back" href={hrefOf(['sessions'], { tenant })} title="All sessions">
          <Icon name="back" />
          <span class="unseen">All sessions</span>
        </a>
        <h1 title={sessionId}>{sessionId}</h1>
        <CopyButton text={sessionId} what="session id" />
      </header>
      {session.error.value !== undefined && <Failure error={session.error.value} onRetry={() => session.load()} />}
      {isLoaded ? <Loaded session={session} /> : session.error.value === undefined && <Waiting what="the session" />}
    </section>
  );
}

function Loaded({ session }: { session: Session }) {
  const { tasks, updates, steering, sessionId, tenant } = session;
  const isEmpty = tasks.value.length + updates.value.length + steering.value.length === 0;
  return (
    <>
      {isEmpty && (
        <Empty icon="sessions" title="This session has no data yet">
          <p>Its tasks, updates and steering events appear here as they are saved.</p>
        </Empty>
      )}
      <Tabs
        label="Session tabs"
        tabs={[
          {
            name: 'conversation',
            title: 'Conversation',
            icon: 'sessions',
            page: () => <Conversation session={session} />,
          },
          {
            name: 'tasks',
            title: 'Tasks',
            icon: 'jobs',
            count: countText(tasks.value.length),
            page: () => <TasksTab session={session} />,
          },
          {
            name: 'updates',
            title: 'Updates',
            icon: 'runs',
            count: countText(updates.value.length),
            page: () => <UpdatesTab session={session} />,
          },
          {
            name: 'steering',
            title: 'Steering',
            icon: 'play',
            count: countText(steering.value.length),
            page: () => <SteeringTab session={session} />,
          },
          { name: 'memory', title: 'Memory', icon: 'kv', page: () => <MemoryTab session={session} /> },
          {
            name: 'trajectories',
            title: 'Trajectories',
            icon: 'clock',
            page: () => <TrajectoriesTab session={session} />,
          },
          {
            name: 'pauses',
            title: 'Pauses',
            icon: 'pauses',
            page: () => <PauseInbox sessionId={sessionId} tenant={tenant} />,
          },
          {
            name: 'artifacts',
            title: 'Artifacts',
            icon: 'artifacts',
            page: () => <ArtifactShelf scope={{ sessionId }} tenant={tenant} />,
          },
        ]}
      />
    </>
  );
}

/** A run: its header and four tabs. */
import { counted } from '../parts/numbers.ts';
import { Empty, Failure, Waiting } from '../parts/states.tsx';
import { Tabs } from '../parts/tabs.tsx';
import type { RunName } from './api.ts';
import { EventLog } from './event-log.tsx';
import { ProofTab } from './proof-tab.tsx';
import type { Run } from './run.ts';
import { RunHeader } from './run-header.tsx';
import { StateTab } from './state-tab.tsx';
import { Timeline } from './timeline.tsx';

/** Shows why a run cannot be loaded. */
export function NoRun({ runId, error }: { runId: string; error: unknown }) {
  return (
    <section class="view">
      <h1>{runId}</h1>
      <Failure error={error} onRetry={() => location.reload()} />
    </section>
  );
}

export function NoSuchRun() {
  return (
    <Empty icon="runs" title="There is no such run" isPage>
      <p>
        No events were ever written under this id. <a href="/runs">All runs</a>
      </p>
    </Empty>
  );
}

export function RunPage({ run, name }: { run: Run; name?: RunName }) {
  const head = run.head.value;
  if (run.error.value !== undefined) return <NoRun runId={name?.runId ?? ''} error={run.error.value} />;
  if (head === null) return <Waiting what="the run" />;
  if (head === 0) return <NoSuchRun />;
  const shown = { run, head, name };
  const count = counted(head, 'event');
  return (
    <section class="view run-view">
      <RunHeader run={run} name={name} />
      <Tabs
        label="Run tabs"
        tabs={[
          { name: 'events', title: 'Events', icon: 'runs', count, page: () => <EventLog {...shown} /> },
          { name: 'timeline', title: 'Timeline', icon: 'clock', page: () => <Timeline {...shown} /> },
          { name: 'state', title: 'State over time', icon: 'kv', page: () => <StateTab {...shown} /> },
          { name: 'proof', title: 'Proof', icon: 'shield', page: () => <ProofTab {...shown} /> },
        ]}
      />
    </section>
  );
}

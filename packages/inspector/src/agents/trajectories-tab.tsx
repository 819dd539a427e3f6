/** The trajectory of a trace, with its planner events and flow events. */
import type { PlannerEvent, StoredEvent } from '@tidemark/core/portable';
import { useResource } from '../live/resource.ts';
import { durationText } from '../parts/durations.ts';
import { Icon } from '../parts/icons.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { counted, countText } from '../parts/numbers.ts';
import { Command, Empty, Failure, Waiting } from '../parts/states.tsx';
import { momentText, Time } from '../parts/times.tsx';
import { route, setQuery } from '../shell/router.ts';
import { getTrajectory, listPlannerEvents, listTraces, loadHistory } from './api.ts';
import type { Session } from './session.ts';
import { wordsOf } from './update-text.ts';

const MAX_EVENTS = 500;

export function TrajectoriesTab({ session }: { session: Session }) {
  const { sessionId, tenant } = session;
  const traces = useResource(sessionId, (signal) => listTraces(sessionId, tenant, signal));
  if (traces.error.value !== undefined) return <Failure error={traces.error.value} onRetry={traces.reload} />;
  const ids = traces.data.value;
  if (!ids) return <Waiting what="traces" />;
  const chosen = route.value.query.get('trace') ?? ids[0];
  if (chosen === undefined)
    return (
      <Empty icon="clock" title="No trajectory yet">
        <p>A trace appears once its trajectory is saved:</p>
        <Command>{`await store.agents.saveTrajectory(traceId, ${JSON.stringify(sessionId)}, { query, steps });`}</Command>
      </Empty>
    );
  return (
    <div class="trajectories-tab">
      <div class="filter-row">
        <label>
          <span class="unseen">Trace</span>
          <select value={chosen} onChange={(event) => setQuery({ trace: event.currentTarget.value }, {})}>
            {[...new Set([...ids, chosen])].map((traceId) => (
              <option key={traceId} value={traceId}>
                {traceId}
              </option>
            ))}
          </select>
        </label>
        <span class="quiet">{counted(ids.length, 'trace')}, most recent first</span>
      </div>
      <Trace key={chosen} traceId={chosen} session={session} isKnown={ids.includes(chosen)} />
    </div>
  );
}

function Trace({ traceId, session, isKnown }: { traceId: string; session: Session; isKnown: boolean }) {
  const { sessionId, tenant } = session;
  const trajectory = useResource(traceId, async (signal) =>
    isKnown ? getTrajectory(sessionId, traceId, tenant, signal) : null,
  );
  const planned = useResource(traceId, (signal) => listPlannerEvents(traceId, tenant, signal));
  const history = useResource(traceId, (signal) => loadHistory(traceId, tenant, signal));
  const events = planned.data.value ?? [];
  const flow = history.data.value ?? [];
  return (
    <div class="state-columns">
      <section class="panel" aria-label="Trajectory">
        <h2>Trajectory</h2>
        {trajectory.error.value !== undefined && <Failure error={trajectory.error.value} onRetry={trajectory.reload} />}
        {trajectory.data.value === undefined && trajectory.error.value === undefined && (
          <Waiting what="the trajectory" />
        )}
        {trajectory.data.value === null && <p class="quiet">This session has no trajectory for this trace.</p>}
        {trajectory.data.value && <JsonTree value={trajectory.data.value} label="Trajectory" openLevels={4} />}
      </section>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard. */}
      <div class="state-side" tabIndex={0} role="group" aria-label="Events of the trace">
        <section class="panel" aria-label="Planner events">
          <h2>
            Planner events <span class="quiet">{countText(events.length)}</span>
          </h2>
          {planned.error.value !== undefined && <Failure error={planned.error.value} onRetry={planned.reload} />}
          <ol class="trace-events">
            {events.slice(0, MAX_EVENTS).map((event, at) => (
              <Planned key={event.eventId ?? at} event={event} />
            ))}
          </ol>
          {events.length > MAX_EVENTS && <p class="quiet">and {countText(events.length - MAX_EVENTS)} more</p>}
        </section>
        <section class="panel" aria-label="Flow events">
          <h2>
            Flow events <span class="quiet">{countText(flow.length)}</span>
          </h2>
          {history.error.value !== undefined && <Failure error={history.error.value} onRetry={history.reload} />}
          <ol class="trace-events">
            {flow.slice(0, MAX_EVENTS).map((event, at) => (
              <Flowed key={event.eventId ?? at} event={event} />
            ))}
          </ol>
          {flow.length > MAX_EVENTS && <p class="quiet">and {countText(flow.length - MAX_EVENTS)} more</p>}
        </section>
      </div>
    </div>
  );
}

function Planned({ event }: { event: PlannerEvent }) {
  const { eventType, trajectoryStep, nodeName, latencyMs, tokenEstimate, thought, error } = event;
  return (
    <li>
      <p>
        <span class="strong">
          {trajectoryStep}. {eventType}
        </span>{' '}
        {nodeName}{' '}
        <span class="quiet">
          {latencyMs !== undefined && latencyMs !== null && durationText(latencyMs)}{' '}
          {tokenEstimate !== undefined && tokenEstimate !== null && counted(tokenEstimate, 'token')}{' '}
          <Time at={momentText(event.ts * 1_000)} />
        </span>
      </p>
      {thought && <p class="words">{thought}</p>}
      {error && (
        <p class="tone-bad">
          <Icon name="cross" /> {error}
        </p>
      )}
    </li>
  );
}

function Flowed({ event }: { event: StoredEvent }) {
  return (
    <li>
      <p>
        <span class="strong">{event.kind}</span> {event.nodeName}{' '}
        <span class="quiet">
          {wordsOf(event.payload)} <Time at={momentText(event.ts * 1_000)} />
        </span>
      </p>
    </li>
  );
}

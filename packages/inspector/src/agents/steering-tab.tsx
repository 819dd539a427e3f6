/** The steering events of a session, and the form to send more. */
import type { SteeringEvent } from '@tidemark/core/portable';
import { Icon } from '../parts/icons.tsx';
import { JsonTree } from '../parts/json-tree.tsx';
import { Empty } from '../parts/states.tsx';
import { Mark } from '../parts/status.tsx';
import { Time } from '../parts/times.tsx';
import type { Session } from './session.ts';
import { SteerBox } from './steer-box.tsx';
import { lookOf, wordsOf } from './update-text.ts';

const MOST = 500;

export function SteeringTab({ session }: { session: Session }) {
  const events = session.steering.value.slice(-MOST).toReversed();
  return (
    <div class="steering-tab">
      <SteerBox session={session} />
      {events.length === 0 && (
        <Empty icon="sessions" title="No steering events yet">
          <p>Events sent with the form above are listed here.</p>
        </Empty>
      )}
      <ol class="steering-log" aria-label="Steering, newest first">
        {events.map((event) => (
          <Steered key={event.eventId} event={event} />
        ))}
      </ol>
    </div>
  );
}

function Steered({ event }: { event: SteeringEvent }) {
  const { icon, tone } = lookOf(event.eventType);
  return (
    <li class="card">
      <header>
        <h2 class={`tone-${tone}`}>
          <Icon name={icon} /> {event.eventType.toLowerCase().replaceAll('_', ' ')}
        </h2>
        <span class="quiet">
          <Time at={event.createdAt} />
        </span>
      </header>
      <p class="words">{wordsOf(event.payload)}</p>
      <div class="marks">
        <Mark tone="quiet">{event.taskId}</Mark>
        {event.source !== undefined && <Mark tone="quiet">{`from ${event.source}`}</Mark>}
      </div>
      <details>
        <summary>All fields of the event</summary>
        <JsonTree value={event} label={`Steering event ${event.eventId}`} />
      </details>
    </li>
  );
}

/** A one-line link to an event. */
import { useResource } from '../live/resource.ts';
import { Icon } from '../parts/icons.tsx';
import { countText } from '../parts/numbers.ts';
import { lookOf } from './event-kinds.ts';
import { hrefOfEvent } from './links.ts';
import type { Run } from './run.ts';

export function EventLine({ run, seq }: { run: Run; seq: number }) {
  const event = useResource(String(seq), () => run.pages.get(seq)).data.value;
  const { icon, tone } = lookOf(event?.eventType ?? '');
  return (
    <a class="event-line" href={hrefOfEvent(seq)}>
      <span class="number">#{countText(seq)}</span>
      {event && (
        <>
          <span class={`event-type tone-${tone}`}>
            <Icon name={icon} />
            {event.eventType}
          </span>
          <span>
            {event.stepId}
            {event.logicalAttemptId > 1 && ` · try ${event.logicalAttemptId}`}
          </span>
          <time class="quiet" dateTime={event.emittedAt}>
            {event.emittedAt}
          </time>
        </>
      )}
    </a>
  );
}

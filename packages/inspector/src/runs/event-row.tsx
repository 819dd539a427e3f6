/** An event in one line, with marks for what is unusual about it. */
import type { RunEventRecord, RunSnapshot } from '@tidemark/core/portable';
import { durationText } from '../parts/durations.ts';
import { Icon } from '../parts/icons.tsx';
import { shortText } from '../parts/json.ts';
import { countText } from '../parts/numbers.ts';
import { Mark } from '../parts/status.tsx';
import { Time } from '../parts/times.tsx';
import { isLifecycle, lookOf, NOTABLE_SKEW_MS, skewOf } from './event-kinds.ts';
import type { Absent } from './event-pages.ts';

const SUMMARY_LENGTH = 120;

interface EventCellsProps {
  seq: number;
  event: RunEventRecord | Absent;
  snapshot: RunSnapshot | null;
}

export function EventCells({ seq, event, snapshot }: EventCellsProps) {
  return (
    <>
      <span role="gridcell" class="number quiet">
        {countText(seq)}
      </span>
      {typeof event === 'object' ? <Told event={event} snapshot={snapshot} /> : <NotThere why={event} />}
    </>
  );
}

function NotThere({ why }: { why: Absent }) {
  return (
    <span role="gridcell" class="quiet not-there">
      {why === 'hole' ? (
        <>
          <Icon name="hole" /> This sequence was never written
        </>
      ) : (
        '…'
      )}
    </span>
  );
}

function Told({ event, snapshot }: { event: RunEventRecord; snapshot: RunSnapshot | null }) {
  const { icon, tone } = lookOf(event.eventType);
  return (
    <>
      <span role="gridcell">
        <Time at={event.persistedAt} />
      </span>
      <span role="gridcell" class={`event-type tone-${tone}`} title={event.eventType}>
        <Icon name={icon} />
        <span>{event.eventType}</span>
      </span>
      <span role="gridcell" title={event.stepId}>
        {event.stepId}
        {event.logicalAttemptId > 1 && <span class="quiet"> · try {event.logicalAttemptId}</span>}
      </span>
      <span role="gridcell" class="quiet summary">
        {summaryOf(event)}
      </span>
      <span role="gridcell" class="marks">
        <EventMarks event={event} snapshot={snapshot} />
      </span>
    </>
  );
}

/** The message of a failure says more than its payload. */
function summaryOf({ payload }: RunEventRecord): string {
  if (payload === undefined || Object.keys(payload).length === 0) return '';
  const { errorCode, errorMessage } = payload;
  const told = [errorCode, errorMessage].filter((text) => typeof text === 'string');
  return told.length > 0 ? told.join(': ') : shortText(payload, SUMMARY_LENGTH).slice(1).replace(/}$/, '');
}

/** What is unusual about an event. */
export function EventMarks({ event, snapshot }: { event: RunEventRecord; snapshot: RunSnapshot | null }) {
  const violation = snapshot?.violations.find(({ runSeq }) => runSeq === event.runSeq);
  const skew = skewOf(event);
  return (
    <>
      {violation && (
        <Mark tone="warn" icon="attention" title={`Not allowed here: ${violation.reason}`}>
          invalid
        </Mark>
      )}
      {event.redacted && (
        <Mark tone="quiet" title={`Taken out by ${event.redacted.by}: ${event.redacted.reason}`}>
          redacted
        </Mark>
      )}
      {event.forkedFrom && (
        <Mark tone="quiet" title={`Copied from ${event.forkedFrom.runId}#${event.forkedFrom.runSeq}`}>
          copied
        </Mark>
      )}
      {Math.abs(skew) >= NOTABLE_SKEW_MS && (
        <Mark tone="warn" title="Between the producer’s clock and the store’s">
          {`${skew > 0 ? '+' : '−'}${durationText(Math.abs(skew))}`}
        </Mark>
      )}
      {!isLifecycle(event.eventType) && (
        <Mark tone="quiet" title="A type of the producer’s own: kept, and without effect on the state">
          own type
        </Mark>
      )}
    </>
  );
}

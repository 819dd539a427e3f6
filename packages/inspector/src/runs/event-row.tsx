/** An event as a row, with flags for anything unusual. */
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
  /** When the first event of the run was stored; `null` if that is unknown. */
  startedAt: number | null;
  snapshot: RunSnapshot | null;
}

export function EventCells({ seq, event, startedAt, snapshot }: EventCellsProps) {
  return (
    <>
      <span role="gridcell" class="number quiet">
        {countText(seq)}
      </span>
      {typeof event === 'object' ? (
        <EventColumns event={event} startedAt={startedAt} snapshot={snapshot} />
      ) : (
        <MissingEvent why={event} />
      )}
    </>
  );
}

function MissingEvent({ why }: { why: Absent }) {
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

function EventColumns({ event, startedAt, snapshot }: Omit<EventCellsProps, 'seq'> & { event: RunEventRecord }) {
  const { icon, tone } = lookOf(event.eventType);
  return (
    <>
      <span role="gridcell" class="number quiet" title="Time since the first event of the run">
        {startedAt === null ? '' : offsetText(Date.parse(event.persistedAt) - startedAt)}
      </span>
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
        <EventFlags event={event} snapshot={snapshot} />
      </span>
    </>
  );
}

/** Formats the time since the first event. */
function offsetText(ms: number): string {
  return `+${durationText(Math.max(0, ms))}`;
}

/** Returns the error of a failure, or otherwise the payload on one line. */
function summaryOf({ payload }: RunEventRecord): string {
  if (payload === undefined || Object.keys(payload).length === 0) return '';
  const { errorCode, errorMessage } = payload;
  const error = [errorCode, errorMessage].filter((text) => typeof text === 'string');
  return error.length > 0 ? error.join(': ') : shortText(payload, SUMMARY_LENGTH).slice(1).replace(/}$/, '');
}

/** Flags for anything unusual about an event. */
export function EventFlags({ event, snapshot }: { event: RunEventRecord; snapshot: RunSnapshot | null }) {
  const violation = snapshot?.violations.find(({ runSeq }) => runSeq === event.runSeq);
  const skew = skewOf(event);
  return (
    <>
      {violation && (
        <Mark tone="warn" icon="attention" title={`Not allowed in this state: ${violation.reason}`}>
          invalid
        </Mark>
      )}
      {event.redacted && (
        <Mark tone="quiet" title={`Redacted by ${event.redacted.by}: ${event.redacted.reason}`}>
          redacted
        </Mark>
      )}
      {event.forkedFrom && (
        <Mark tone="quiet" title={`Copied from ${event.forkedFrom.runId}#${event.forkedFrom.runSeq}`}>
          copied
        </Mark>
      )}
      {Math.abs(skew) >= NOTABLE_SKEW_MS && (
        <Mark tone="warn" title="Difference between the producer’s clock and the store’s">
          {`${skew > 0 ? '+' : '−'}${durationText(Math.abs(skew))}`}
        </Mark>
      )}
      {!isLifecycle(event.eventType) && (
        <Mark tone="quiet" title="A custom event type: stored, without effect on the state">
          custom type
        </Mark>
      )}
    </>
  );
}

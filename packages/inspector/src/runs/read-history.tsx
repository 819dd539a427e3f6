/** Reads a whole run for a view that needs all events: automatically if the run is short, otherwise on request. */
import { useEffect } from 'preact/hooks';
import { counted, countText } from '../parts/numbers.ts';
import { Failure } from '../parts/states.tsx';
import { MAX_READ, READ_AT_ONCE, type RunHistory } from './history.ts';

interface ReadHistoryProps {
  history: RunHistory;
  head: number;
  /** Why the events are read, as text for the button. */
  purpose: string;
  /** A string that describes what is shown until the events have been read. */
  meanwhile: string;
}

export function ReadHistory({ history, head, purpose, meanwhile }: ReadHistoryProps) {
  useEffect(() => {
    if (head <= READ_AT_ONCE) void history.read();
  }, [history]);
  if (history.error.value !== undefined) return <Failure error={history.error.value} onRetry={() => history.read()} />;
  if (history.isComplete.value) return null;
  if (head > MAX_READ)
    return (
      <p class="quiet">
        The run has more than {countText(MAX_READ)} events, too many to read here for {purpose}. {meanwhile}
      </p>
    );
  return (
    <p class="quiet" role="status">
      {history.readTo.value > 0 ? (
        `Read ${countText(history.readTo.value)} of ${counted(head, 'event')} for ${purpose} …`
      ) : (
        <>
          {meanwhile}{' '}
          <button type="button" class="small" onClick={() => history.read()}>
            Read all {counted(head, 'event')} for {purpose}
          </button>
        </>
      )}
    </p>
  );
}

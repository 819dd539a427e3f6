/** Placeholders for data: empty, loading or failed. */
import { isTidemarkError } from '@tidemark/core/portable';
import type { ComponentChildren } from 'preact';
import { messageOf, remedyOf } from '../live/http.ts';
import { useRecovery } from '../live/outage.ts';
import { Icon, type IconName } from './icons.tsx';

interface EmptyProps {
  icon: IconName;
  title: string;
  /** True if the placeholder is the whole page. Its title is then the page's heading. */
  isPage?: boolean;
  children: ComponentChildren;
}

/** An empty state with a title and instructions. */
export function Empty({ icon, title, isPage, children }: EmptyProps) {
  const Heading = isPage ? 'h1' : 'h2';
  return (
    <div class="empty">
      <Icon name={icon} />
      <Heading>{title}</Heading>
      <div>{children}</div>
    </div>
  );
}

/** An empty search result with a button that clears the search. */
export function NothingFits({ title, offer, onTake }: { title: string; offer: string; onTake(): void }) {
  return (
    <Empty icon="search" title={title}>
      <p>
        <button type="button" onClick={onTake}>
          {offer}
        </button>
      </p>
    </Empty>
  );
}

interface FailureProps {
  error: unknown;
  /** Reads the data again, when the user requests it and when an outage of the server ends. */
  onRetry?: () => void;
  /** Repeats a write. Called only when the user requests it. */
  onRepeat?: () => void;
}

export function Failure({ error, onRetry, onRepeat }: FailureProps) {
  useRecovery(isTidemarkError(error, 'UNAVAILABLE'), onRetry);
  const again = onRetry ?? onRepeat;
  return (
    <div class="failure" role="alert">
      <Icon name="attention" />
      <div>
        <p>{messageOf(error)}</p>
        {remedyOf(error) && <p class="quiet">{remedyOf(error)}</p>}
        {again && (
          <button type="button" class="small" onClick={again}>
            Try again
          </button>
        )}
      </div>
    </div>
  );
}

export function Waiting({ what }: { what: string }) {
  return (
    <p class="waiting" role="status">
      Loading {what} …
    </p>
  );
}

/** A command to paste into a terminal. */
export function Command({ children }: { children: string }) {
  return (
    <pre class="command">
      <code>{children}</code>
    </pre>
  );
}

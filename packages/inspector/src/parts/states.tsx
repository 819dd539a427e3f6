/** Placeholders for data: empty, loading or failed. */
import type { ComponentChildren } from 'preact';
import { messageOf, remedyOf } from '../live/http.ts';
import { Icon, type IconName } from './icons.tsx';

interface EmptyProps {
  icon: IconName;
  title: string;
  /** True if it is the whole page, so that its title is the page's heading. */
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

export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  return (
    <div class="failure" role="alert">
      <Icon name="attention" />
      <div>
        <p>{messageOf(error)}</p>
        {remedyOf(error) && <p class="quiet">{remedyOf(error)}</p>}
        {onRetry && (
          <button type="button" class="small" onClick={onRetry}>
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

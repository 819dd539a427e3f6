/** The source of a stream: it can be read after a cursor and signals when to read again. */

/** One item of a stream. */
export interface StreamItem {
  /** Resumes after this item. */
  cursor: string;
  /** The `event` of a server-sent event. */
  event: string;
  /** JSON text. */
  data: string;
  /** Rendered event for a stream of a single topic, shared by all its readers. */
  text?: string;
}

/** The items after a cursor, up to a page. */
export interface StreamPage {
  items: StreamItem[];
  /** Where the next page starts; `null` while there is nothing to start after. */
  cursor: string | null;
  /** Whether items are missing: the cursor is too old, or of another server. */
  isReset?: boolean;
}

export interface StreamSource {
  read(after: string | null): Promise<StreamPage>;
  /** Yields each time there may be more after the cursor, until aborted. The value does not matter. */
  follow(after: string | null, signal: AbortSignal): AsyncIterable<unknown>;
  /** Follows from the first subscription on, because a source without history cannot be read later. */
  followsAtOnce?: boolean;
}

/** Notified when there may be more to read. */
export interface Waiter {
  wake(): void;
}

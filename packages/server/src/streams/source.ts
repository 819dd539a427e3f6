/** The source of a stream: a source can be read after a cursor, and signals when to read again. */

/** One item of a stream. */
export interface StreamItem {
  /** The cursor with which a reader resumes after this item. */
  cursor: string;
  /** The `event` field of a server-sent event. */
  event: string;
  /** The data as JSON text. */
  data: string;
  /** The event as rendered for a stream of a single topic, which all readers share. */
  text?: string;
}

/** At most a page of the items after a cursor. */
export interface StreamPage {
  items: StreamItem[];
  /** Where the next page starts; `null` if there is no cursor yet. */
  cursor: string | null;
  /** Whether items are missing because the cursor is too old or comes from another server. */
  isReset?: boolean;
}

export interface StreamSource {
  read(after: string | null): Promise<StreamPage>;
  /**
   * Yields each time there may be new items after the cursor, until the signal aborts. The yielded value has no
   * meaning.
   */
  follow(after: string | null, signal: AbortSignal): AsyncIterable<unknown>;
  /** Whether to follow from the first subscription on, because a source without history cannot be read later. */
  followsAtOnce?: boolean;
}

/** Notified when there may be more to read. */
export interface Waiter {
  wake(): void;
}

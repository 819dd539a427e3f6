/** What a stream is made of: something that can be read after a cursor, and that says when to read again. */

/** One thing that readers of a stream get. */
export interface StreamItem {
  /** Continues after this item. */
  cursor: string;
  /** Of which kind: the `event` of a server-sent event. */
  event: string;
  /** JSON text. */
  data: string;
  /** As a stream of its own shows it; rendered once for all its readers. */
  text?: string;
}

/** What comes after a cursor, up to a page. */
export interface StreamPage {
  items: StreamItem[];
  /** Where the next page starts; `null` while there is nothing to start after. */
  cursor: string | null;
  /** The cursor is too old, or of another server: what lies between is not known here. */
  isReset?: boolean;
}

export interface StreamSource {
  read(after: string | null): Promise<StreamPage>;
  /** Gives something, whatever it is, each time there may be more after the cursor, until aborted. */
  follow(after: string | null, signal: AbortSignal): AsyncIterable<unknown>;
  /** Follows from the first subscription on, since what nobody followed cannot be read later. */
  followsAtOnce?: boolean;
}

/** Somebody to be told that there may be more to read. */
export interface Waiter {
  wake(): void;
}

/** Where a run is read from: the server, or a file somebody exported. The views do not know which. */
import type { RunEventRecord, RunSnapshot } from '@tidemark/core/portable';

export interface EventsRead {
  events: RunEventRecord[];
  /** Characters of the text they came in. */
  size: number;
}

export interface RunSource {
  /** The last sequence. */
  head(signal?: AbortSignal): Promise<number>;
  /** Events after a sequence, in order. */
  read(afterSeq: number, limit: number, signal?: AbortSignal): Promise<EventsRead>;
  /** The state, now or after a sequence. */
  snapshot(atSeq: number | undefined, signal: AbortSignal): Promise<RunSnapshot>;
}

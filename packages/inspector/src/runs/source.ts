/** The source of a run: the server or an exported file. */
import type { RunEventRecord, RunSnapshot } from '@tidemark/core/portable';

export interface EventsRead {
  events: RunEventRecord[];
  /** The length of the events' JSON text in characters. */
  size: number;
}

export interface RunSource {
  /** The last sequence. */
  head(signal?: AbortSignal): Promise<number>;
  /** Events after a sequence, in order. */
  read(afterSeq: number, limit: number, signal?: AbortSignal): Promise<EventsRead>;
  /** The state at the end or after a sequence. */
  snapshot(atSeq: number | undefined, signal: AbortSignal): Promise<RunSnapshot>;
}

/**
 * All events of a run, read once and kept without most of their payloads. From the events the page computes the state
 * after any event, the event that wrote each value, and the attempts of each step. Long runs are read only on request.
 */
import { signal } from '@preact/signals';
import { blameRun, type RunEventRecord, RunFold, type RunSnapshot } from '@tidemark/core/portable';
import type { RunSource } from './source.ts';

const PAGE = 1_000;
/** Runs of up to this many events are read automatically. */
export const READ_AT_ONCE = 50_000;
/** The maximum number of events to read. */
export const MAX_READ = 300_000;
/** Payload fields that the state depends on. */
const PAYLOAD_FIELDS = ['errorCode', 'errorMessage', 'retryable', 'artifacts'] as const;

export class RunHistory {
  readonly #source: RunSource;
  readonly #events: RunEventRecord[] = [];
  readonly #reading = new AbortController();
  #isReading = false;
  #receivedTo = 0;
  /** The last sequence read. */
  readonly readTo = signal(0);
  readonly isComplete = signal(false);
  readonly error = signal<unknown>(undefined);

  constructor(source: RunSource) {
    this.#source = source;
  }

  get events(): readonly RunEventRecord[] {
    return this.#events;
  }

  /** Reads the run to its end. After a failure, continues from where the read stopped. */
  async read(): Promise<void> {
    if (this.#isReading || this.isComplete.value) return;
    this.#isReading = true;
    this.error.value = undefined;
    try {
      while (this.#events.length < MAX_READ && !this.isComplete.value) await this.#readPage();
    } catch (error) {
      if (!this.#reading.signal.aborted) this.error.value = error;
    }
    this.#isReading = false;
  }

  /** Adds a live event. If earlier events are missing, reads them first. */
  receive(event: RunEventRecord): void {
    this.#receivedTo = Math.max(this.#receivedTo, event.runSeq);
    if (!this.isComplete.value || event.runSeq <= this.readTo.value) return;
    if (event.runSeq === this.readTo.value + 1) {
      this.#take([event]);
      return;
    }
    this.isComplete.value = false;
    void this.read();
  }

  async #readPage(): Promise<void> {
    const receivedBefore = this.#receivedTo;
    const { events } = await this.#source.read(this.readTo.value, PAGE, this.#reading.signal);
    this.#take(events);
    // An event received during the read may not be in this page.
    const isBehind = this.#receivedTo > Math.max(receivedBefore, this.readTo.value);
    if (events.length < PAGE && !isBehind) this.isComplete.value = true;
  }

  #take(events: readonly RunEventRecord[]): void {
    for (const event of events) this.#events.push(withoutPayload(event));
    this.readTo.value = events.at(-1)?.runSeq ?? this.readTo.value;
  }

  snapshotAt(seq: number): RunSnapshot {
    const fold = new RunFold();
    for (const event of this.#events) {
      if (event.runSeq > seq) break;
      fold.apply(event);
    }
    return fold.snapshot(Date.now());
  }

  /** Returns the event that last wrote each path, in the state after an event. */
  async blameAt(seq: number): Promise<Record<string, number>> {
    const events = this.#events;
    const fetchEvents = async (_: string, { afterSeq = 0, limit = PAGE } = {}) => {
      const first = events.findIndex((event) => event.runSeq > afterSeq);
      return first < 0 ? [] : events.slice(first, first + limit);
    };
    return blameRun({ runs: { fetchEvents } }, events[0]?.runId ?? '', { atSeq: seq });
  }

  close(): void {
    this.#reading.abort();
  }
}

function withoutPayload(event: RunEventRecord): RunEventRecord {
  const { payload, ...envelope } = event;
  const kept = PAYLOAD_FIELDS.flatMap((name) => (payload?.[name] === undefined ? [] : [[name, payload[name]]]));
  return { ...envelope, ...(kept.length > 0 ? { payload: Object.fromEntries(kept) } : {}) };
}

/** Folds events into the state of one run with the handlers of a projection. */
import { TidemarkError } from '../contracts/errors.ts';
import type { Blame } from '../contracts/projections.ts';
import type { EventDefinitions, RunEventRecord } from '../contracts/run-events.ts';
import type { EventSchemas } from '../contracts/schemas.ts';
import { WriteTracker } from './blame.ts';
import { Draft } from './draft.ts';

/** The definition of a projection. */
export interface Handlers {
  name: string;
  version: number;
  initial: unknown;
  events: EventDefinitions<EventSchemas> | undefined;
  on: Readonly<Record<string, ((state: unknown, event: unknown) => unknown) | undefined>>;
}

export class ProjectionFold {
  readonly #handlers: Handlers;
  readonly #draft: Draft;
  readonly #writes: WriteTracker | null;
  #lastEventSeq: number;

  constructor(handlers: Handlers, from: { state: unknown; lastEventSeq: number } | null, options?: { blame: boolean }) {
    this.#handlers = handlers;
    this.#writes = options?.blame ? new WriteTracker() : null;
    this.#draft = new Draft(from ? from.state : handlers.initial, this.#writes?.record);
    this.#lastEventSeq = from?.lastEventSeq ?? 0;
  }

  get lastEventSeq(): number {
    return this.#lastEventSeq;
  }

  get state(): unknown {
    return this.#draft.holder.state;
  }

  get blame(): Blame {
    return this.#writes!.blame(this.#draft);
  }

  /** Folds the next event. Returns a promise only if the schema of the event is asynchronous. */
  apply(event: RunEventRecord): void | Promise<void> {
    const { on, events } = this.#handlers;
    const handle = Object.hasOwn(on, event.eventType) ? on[event.eventType] : undefined;
    if (!handle) {
      this.#lastEventSeq = event.runSeq;
      return;
    }
    const parsed = events ? events.parseEvent(event) : event;
    if (parsed instanceof Promise) return parsed.then((it) => this.#change(handle, event, it));
    this.#change(handle, event, parsed);
  }

  #change(
    handle: (state: unknown, event: unknown) => unknown,
    { eventType, runId, runSeq }: RunEventRecord,
    parsed: unknown,
  ) {
    if (this.#writes) this.#writes.seq = runSeq;
    try {
      this.#draft.apply((state) => handle(state, parsed));
    } catch (cause) {
      const { name, version } = this.#handlers;
      const event = `event ${runSeq} of run ${JSON.stringify(runId)}`;
      throw new TidemarkError(
        'PROJECTION_FAILED',
        `Projection ${name}, version ${version}, could not take in ${event}: ${messageOf(cause)}`,
        { field: `${name}.on.${eventType}`, rule: 'a handler that takes in every event', runId, runSeq, cause },
      );
    }
    this.#lastEventSeq = runSeq;
  }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}

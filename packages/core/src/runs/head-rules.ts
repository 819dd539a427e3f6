/**
 * What the head of a run says beside its chain, compared with the events it was made from: scope, plan, labels and times of
 * the first and the last event, and the status they lead to. `restoreRun` refuses a head that differs; `verify` reports it.
 */
import { sameJson } from '../checks/json.ts';
import type { RunHead, StoredRunEvent } from '../engine/runs.ts';
import { nextRunStatus } from './transitions.ts';

/** A field of the head and the value it should have, in words. */
export interface HeadDifference {
  field: string;
  rule: string;
}

/** Takes the events of a run in order. */
export class HeadRules {
  readonly #head: RunHead;
  #status: RunHead['status'] = null;
  #last: StoredRunEvent | null = null;

  constructor(head: RunHead) {
    this.#head = head;
  }

  /** Returns the first field that differs from what this event says, or `null`. */
  take(event: StoredRunEvent): HeadDifference | null {
    const isFirst = this.#last === null;
    this.#status = nextRunStatus(this.#status, event.eventType);
    this.#last = event;
    const scope = (['projectId', 'environmentId'] as const).find((field) => event[field] !== this.#head[field]);
    if (scope) return { field: scope, rule: 'that of the events' };
    return isFirst ? this.#differenceAtStart(event) : null;
  }

  /** The same after the last event. */
  end(): HeadDifference | null {
    if (this.#last?.link !== this.#head.link) return { field: 'head', rule: 'the link of the last event' };
    if (this.#last.persistedAt !== this.#head.updatedAt) return { field: 'updatedAt', rule: 'that of the last event' };
    return this.#status === this.#head.status ? null : { field: 'status', rule: 'the one its events lead to' };
  }

  /** What a run takes over from its first event. */
  #differenceAtStart(first: StoredRunEvent): HeadDifference | null {
    const { labels = {}, parentRunId = null } = (
      first.extra === null ? {} : JSON.parse(first.extra)
    ) as Partial<RunHead>;
    const { planId, planVersion, persistedAt: createdAt } = first;
    const told = { planId, planVersion, createdAt, labels, parentRunId };
    const different = Object.entries(told).find(
      ([field, value]) => !sameJson(value, this.#head[field as keyof typeof told]),
    );
    return different ? { field: different[0], rule: 'that of the first event' } : null;
  }
}

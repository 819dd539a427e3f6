/**
 * Compares the fields of a run's head that the chain does not cover with the run's events: scope, plan, labels, times
 * of the first and last event, and status. `restoreRun` rejects a head that differs; `verify` reports it.
 */
import { sameJson } from '../checks/json.ts';
import type { RunHead, StoredRunEvent } from '../engine/runs.ts';
import { nextRunStatus } from './transitions.ts';

/** A field of the head that differs, and a description of the value it should have. */
export interface HeadDifference {
  field: string;
  rule: string;
}

/** Compares a head with the events of its run, passed in order. */
export class HeadRules {
  readonly #head: RunHead;
  #status: RunHead['status'] = null;
  #last: StoredRunEvent | null = null;

  constructor(head: RunHead) {
    this.#head = head;
  }

  /** Returns the first field of the head that differs from this event, or `null`. */
  take(event: StoredRunEvent): HeadDifference | null {
    const isFirst = this.#last === null;
    this.#status = nextRunStatus(this.#status, event.eventType);
    this.#last = event;
    if ((event.life ?? 1) !== this.#head.life) return { field: 'life', rule: 'that of the events' };
    const scope = (['projectId', 'environmentId'] as const).find((field) => event[field] !== this.#head[field]);
    if (scope) return { field: scope, rule: 'that of the events' };
    return isFirst ? this.#differenceAtStart(event) : null;
  }

  /** Returns the first field of the head that differs after the last event, or `null`. */
  end(): HeadDifference | null {
    if (this.#last?.link !== this.#head.link) return { field: 'head', rule: 'the link of the last event' };
    if (this.#last.persistedAt !== this.#head.updatedAt) return { field: 'updatedAt', rule: 'that of the last event' };
    return this.#status === this.#head.status ? null : { field: 'status', rule: 'the one its events lead to' };
  }

  /** Compares the fields that a run copies from its first event. */
  #differenceAtStart(first: StoredRunEvent): HeadDifference | null {
    const { labels = {}, parentRunId = null } = (
      first.extra === null ? {} : JSON.parse(first.extra)
    ) as Partial<RunHead>;
    const { planId, planVersion, persistedAt: createdAt } = first;
    const expected = { planId, planVersion, createdAt, labels, parentRunId };
    const different = Object.entries(expected).find(
      ([field, value]) => !sameJson(value, this.#head[field as keyof typeof expected]),
    );
    return different ? { field: different[0], rule: 'that of the first event' } : null;
  }
}

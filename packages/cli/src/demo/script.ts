/** The script of a demo run: events with their times, grouped into batches. */
import type { JsonObject, RunEventInput } from '@tidemark/core';
import type { Random } from './random.ts';

export interface RunScope {
  runId: string;
  tenantId: string;
  projectId: string;
  environmentId: string;
  planId: string;
  planVersion: string;
  labels?: Record<string, string>;
  parentRunId?: string;
}

interface EventStep {
  stepId?: string;
  attempt?: number;
}

/** The events of one commit, and the time of the commit. */
export interface Batch {
  at: number;
  events: RunEventInput[];
}

/** Builds the events of one run. `at` is the current time of the script. */
export class RunScript {
  readonly scope: RunScope;
  readonly batches: Batch[] = [];
  readonly #random: Random;
  at: number;

  constructor(random: Random, scope: RunScope, startsAt: number) {
    this.#random = random;
    this.scope = scope;
    this.at = startsAt;
  }

  /** Adds an event in its own batch, stored a few milliseconds later. */
  event(eventType: string, payload: JsonObject = {}, step: EventStep = {}): this {
    return this.together([this.input(eventType, payload, step)]);
  }

  /** Adds events that are stored in one batch. */
  together(events: RunEventInput[]): this {
    this.batches.push({ at: this.at + this.#random.between(2, 40), events });
    return this;
  }

  input(eventType: string, payload: JsonObject = {}, { stepId, attempt = 1 }: EventStep = {}): RunEventInput {
    const { labels, ...scope } = this.scope;
    return {
      eventId: this.#random.uuid(),
      eventType,
      emittedAt: new Date(this.at).toISOString(),
      ...scope,
      ...(labels && this.batches.length === 0 ? { labels } : {}),
      engineAttemptId: 1,
      logicalAttemptId: attempt,
      ...(stepId === undefined ? {} : { stepId }),
      payload,
    };
  }

  /** Advances the time by a random duration. */
  wait(least: number, most: number): this {
    this.at += this.#random.between(least, most);
    return this;
  }
}

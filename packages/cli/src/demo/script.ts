/** A run of the demo as it is written: events with their times, and what was stored together. */
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

/** What was stored together, and when. */
export interface Batch {
  at: number;
  events: RunEventInput[];
}

/** Writes the story of one run; `at` moves on as it is told. */
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

  /** Something happens, and is stored a moment later. */
  event(eventType: string, payload: JsonObject = {}, step: EventStep = {}): this {
    return this.together([this.input(eventType, payload, step)]);
  }

  /** Events that were stored in one go. */
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

  /** Time passes between one event and the next. */
  wait(least: number, most: number): this {
    this.at += this.#random.between(least, most);
    return this;
  }
}

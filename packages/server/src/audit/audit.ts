/**
 * The audit log: each action of an admin is a run of the server's own tenant, begun before the action and ended with its
 * outcome. A run that was begun and never ended is an action whose outcome nobody knows.
 */
import { randomUUID } from 'node:crypto';
import { type JsonObject, type RunEventInput, type Store, TidemarkError, withRetries } from '@tidemark/core';
import { AUDIT_RUNS, SYSTEM_TENANT } from '../auth/system-tenant.ts';
import { problemOf } from '../http/problems.ts';

const DEADLINE = '5s';

/** What is done, by whom, and to what. Never a secret, and nothing of what was sent but ids. */
export interface AuditEntry {
  /** Such as `DELETE /v1/runs/{runId}`. */
  action: string;
  /** The id of a principal, or whoever uses the command line. */
  by: string;
  about: JsonObject;
}

export class Audit {
  readonly #store: Store;
  readonly #onLost: (error: unknown) => void;

  /** `onLost` hears when the outcome of an action could not be noted. */
  constructor(store: Store, onLost: (error: unknown) => void = () => {}) {
    this.#store = withRetries(store.forTenant(SYSTEM_TENANT), { deadline: DEADLINE });
    this.#onLost = onLost;
  }

  /** Notes an action, does it, and notes how it went. What cannot be noted is not done. */
  async around<T>(entry: AuditEntry, act: () => Promise<T>, statusOf?: (result: T) => number): Promise<T> {
    const runId = AUDIT_RUNS + randomUUID();
    const { action, by, about } = entry;
    await this.#note(runId, entry, 'RunStarted', { action, by, about }).catch((cause) => {
      throw new TidemarkError('UNAVAILABLE', 'The audit log cannot be written, so this was not done', { cause });
    });
    try {
      const result = await act();
      const outcome = statusOf ? { status: statusOf(result) } : {};
      await this.#noteOutcome(runId, entry, 'RunCompleted', outcome);
      return result;
    } catch (error) {
      await this.#noteOutcome(runId, entry, 'RunFailed', { errorCode: problemOf(error).code });
      throw error;
    }
  }

  /** Notes an action that was refused before it began. `leftOut` refusals of the same caller were not noted. */
  async refused(entry: AuditEntry, errorCode: string, leftOut: number): Promise<void> {
    const runId = AUDIT_RUNS + randomUUID();
    const { action, by, about } = entry;
    try {
      await this.#note(runId, entry, 'RunStarted', { action, by, about });
      await this.#note(runId, entry, 'RunFailed', { errorCode, refused: true, ...(leftOut > 0 ? { leftOut } : {}) });
    } catch (error) {
      this.#onLost(error);
    }
  }

  /** The action is done by now: that its outcome could not be noted does not undo it. */
  async #noteOutcome(runId: string, entry: AuditEntry, eventType: string, payload: JsonObject): Promise<void> {
    await this.#note(runId, entry, eventType, payload).catch(this.#onLost);
  }

  async #note(runId: string, { action, by }: AuditEntry, eventType: string, payload: JsonObject): Promise<void> {
    const event: RunEventInput = {
      eventId: randomUUID(),
      eventType,
      emittedAt: new Date().toISOString(),
      runId,
      tenantId: SYSTEM_TENANT,
      projectId: 'audit',
      environmentId: 'server',
      planId: action,
      planVersion: '1',
      engineAttemptId: 1,
      logicalAttemptId: 1,
      idempotencyKey: eventType,
      labels: { by },
      payload,
    };
    await this.#store.runs.appendEvent(event);
  }
}

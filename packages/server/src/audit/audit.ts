/**
 * The audit log: each admin action is a run of the system tenant, started before the action and ended with its outcome.
 * A run without an end is an action with an unknown outcome.
 */
import { randomUUID } from 'node:crypto';
import { type JsonObject, type RunEventInput, type Store, TidemarkError, withRetries } from '@tidemark/core';
import { AUDIT_RUNS, SYSTEM_TENANT } from '../auth/system-tenant.ts';
import { problemOf } from '../http/problems.ts';

const DEADLINE = '5s';

/** The action, the caller and the affected ids. An entry contains only ids from the request, and never secrets. */
export interface AuditEntry {
  /** The method and path of the action, such as `DELETE /v1/runs/{runId}`. */
  action: string;
  /** The id of a principal, or the user who runs the command line. */
  by: string;
  about: JsonObject;
}

export class Audit {
  readonly #store: Store;
  readonly #onLost: (error: unknown) => void;

  /** `onLost` is called when the outcome of an action could not be recorded. */
  constructor(store: Store, onLost: (error: unknown) => void = () => {}) {
    this.#store = withRetries(store.forTenant(SYSTEM_TENANT), { deadline: DEADLINE });
    this.#onLost = onLost;
  }

  /** Records an action, runs it, and records its outcome. An action that cannot be recorded is not run. */
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

  /**
   * Records an action that was refused before it began. `leftOut` is the number of the caller's earlier refusals that
   * were not recorded.
   */
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

  /**
   * Records the outcome of an action. The action has already run, so a failure to record its outcome cannot undo it.
   */
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

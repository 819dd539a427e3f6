/**
 * Request ids that no longer fit in the record they changed. They are in a stream whose messages the server drops by
 * age. Each id has its own subject, so that a single read finds it. The ids are published before the version of the
 * record that no longer holds them.
 */
import { type EngineCall, REQUEST_KEPT_MS, type RecordName, requestName } from '@tidemark/core/engine';
import type { Messages } from '../messages/messages.ts';
import type { Writer } from '../messages/writer.ts';
import { type Subject, subjectOf, tenantFilter } from '../streams/subjects.ts';
import { NO_REQUESTS, recordBody, recordHeaders } from './record-messages.ts';

/** The largest assumed difference between writers' clocks. */
const SKEW_MS = 5 * 60_000;

export interface KeptRequestParts {
  messages: Messages;
  writer: Writer;
  clock: () => number;
}

export class KeptRequests {
  readonly #parts: KeptRequestParts;

  constructor(parts: KeptRequestParts) {
    this.#parts = parts;
  }

  async keep(name: RecordName, requestIds: readonly string[], call: EngineCall): Promise<void> {
    const { writer, clock } = this.#parts;
    const state = { fields: new Map(), revision: 0, expiresAt: clock() + REQUEST_KEPT_MS };
    await Promise.all(
      requestIds.map((requestId) => {
        const kept = requestName(name, requestId);
        const subject = this.#subjectOf(kept);
        const headers = recordHeaders(kept, state, NO_REQUESTS, subject.hashed);
        return writer.publish({ subject: subject.text, headers, body: recordBody(state, NO_REQUESTS) }, call);
      }),
    );
  }

  /**
   * Whether an id is kept. `leftAt` is the last time that ids of the key were moved out of their record; 0 if never.
   */
  async has(name: RecordName, requestId: string, leftAt: number, call: EngineCall): Promise<boolean> {
    if (this.#parts.clock() - leftAt > REQUEST_KEPT_MS + SKEW_MS) return false;
    return (await this.#parts.messages.last(this.#subjectOf(requestName(name, requestId)).text, call)) !== null;
  }

  /** Removes all request ids of a tenant. */
  async erase(tenantId: string, call: EngineCall): Promise<void> {
    const { messages } = this.#parts;
    await messages.purge(tenantFilter(messages.subject, 'requests', tenantId), undefined, call);
  }

  #subjectOf({ space, tenantId, key }: RecordName): Subject {
    return subjectOf(this.#parts.messages.subject, { space, tenantId, name: key }, true);
  }
}

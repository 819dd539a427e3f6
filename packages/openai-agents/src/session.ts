/** A session for the OpenAI Agents SDK that keeps the history of a conversation as a log on any engine. */
import type {
  AgentInputItem,
  SessionHistoryRewriteArgs,
  SessionHistoryRewriteAwareSession,
  SessionHistoryTransactionArgs,
  SessionHistoryTransactionAwareSession,
} from '@openai/agents-core';
import type { Store } from '@tidemark/core';
import { KeyedMutex, keySegment, type OwnedEvent, type OwnedLog, OwnedLogs, sameJson } from '@tidemark/core/adapters';
import { type Change, eventsOfChange, findChange, type HistoryEnd, readEnd } from './history.ts';
import { conflict, refuse } from './refuse.ts';
import { encodeItems, mutate, type Operation, operationOf } from './transactions.ts';

/** Options of `TidemarkSession`. */
export interface TidemarkSessionOptions {
  /** The id of the conversation. Sessions with the same id share one history. Default: a new id. */
  sessionId?: string;
}

const ADAPTER = 'openai-agents';
const SESSIONS = 'tidemark.openai-agents.session.';

/**
 * Stores the history of a conversation in a Tidemark store on any engine.
 *
 * A change that depends on the history is fenced: it takes effect only if the history has not changed since it was
 * read. Otherwise the session reads the history again and retries.
 *
 * @example
 * const store = await open('sqlite:agent.db'); const session = new TidemarkSession(store, { sessionId: 'chat-7' });
 * await run(agent, 'Hello', { session });
 */
export class TidemarkSession implements SessionHistoryRewriteAwareSession, SessionHistoryTransactionAwareSession {
  readonly #store: Store;
  readonly #logs: OwnedLogs;
  readonly #log: OwnedLog;
  readonly #sessionId: string;
  readonly #lane = new KeyedMutex();

  /** @throws `INVALID_ARGUMENT` if the first argument is not a store, or if the id is not text. */
  constructor(store: Store, { sessionId = crypto.randomUUID() }: TidemarkSessionOptions = {}) {
    if (typeof store?.runs?.appendEvents !== 'function') throw refuse('store', 'must be an open Tidemark store');
    if (typeof sessionId !== 'string' || sessionId === '') throw refuse('sessionId', 'must be text that is not empty');
    this.#store = store;
    this.#logs = new OwnedLogs(store, ADAPTER);
    this.#sessionId = sessionId;
    this.#log = { key: `${SESSIONS}${keySegment(sessionId)}`, name: sessionId, fields: { session: sessionId } };
  }

  /** Returns the id of the conversation. */
  async getSessionId(): Promise<string> {
    return this.#sessionId;
  }

  /** Returns the last `limit` items, or all, oldest first. */
  async getItems(limit?: number): Promise<AgentInputItem[]> {
    return (await this.#read(limit)).items;
  }

  /**
   * Appends items in order. If one session object receives several calls, their items are stored in the order of the
   * calls.
   */
  async addItems(items: AgentInputItem[]): Promise<void> {
    if (items.length === 0) return;
    const events = this.#eventsOf({ items: encodeItems(items, 'items') });
    await this.#write(() => this.#logs.append(this.#log, [events]));
  }

  /**
   * Removes the last item and returns it, or returns `undefined` if there is none. Two callers never get the same item.
   */
  async popItem(): Promise<AgentInputItem | undefined> {
    return this.#write(async () => {
      for (;;) {
        const end = await this.#read(1);
        const [item] = end.items;
        if (item === undefined || (await this.#changeAt(end, { remove: 1 }))) return item;
      }
    });
  }

  /** Removes all items and forgets the transactions. The session may be used again. */
  async clearSession(): Promise<void> {
    await this.#write(() => this.#logs.remove(this.#log.key));
  }

  /** Replaces function calls that are already stored. The SDK requests this after an approval. */
  async applyHistoryMutations(args: SessionHistoryRewriteArgs): Promise<void> {
    await this.#write(async () => {
      for (;;) {
        const end = await this.#read();
        const before = encodeItems(end.items, 'items');
        const after = encodeItems(mutate(end.items, args), 'mutations');
        const changed = after.findIndex((item, at) => !sameJson(item, before[at]));
        const same = changed === -1 ? after.length : changed;
        if (same === before.length && same === after.length) return;
        if (await this.#changeAt(end, { remove: before.length - same, items: after.slice(same) })) return;
      }
    });
  }

  /**
   * Applies a transaction once. Repeating its `operationId` with the same transaction changes nothing.
   *
   * @throws `CONFLICT` if the id was used for another transaction, or if the history does not end with the expected
   * items. `INVALID_ARGUMENT` for a malformed transaction.
   */
  async applyHistoryTransaction(args: SessionHistoryTransactionArgs): Promise<void> {
    const operation = operationOf(args);
    const events = this.#eventsOf(operation.change, operation.key);
    await this.#write(async () => {
      while (!(await this.#tryOperation(operation, events)));
    });
  }

  /** Returns false if the history has changed since it was read. */
  async #tryOperation({ id, key, change, expected }: Operation, events: OwnedEvent[]): Promise<boolean> {
    const reused = () => conflict(`the operation ${id} was already applied with another transaction`);
    // A fence needs the position of the log, so at least one item is read.
    const end = await this.#read(Math.max(1, expected.length));
    const suffix = expected.length === 0 ? [] : encodeItems(end.items, 'items');
    const isExpected = sameJson(suffix, expected);
    // A retry usually finds that its first attempt has changed the end of the history. A large change has several
    // events, and another transaction with the same id could store some of them, so the log is searched for the id
    // first.
    if (!isExpected || events.length > 1) {
      const applied = await findChange(this.#store, end.runId, key);
      if (applied !== null && !sameJson(applied, change)) throw reused();
      if (applied !== null) return true;
      if (!isExpected) throw conflict('the history does not end with the expected items');
    }
    const appended = await this.#logs.appendFenced(this.#log, events, end);
    if (appended === null) return false;
    const [first] = appended.results;
    if (first!.idempotent && first!.payloadMatches === false) throw reused();
    return true;
  }

  /** Reads the last items, together with the position of the log. */
  async #read(limit = Number.POSITIVE_INFINITY): Promise<HistoryEnd> {
    for (;;) {
      const runId = await this.#logs.find(this.#log.key);
      const end = await readEnd(this.#store, runId, limit);
      // If the session was cleared while it was read, its first items may be missing.
      if ((await this.#logs.find(this.#log.key)) === runId) return end;
    }
  }

  /** Stores a change of the history that was read. Returns false if the history has changed since it was read. */
  async #changeAt(end: HistoryEnd, change: Change): Promise<boolean> {
    return (await this.#logs.appendFenced(this.#log, this.#eventsOf(change), end)) !== null;
  }

  #eventsOf(change: Change, idempotencyKey?: string): OwnedEvent[] {
    return eventsOfChange(change, this.#store.info.limits.eventPayloadBytes, idempotencyKey);
  }

  #write<T>(task: () => Promise<T>): Promise<T> {
    return this.#lane.run('', {}, task);
  }
}

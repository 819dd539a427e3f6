/**
 * The history of a session as a log of changes. A change removes items from the end of the history and then adds
 * others. The log is read backwards, so reading the last items of a long session requires only the last changes.
 */
import type { AgentInputItem } from '@openai/agents-core';
import type { JsonValue, RunEventRecord, Store } from '@tidemark/core';
import { beginsValue, eventsOfValue, type LogFence, type OwnedEvent, ValueReader } from '@tidemark/core/adapters';
import { decodeItem } from './items.ts';

/** A change of a history. */
export interface Change {
  /** How many items the change removes from the end. */
  remove?: number;
  /** The items that the change then adds, in encoded form. */
  items?: JsonValue[];
  /**
   * The items that the change expected to remove. Set only by transactions, because a retry must name the same items.
   */
  expected?: JsonValue[];
}

/** The end of a history in the state that was read. */
export interface HistoryEnd extends LogFence {
  /** The last items, oldest first: the requested number of items, or all items if there are fewer. */
  items: AgentInputItem[];
}

const CHANGE = 'change';
const EVENT_TYPE = 'HistoryChanged';

/** Returns the events that store a change. */
export function eventsOfChange(change: Change, maxBytes: number, idempotencyKey?: string): OwnedEvent[] {
  const keyed = idempotencyKey === undefined ? {} : { idempotencyKey };
  return eventsOfValue({ eventType: EVENT_TYPE, member: CHANGE, value: change, ...keyed }, maxBytes);
}

/** Reads the last `limit` items of the run that holds a session. */
export async function readEnd(store: Store, runId: string | null, limit: number): Promise<HistoryEnd> {
  const items: AgentInputItem[] = [];
  let seq = 0;
  let removed = 0;
  if (runId === null || limit <= 0) return { runId, seq, items };
  for await (const { change, last } of changesBackwards(store, runId, limit)) {
    if (seq === 0) seq = last.runSeq;
    for (const item of (change.items ?? []).toReversed()) {
      if (removed > 0) removed -= 1;
      else if (items.length < limit) items.push(decodeItem(item));
    }
    if (items.length >= limit) break;
    removed += change.remove ?? 0;
  }
  return { runId, seq, items: items.reverse() };
}

/** Returns the change with an idempotency key, or `null` if there is none. */
export async function findChange(store: Store, runId: string | null, key: string): Promise<Change | null> {
  if (runId === null) return null;
  for await (const { change, first } of changesBackwards(store, runId, 1_000)) {
    if (first.idempotencyKey === key) return change;
  }
  return null;
}

async function* changesBackwards(store: Store, runId: string, atOnce: number) {
  const limit = Math.min(Math.max(atOnce, 10), 1_000);
  let parts: RunEventRecord[] = [];
  let newest = true;
  for await (const event of store.runs.readEvents(runId, { order: 'newest', limit })) {
    parts.push(event);
    if (!beginsValue(event)) continue;
    const reader = new ValueReader<Change>(CHANGE);
    for (const part of parts.toReversed()) {
      const read = reader.next(part);
      // The head of the run may be a part of a value that was never completed. The fence must name that head
      // nevertheless.
      if (read !== null) yield { change: read.value, first: read.first, last: newest ? parts[0]! : read.last };
    }
    parts = [];
    newest = false;
  }
}

/** Encodes entries of transcripts as events. An entry is one event, or several events if it is large. */
import type { SessionStoreEntry } from '@anthropic-ai/claude-agent-sdk';
import { TidemarkError } from '@tidemark/core';
import { eventsOfValue, keySegment, type OwnedEvent } from '@tidemark/core/adapters';

/** The member of an event's payload that contains the entry. */
export const ENTRY = 'entry';
const EVENT_TYPE = 'TranscriptEntry';

/** Returns the events of an entry. Its `uuid` is the idempotency key. */
export function eventsOfEntry(entry: SessionStoreEntry, at: number, maxBytes: number): OwnedEvent[] {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
    const field = `entries[${at}]`;
    throw new TidemarkError('INVALID_ARGUMENT', `${field} must be an object`, { field, rule: 'must be an object' });
  }
  const { uuid } = entry;
  const keyed = typeof uuid === 'string' && uuid !== '' ? { idempotencyKey: `entry.${keySegment(uuid)}` } : {};
  return eventsOfValue({ eventType: EVENT_TYPE, member: ENTRY, value: entry, ...keyed }, maxBytes);
}

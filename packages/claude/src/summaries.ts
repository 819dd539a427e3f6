/**
 * Summaries of sessions. The SDK folds a summary from the entries in the order of the log. The summary is stored in the
 * record of the transcript, together with the sequence up to which it was folded. The next fold begins after that
 * sequence, so no entry is left out if two processes append at once, or if a process crashes between the append and the
 * fold.
 */
import { foldSessionSummary, type SessionKey, type SessionStoreEntry } from '@anthropic-ai/claude-agent-sdk';
import { type KvRecord, numberOf, type Store } from '@tidemark/core';
import { cutIntoFields, joinFields, runOf, ValueReader } from '@tidemark/core/adapters';
import { ENTRY } from './entries.ts';

const SUMMARY_FIELD = 'summary';
const FOLDED_FIELD = 'folded';

/** A summary without the time of the last entry, because the run contains that time. */
export interface StoredSummary {
  data: Record<string, unknown>;
  /** The sequence of the last event that was folded into the summary. */
  folded: number;
}

export function summaryOf(record: KvRecord): StoredSummary {
  const bytes = joinFields(SUMMARY_FIELD, record.fields);
  const data = bytes === null ? {} : (JSON.parse(Buffer.from(bytes).toString()) as Record<string, unknown>);
  return { data, folded: numberOf(record.fields[FOLDED_FIELD] ?? null) ?? 0 };
}

/** Folds the entries of a run that its record does not contain yet. Returns `null` if the record names another run. */
export async function foldSummary(
  store: Store,
  recordKey: string,
  runId: string,
  session: SessionKey,
): Promise<StoredSummary | null> {
  for (;;) {
    const record = await store.kv.get(recordKey);
    if (record === null || runOf(record) !== runId) return null;
    const before = summaryOf(record);
    const { entries, lastSeq } = await entriesAfter(store, runId, before.folded);
    if (lastSeq === before.folded) return before;
    const prev = before.folded === 0 ? undefined : { sessionId: session.sessionId, mtime: 0, data: before.data };
    const { data } = foldSessionSummary(prev, session, entries, { mtime: 0 });
    const bytes = Buffer.from(JSON.stringify(data));
    const { swapped } = await store.kv.swap(recordKey, {
      expectedRevision: record.revision,
      set: { ...cutIntoFields(SUMMARY_FIELD, bytes, store.info.limits.fieldBytes), [FOLDED_FIELD]: lastSeq },
      // A summary contains the first prompt.
      sealed: store.info.encrypts,
    });
    if (swapped) return { data, folded: lastSeq };
  }
}

async function entriesAfter(store: Store, runId: string, afterSeq: number) {
  const reader = new ValueReader<SessionStoreEntry>(ENTRY);
  const entries: SessionStoreEntry[] = [];
  let lastSeq = afterSeq;
  for await (const event of store.runs.readEvents(runId, { afterSeq })) {
    const read = reader.next(event);
    if (read !== null) entries.push(read.value);
    lastSeq = event.runSeq;
  }
  return { entries, lastSeq };
}

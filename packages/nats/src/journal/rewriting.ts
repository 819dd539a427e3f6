/**
 * Replaces the body of an entry. Messages cannot be changed, so one commit with all entries replaces all earlier
 * commits, which are then removed. The new commit starts the journal like any first commit, so readers with an older
 * state continue from it. If a rewrite is interrupted before the earlier commits are removed, a retry completes it.
 */
import { TidemarkError } from '@tidemark/core';
import type { EngineCall, JournalEntry, JournalHead, JournalName, JournalRewrite } from '@tidemark/core/engine';
import { isOver } from '../connection/link.ts';
import { outcomeUnknown } from '../errors.ts';
import { HEADER } from '../messages/headers.ts';
import type { Writer } from '../messages/writer.ts';
import { encodeCommit, hashOfKey } from './commits.ts';
import { JournalIndex } from './journal-index.ts';
import { type JournalReader, subjectOfJournal } from './journal-reader.ts';
import { noticeHeaders, noticesToCarry } from './notices.ts';

/** The limits on a rewrite. One message holds all entries, and every reader of the journal reads the whole message. */
const MAX_ENTRIES = 20_000;
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * Replaces the body of an entry. Returns false, and changes nothing, when the entry is missing or its body is not
 * `from`.
 */
export async function rewriteEntry(
  { reader, writer }: { reader: JournalReader; writer: Writer },
  name: JournalName,
  seq: number,
  { from, to, notice }: JournalRewrite,
  call: EngineCall,
): Promise<boolean> {
  const index = new JournalIndex();
  let [origin, copied]: [number, JournalEntry[]] = [0, []];
  for (;;) {
    const spilledUpTo = await reader.spill.writtenUpTo(call);
    await reader.refresh(name, index, call);
    const { head, last } = index;
    if (!head || index.tombstone !== null) return false;
    if (index.origin !== origin) [origin, copied] = [index.origin, []];
    if (copied.length === 0) await reader.finishRewrite(name, origin, call);
    // If another writer was faster, only the new entries are read before the next attempt.
    const lacking = head.seq - copied.length;
    if (lacking > 0) copied.push(...(await reader.read(name, copied.length, lacking, index, call)));
    if (copied.length === head.seq) {
      if (copied[seq - 1]?.body !== from) return false;
      const entries = copied.with(seq - 1, { ...copied[seq - 1]!, body: to });
      requireFew(entries);
      const carried = head.rewrites > 0 ? await noticesToCarry(reader, name, call) : [];
      const whole = { head, entries, last, spilledUpTo, notice, carried };
      const published = await publish(reader, writer, name, whole, call);
      if (published !== null) {
        await reader
          .removeBefore(name, published, spilledUpTo, call)
          .catch((error) => Promise.reject(outcomeUnknown(error)));
        return true;
      }
    }
    if (isOver(call))
      throw new TidemarkError(
        'TIMEOUT',
        'The run was written to faster than it could be copied; try again when it rests',
      );
  }
}

interface RewrittenJournal {
  head: JournalHead;
  entries: readonly JournalEntry[];
  last: number;
  spilledUpTo: number;
  notice: string | undefined;
  carried: readonly string[];
}

/**
 * Publishes the replacing commit. Returns `null` when another writer has written to the journal since its last message.
 */
async function publish(
  reader: JournalReader,
  writer: Writer,
  name: JournalName,
  whole: RewrittenJournal,
  call: EngineCall,
): Promise<number | null> {
  const { head, entries, last, spilledUpTo, notice, carried } = whole;
  const subject = subjectOfJournal(reader.subject, name);
  const { seq: count, updatedAt: time, createdAt } = head;
  const commit = { firstSeq: 1, count, time, createdAt, rewrites: head.rewrites + 1 };
  const { headers, body } = encodeCommit(
    { head: commit, state: head.state, entries, carried },
    entries.map(({ key }) => hashOfKey(key)),
    subject.hashed ? name : null,
  );
  const rewritten = { ...headers, [HEADER.rewritten]: String(spilledUpTo), ...noticeHeaders(notice, carried) };
  const content = await reader.fitting(subject.text, rewritten, body, writer.largestBody, call);
  return writer.publish({ subject: subject.text, expected: last, ...content }, call);
}

function requireFew(entries: readonly JournalEntry[]): void {
  const bytes = entries.reduce((sum, { body }) => sum + body.length, 0);
  if (entries.length <= MAX_ENTRIES && bytes <= MAX_BYTES) return;
  const rule = `at most ${MAX_ENTRIES} events and ${MAX_BYTES} bytes`;
  throw new TidemarkError(
    'UNSUPPORTED',
    `On NATS only runs of ${rule} can be redacted; delete this one, or destroy its key`,
    { field: 'runId', rule },
  );
}

/**
 * The run engine of keyed backends: one journal per run, written only if its head is still the head that the writer
 * knows (RUN-17).
 */

import { isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import type { EngineCall } from '../engine/call.ts';
import type { Journal, JournalName } from '../engine/journal.ts';
import type { RecordName, Records, StoredRecord } from '../engine/records.ts';
import type { RunKey } from '../engine/run-key.ts';
import type {
  CommitEnd,
  DamagedHead,
  FeedEntry,
  LogPage,
  RemoveRunOptions,
  RestoredPart,
  RunAppend,
  RunEngine,
  RunHead,
  RunQuery,
  RunTombstone,
  SequencedEvent,
  StoredRedaction,
  StoredRunEvent,
  StoredSnapshot,
} from '../engine/runs.ts';
import { type ChainFormat, NEWEST_CHAIN_FORMAT } from '../runs/chain.ts';
import { encodeEvent } from '../runs/event-forms.ts';
import { matchesQuery } from '../runs/list.ts';
import { readLogPage } from '../runs/log-page.ts';
import { decodeNotice, encodeNotice, noticeOfRemoval } from '../runs/notices.ts';
import { refuseIfOver } from '../tools/contention.ts';
import { outcomesOf } from '../tools/outcomes.ts';
import { inParts } from '../tools/paging.ts';
import { KeyedQuarantines } from './quarantines.ts';
import { RunAppender } from './run-appender.ts';
import { decodeHead, eventFromEntry, headOf, nameOf, runOf } from './run-entries.ts';
import { restoreJournal } from './run-restore.ts';

const LIST_PAGE = 500;
const ENDS_AT_ONCE = 32;

export class KeyedRuns implements RunEngine {
  readonly quarantines: KeyedQuarantines;
  readonly #journal: Journal;
  readonly #records: Records;
  readonly #appender: RunAppender;

  /** @param format returns the format of the chain that commits have now */
  constructor(journal: Journal, records: Records, format: () => ChainFormat = () => NEWEST_CHAIN_FORMAT) {
    this.#journal = journal;
    this.#records = records;
    this.#appender = new RunAppender(journal, format, (call) => records.now(call));
    this.quarantines = new KeyedQuarantines(records);
  }

  append(
    appends: readonly RunAppend[],
    call: EngineCall & { transaction?: unknown },
  ): Promise<(SequencedEvent[] | Error)[]> {
    if (call.transaction !== undefined) {
      return Promise.reject(new TidemarkError('UNSUPPORTED', 'This engine cannot join a transaction of the caller'));
    }
    return outcomesOf(appends, (append) => this.#appender.append(append, call));
  }

  async fetch(run: RunKey, afterSeq: number, limit: number, call: EngineCall): Promise<LogPage> {
    const name = nameOf(run);
    const read = async (after: number, count: number) =>
      (await this.#journal.read(name, after, count, call)).map((entry) => eventFromEntry(run, entry));
    return readLogPage(read, afterSeq, limit);
  }

  async head(run: RunKey, call: EngineCall): Promise<RunHead | RunTombstone | null> {
    return headOf(nameOf(run), await this.#journal.head(nameOf(run), call));
  }

  now(_tenantId: string, call: EngineCall): Promise<number> {
    return this.#records.now(call);
  }

  tenantsOf(runId: string, call: EngineCall): Promise<string[]> {
    return this.#journal.tenantsOf('runs', runId, call);
  }

  async list(query: RunQuery, call: EngineCall, onDamaged?: (head: DamagedHead) => void): Promise<RunHead[]> {
    const heads: RunHead[] = [];
    let after = query.after && {
      createdAt: query.after.createdAt,
      tenantId: query.after.tenantId,
      name: query.after.runId,
    };
    for (;;) {
      const page = await this.#journal.list(
        'runs',
        { tenantId: query.tenantId, order: query.order, after, limit: LIST_PAGE },
        call,
      );
      for (const { name, head } of page) {
        const run = runOf(name);
        const decoded = nullIfDamaged(() => decodeHead(run, head));
        if (decoded === null) onDamaged?.({ run, seq: head.seq });
        else if (matchesQuery(decoded, query)) heads.push(decoded);
        if (heads.length === query.limit) return heads;
      }
      const last = page.at(-1);
      if (!last || page.length < LIST_PAGE) return heads;
      after = { createdAt: last.head.createdAt, tenantId: last.name.tenantId, name: last.name.name };
    }
  }

  async loadSnapshot(run: RunKey, call: EngineCall): Promise<StoredSnapshot | null> {
    const record = await this.#snapshotRecord(snapshotName(run), call);
    if (record === 'damaged') return DAMAGED_SNAPSHOT;
    return record && decodeSnapshot(record);
  }

  /** Reads the record of a snapshot. A damaged snapshot is not an error, because the events can be folded again. */
  async #snapshotRecord(name: RecordName, call: EngineCall): Promise<StoredRecord | null | 'damaged'> {
    try {
      return (await this.#records.get([name], call))[0]!;
    } catch (error) {
      if (isTidemarkError(error, 'CORRUPT_VALUE')) return 'damaged';
      throw error;
    }
  }

  async saveSnapshot(
    run: RunKey,
    snapshot: StoredSnapshot,
    call: EngineCall,
    over?: StoredSnapshot | null,
  ): Promise<boolean> {
    const name = snapshotName(run);
    const set = new Map([
      ['seq', Buffer.from(String(snapshot.lastEventSeq))],
      ['rewrites', Buffer.from(String(snapshot.rewrites))],
      ['body', Buffer.from(snapshot.body)],
    ]);
    for (;;) {
      const record = await this.#snapshotRecord(name, call);
      if (record === 'damaged') {
        await this.#removeSnapshot(run, call);
        continue;
      }
      const stored = record && decodeSnapshot(record);
      if (stored && isAhead(stored, snapshot)) return false;
      if (over !== undefined && !isSame(stored, over)) return false;
      const expect = { revision: record?.revision ?? 0 };
      if ((await this.#records.write({ name, mode: 'replace', set, expect }, call)).applied) return true;
      refuseIfOver(call);
    }
  }

  async dropSnapshot(run: RunKey, upToRewrites: number, call: EngineCall): Promise<void> {
    const name = snapshotName(run);
    for (;;) {
      const stored = await this.#snapshotRecord(name, call);
      if (stored === 'damaged') return this.#removeSnapshot(run, call);
      if (!stored || decodeSnapshot(stored).rewrites > upToRewrites) return;
      const expect = { revision: stored.revision };
      if ((await this.#records.write({ name, mode: 'delete', set: new Map(), expect }, call)).applied) return;
      refuseIfOver(call);
    }
  }

  async remove(run: RunKey, tombstone: RunTombstone, call: RemoveRunOptions): Promise<boolean> {
    this.#appender.forget(nameOf(run));
    // Removes the journal first. With the tombstone in place, nobody can recreate the run while its snapshot is being
    // removed.
    const notice = encodeNotice(noticeOfRemoval(tombstone));
    const options = { ...call, keepsName: tombstone.kind !== 'deleted', notice };
    const removed = await this.#journal.remove(nameOf(run), JSON.stringify(tombstone), options);
    // A later life may have begun in the meantime. Its snapshot and quarantine must be kept.
    const { head, tombstone: there } = await this.#journal.head(nameOf(run), call);
    if (head !== null && there === null) return removed > 0;
    await this.#removeSnapshot(run, call);
    await this.quarantines.remove(run, call);
    return removed > 0;
  }

  async restore(run: RunKey, part: RestoredPart, call: EngineCall & { overDeleted?: boolean }): Promise<void> {
    this.#appender.forget(nameOf(run));
    // A snapshot stored while the run was gone may belong to another history.
    if (part.isLast) await this.#removeSnapshot(run, call);
    await restoreJournal(this.#journal, run, part, call);
  }

  async #removeSnapshot(run: RunKey, call: EngineCall): Promise<void> {
    await this.#records.write({ name: snapshotName(run), mode: 'delete', set: new Map() }, call);
  }

  async redact(run: RunKey, runSeq: number, redaction: StoredRedaction, call: EngineCall): Promise<boolean> {
    const name = nameOf(run);
    for (;;) {
      const [entry] = await this.#journal.read(name, runSeq - 1, 1, call);
      if (entry?.seq !== runSeq) return false;
      const event = eventFromEntry(run, entry);
      if (event.redaction) return true;
      const to = encodeEvent({ ...event, payload: null, redaction });
      const notice = encodeNotice({ kind: 'redacted', runSeq, life: event.life });
      if (await this.#journal.rewrite(name, runSeq, { from: entry.body, to, notice }, call)) return true;
      refuseIfOver(call);
    }
  }

  /** Removes a run's cached head before its journal is forgotten. */
  forget(tenantId: string, runId: string): void {
    this.#appender.forget(nameOf({ tenantId, runId }));
  }

  async feed(after: string | null, limit: number, call: EngineCall, notices?: boolean): Promise<FeedEntry[]> {
    const page = await this.#journal.feed('runs', after, limit, call, notices);
    const entries = page.map((item) => {
      const run = runOf(item.name);
      const event = item.entry ? nullIfDamaged(() => eventFromEntry(run, item.entry)) : null;
      return { ...item, run, event };
    });
    const ends = await this.#endsBefore(
      entries.flatMap(({ name, event }) => (event ? [{ name, event }] : [])),
      call,
    );
    return entries.map(({ cursor, name, run, entry, event, notice }): FeedEntry => {
      if (entry === undefined) return { cursor, run, notice: decodeNotice(notice) };
      if (event === null) return { cursor, run, runSeq: entry.seq, damage: 'its stored form cannot be decoded' };
      return { cursor, run, event, before: ends.get(eventKey(name, seqBefore(event)))! };
    });
  }

  /**
   * Returns, by event key, the end of the commit that precedes the commit of each event. That end is in the page, or is
   * read separately if the page begins inside a run.
   */
  async #endsBefore(
    entries: readonly { name: JournalName; event: StoredRunEvent }[],
    call: EngineCall,
  ): Promise<Map<string, CommitEnd | null>> {
    const ends = new Map<string, CommitEnd | null>();
    const unread: { name: JournalName; seq: number; key: string }[] = [];
    for (const { name, event } of entries) {
      const seq = seqBefore(event);
      const key = eventKey(name, seq);
      if (!ends.has(key)) {
        if (seq > 0) unread.push({ name, seq, key });
        ends.set(key, null);
      }
      ends.set(eventKey(name, event.runSeq), event);
    }
    for (const part of inParts(unread, ENDS_AT_ONCE)) {
      const read = await Promise.all(part.map(({ name, seq }) => this.#eventAt(name, seq, call)));
      for (const [at, event] of read.entries()) ends.set(part[at]!.key, event);
    }
    return ends;
  }

  /** Returns `null` for a removed or damaged run: verifying its events fails anyway. */
  async #eventAt(name: JournalName, seq: number, call: EngineCall): Promise<StoredRunEvent | null> {
    const [entry] = await this.#journal.read(name, seq - 1, 1, call);
    return entry ? nullIfDamaged(() => eventFromEntry(runOf(name), entry)) : null;
  }

  waitForEvents(run: RunKey | null, call: EngineCall): Promise<void> {
    return this.#journal.wait('runs', run && nameOf(run), call);
  }
}

/** Runs a decoder and returns `null` when the data is damaged. */
function nullIfDamaged<T>(decode: () => T): T | null {
  try {
    return decode();
  } catch (error) {
    if (isTidemarkError(error, 'CORRUPT_EVENT')) return null;
    throw error;
  }
}

/** Returns the last sequence before the commit of an event. */
function seqBefore({ runSeq, commitIndex }: StoredRunEvent): number {
  return runSeq - commitIndex;
}

function eventKey({ tenantId, name }: JournalName, seq: number): string {
  return `${tenantId}\0${name}\0${seq}`;
}

/**
 * Represents a snapshot that does not match its checksum. Its body does not belong to a run, and any fold may remove
 * it.
 */
const DAMAGED_SNAPSHOT: StoredSnapshot = { lastEventSeq: 0, rewrites: Number.MAX_SAFE_INTEGER, body: '' };

function decodeSnapshot({ fields }: StoredRecord): StoredSnapshot {
  const number = (field: string) => Number(Buffer.from(fields.get(field) ?? '0'));
  const body = Buffer.from(fields.get('body')!).toString();
  return { lastEventSeq: number('seq'), rewrites: number('rewrites'), body };
}

/** Whether snapshot `a` is newer than `b`. */
function isAhead(a: StoredSnapshot, b: StoredSnapshot): boolean {
  return a.rewrites === b.rewrites ? a.lastEventSeq > b.lastEventSeq : a.rewrites > b.rewrites;
}

function isSame(a: StoredSnapshot | null, b: StoredSnapshot | null): boolean {
  return a?.lastEventSeq === b?.lastEventSeq && a?.rewrites === b?.rewrites && a?.body === b?.body;
}

function snapshotName(run: RunKey): RecordName {
  return { space: 'snapshots', tenantId: run.tenantId, key: run.runId };
}

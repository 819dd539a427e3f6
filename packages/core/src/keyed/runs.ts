/** The run engine of keyed backends: one journal per run, written against the head the writer knows (RUN-17). */
import { TidemarkError } from '../contracts/errors.ts';
import type { Journal, JournalEntry, JournalHead, JournalName } from '../engine/journal.ts';
import type { RecordName, Records } from '../engine/records.ts';
import type {
  EngineCall,
  FeedEntry,
  LogPage,
  PlacedEvent,
  RunAppend,
  RunEngine,
  RunHead,
  RunKey,
  RunQuery,
  RunTombstone,
  StoredRunEvent,
  StoredSnapshot,
} from '../engine/runs.ts';
import { isTombstone } from '../engine/runs.ts';
import type { Digest } from '../hash.ts';
import { planAppend } from '../runs/append.ts';
import { FIRST_LINK } from '../runs/chain.ts';
import { matchesQuery } from '../runs/list.ts';
import { readLogPage } from '../runs/log-page.ts';
import { decodeEvent, decodeHead, encodeEvent, encodeHead } from './run-entries.ts';

/** A writer that loses this many races in a row gives up rather than spin. */
const MAX_TRIES = 200;
const MAX_KNOWN_HEADS = 4_096;
const LIST_PAGE = 500;

export class KeyedRuns implements RunEngine {
  readonly #journal: Journal;
  readonly #records: Records;
  /** Heads this process wrote last; a stale one costs a second try, never a wrong answer. */
  readonly #known = new Map<string, RunHead>();

  constructor(journal: Journal, records: Records) {
    this.#journal = journal;
    this.#records = records;
  }

  append(
    appends: readonly RunAppend[],
    call: EngineCall & { transaction?: unknown },
  ): Promise<(PlacedEvent[] | Error)[]> {
    if (call.transaction !== undefined) {
      return Promise.reject(new TidemarkError('UNSUPPORTED', 'This engine cannot join a transaction of the caller'));
    }
    return Promise.all(appends.map((append) => this.#appendOne(append, call).catch((error: Error) => error)));
  }

  async #appendOne(append: RunAppend, call: EngineCall): Promise<PlacedEvent[]> {
    const name = nameOf(append.run);
    const cacheKey = `${name.tenantId}\0${name.name}`;
    let head: RunHead | RunTombstone | null = this.#known.get(cacheKey) ?? null;
    let found = new Map<string, StoredRunEvent>();
    // What is only remembered may be stale: no refusal rests on it.
    let current = false;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      if (head === null && !current) {
        const keys = [...new Set(append.events.map((event) => event.idempotencyKey))];
        // The head first: what is found later is then known to be at or after it.
        head = headOf(append.run, await this.#journal.head(name, call));
        found = foundBy(await this.#journal.find(name, keys, call));
        current = true;
      }
      let plan: ReturnType<typeof planAppend>;
      try {
        plan = planAppend(append, head, found, 0);
      } catch (error) {
        if (current) throw error;
        head = null;
        continue;
      }
      if (plan.rows.length === 0) return plan.placed;
      const known = isTombstone(head) ? 0 : (head?.seq ?? 0);
      const entries = plan.rows.map((row) => ({ key: row.idempotencyKey, body: encodeEvent(row) }));
      const outcome = await this.#journal.commit(name, { known, state: encodeHead(plan.head), entries }, call);
      if (outcome.committed) {
        const createdAt = known === 0 ? outcome.time : plan.head.createdAt;
        this.#remember(cacheKey, { ...plan.head, createdAt, updatedAt: outcome.time });
        return plan.placed.map((placed) => (placed.runSeq > known ? { ...placed, persistedAt: outcome.time } : placed));
      }
      head = headOf(append.run, outcome);
      found = foundBy(outcome.found);
      current = true;
    }
    throw new TidemarkError(
      'OVERLOADED',
      `Run ${JSON.stringify(append.run.runId)} is written to by too many at once; try again`,
      {
        runId: append.run.runId,
      },
    );
  }

  #remember(cacheKey: string, head: RunHead): void {
    this.#known.delete(cacheKey);
    this.#known.set(cacheKey, head);
    if (this.#known.size > MAX_KNOWN_HEADS) this.#known.delete(this.#known.keys().next().value!);
  }

  async fetch(run: RunKey, afterSeq: number, limit: number, call: EngineCall): Promise<LogPage> {
    const name = nameOf(run);
    const read = async (after: number, count: number) =>
      (await this.#journal.read(name, after, count, call)).map(decodeEvent);
    return readLogPage(read, afterSeq, limit);
  }

  async head(run: RunKey, call: EngineCall): Promise<RunHead | RunTombstone | null> {
    return headOf(run, await this.#journal.head(nameOf(run), call));
  }

  tenantsOf(runId: string, call: EngineCall): Promise<string[]> {
    return this.#journal.tenantsOf('runs', runId, call);
  }

  async list(query: RunQuery, call: EngineCall): Promise<RunHead[]> {
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
        const run = decodeHead({ tenantId: name.tenantId, runId: name.name }, head);
        if (matchesQuery(run, query)) heads.push(run);
        if (heads.length === query.limit) return heads;
      }
      const last = page.at(-1);
      if (!last || page.length < LIST_PAGE) return heads;
      after = { createdAt: last.head.createdAt, tenantId: last.name.tenantId, name: last.name.name };
    }
  }

  async loadSnapshot(run: RunKey, call: EngineCall): Promise<StoredSnapshot | null> {
    const [record] = await this.#records.get([snapshotName(run)], call);
    const body = record?.fields.get('body');
    return body
      ? { lastEventSeq: Number(Buffer.from(record!.fields.get('seq')!)), body: Buffer.from(body).toString() }
      : null;
  }

  async saveSnapshot(run: RunKey, snapshot: StoredSnapshot, call: EngineCall): Promise<void> {
    const name = snapshotName(run);
    const set = new Map([
      ['seq', Buffer.from(String(snapshot.lastEventSeq))],
      ['body', Buffer.from(snapshot.body)],
    ]);
    for (;;) {
      const [stored] = await this.#records.get([name], call);
      if (stored && Number(Buffer.from(stored.fields.get('seq')!)) >= snapshot.lastEventSeq) return;
      const outcome = await this.#records.write(
        { name, mode: 'replace', set, expect: { revision: stored?.revision ?? 0 } },
        call,
      );
      if (outcome.applied) return;
    }
  }

  async remove(run: RunKey, tombstone: RunTombstone, call: EngineCall): Promise<boolean> {
    this.#known.delete(`${run.tenantId}\0${run.runId}`);
    // The journal first: with the tombstone in place nobody can bring the run back while its snapshot goes.
    const removed = await this.#journal.remove(nameOf(run), JSON.stringify(tombstone), call);
    await this.#records.write({ name: snapshotName(run), mode: 'delete', set: new Map() }, call);
    return removed > 0;
  }

  async feed(after: string | null, limit: number, call: EngineCall): Promise<FeedEntry[]> {
    const entries = await this.#journal.feed('runs', after, limit, call);
    const links = new Map<string, Digest>();
    const feed: FeedEntry[] = [];
    for (const { cursor, name, entry } of entries) {
      const event = decodeEvent(entry);
      const place = (seq: number) => `${name.tenantId}\0${name.name}\0${seq}`;
      const beforeSeq = event.runSeq - event.commitIndex;
      const linkBefore =
        beforeSeq === 0 ? FIRST_LINK : (links.get(place(beforeSeq)) ?? (await this.#linkAt(name, beforeSeq, call)));
      links.set(place(event.runSeq), event.link);
      feed.push({ cursor, run: { tenantId: name.tenantId, runId: name.name }, event, linkBefore });
    }
    return feed;
  }

  async #linkAt(name: JournalName, seq: number, call: EngineCall): Promise<Digest> {
    const [entry] = await this.#journal.read(name, seq - 1, 1, call);
    return entry ? decodeEvent(entry).link : FIRST_LINK;
  }

  waitForEvents(run: RunKey | null, call: EngineCall): Promise<void> {
    return this.#journal.wait('runs', run && nameOf(run), call);
  }
}

function nameOf(run: RunKey): JournalName {
  return { space: 'runs', tenantId: run.tenantId, name: run.runId };
}

function snapshotName(run: RunKey): RecordName {
  return { space: 'snapshots', tenantId: run.tenantId, key: run.runId };
}

function headOf(
  run: RunKey,
  found: { head: JournalHead | null; tombstone: string | null },
): RunHead | RunTombstone | null {
  if (found.tombstone !== null) return JSON.parse(found.tombstone) as RunTombstone;
  return found.head && decodeHead(run, found.head);
}

function foundBy(entries: readonly (JournalEntry | null)[]): Map<string, StoredRunEvent> {
  return new Map(entries.filter((entry) => entry !== null).map((entry) => [entry.key, decodeEvent(entry)]));
}

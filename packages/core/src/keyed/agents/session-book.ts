/**
 * One record per session: when it was created and last touched, and a counter that orders the items saved in it. It is
 * written before a session's first task, update, steering event or trajectory, so that every session with data is
 * listed.
 */

import type { EngineCall } from '../../engine/call.ts';
import type { RecordName, Records } from '../../engine/records.ts';
import { CONFLICT, type Contention } from '../../tools/contention.ts';
import { GroupCommit } from '../../tools/group-commit.ts';
import { joinKey } from '../../tools/joined-keys.ts';
import { fieldsOf, numberField } from '../../tools/record-fields.ts';
import { scanRecords } from '../scan.ts';

export interface BookedSession {
  sessionId: string;
  createdAt: number;
  touchedAt: number;
}

type Entry = 'touch' | 'next';

/** A session with writes under way. */
interface Lane {
  writes: GroupCommit<{ entry: Entry; call: EngineCall }, number>;
  waiting: number;
}

export class SessionBook {
  readonly #records: Records;
  readonly #contention: Contention;
  readonly #lanes = new Map<string, Lane>();

  constructor(records: Records, contention: Contention) {
    this.#records = records;
    this.#contention = contention;
  }

  /** Creates the session's record if it is absent. */
  async open(tenantId: string, sessionId: string, call: EngineCall): Promise<void> {
    const now = await this.#records.now(call);
    const set = fieldsOf({ createdAt: now, touchedAt: now, counter: 0 });
    const name = nameOf(tenantId, sessionId);
    await this.#records.write({ name, mode: 'merge', expect: { exists: false }, set }, call);
  }

  /** Records current activity in the session. Creates the record again if it was removed. */
  async touch(tenantId: string, sessionId: string, call: EngineCall): Promise<void> {
    await this.#submit(tenantId, sessionId, 'touch', call);
  }

  /** Returns the session's next number. Numbers never repeat while the session exists. */
  next(tenantId: string, sessionId: string, call: EngineCall): Promise<number> {
    return this.#submit(tenantId, sessionId, 'next', call);
  }

  /** Calls of this process share writes of the record instead of queueing for it. */
  async #submit(tenantId: string, sessionId: string, entry: Entry, call: EngineCall): Promise<number> {
    const id = joinKey([tenantId, sessionId]);
    const name = nameOf(tenantId, sessionId);
    const lane: Lane = this.#lanes.get(id) ?? {
      waiting: 0,
      writes: new GroupCommit((take) => this.#write(name, take())),
    };
    this.#lanes.set(id, lane);
    lane.waiting++;
    try {
      return await lane.writes.submit({ entry, call }, call);
    } finally {
      if (--lane.waiting === 0) this.#lanes.delete(id);
    }
  }

  /**
   * Performs one write for all entries. Returns a number for each caller. A `touch` gets the last number that was
   * assigned before it.
   */
  async #write(name: RecordName, entries: readonly { entry: Entry; call: EngineCall }[]): Promise<number[]> {
    if (entries.length === 0) return [];
    // The latest deadline bounds the write. The call has no signal, because one caller's signal must not stop the
    // others.
    const call = { deadline: Math.max(...entries.map((it) => it.call.deadline ?? Number.POSITIVE_INFINITY)) };
    const wanted = entries.filter(({ entry }) => entry === 'next').length;
    let counter = await this.#contention.settle(call, () => this.#advance(name, wanted, call));
    return entries.map(({ entry }) => (entry === 'next' ? ++counter : counter));
  }

  /** Advances the counter and returns its previous value. */
  async #advance(name: RecordName, by: number, call: EngineCall): Promise<number | typeof CONFLICT> {
    const [[record], now] = await Promise.all([this.#records.get([name], call), this.#records.now(call)]);
    const counter = record ? numberField(record, 'counter') : 0;
    // Conditional on the counter, not the revision, so that concurrent touches do not conflict.
    const expect = { fields: fieldsOf({ counter: record ? counter : null }) };
    const createdAt = record ? numberField(record, 'createdAt') : now;
    // A clock that steps back must not move `touchedAt` back.
    const touchedAt = record ? Math.max(now, numberField(record, 'touchedAt')) : now;
    const set = fieldsOf({ createdAt, touchedAt, counter: counter + by });
    const outcome = await this.#records.write({ name, mode: 'merge', expect, set }, call);
    return outcome.applied ? counter : CONFLICT;
  }

  async list(
    tenantId: string,
    range: { after: string | null; limit: number },
    call: EngineCall,
  ): Promise<BookedSession[]> {
    const found: BookedSession[] = [];
    const scan = { prefix: '', after: range.after, page: range.limit };
    for await (const record of scanRecords(this.#records, 'sessions', tenantId, scan, call)) {
      const [createdAt, touchedAt] = [numberField(record, 'createdAt'), numberField(record, 'touchedAt')];
      found.push({ sessionId: record.key, createdAt, touchedAt });
      if (found.length === range.limit) break;
    }
    return found;
  }

  async remove(tenantId: string, sessionId: string, call: EngineCall): Promise<void> {
    await this.#records.write({ name: nameOf(tenantId, sessionId), mode: 'delete', set: new Map() }, call);
  }
}

function nameOf(tenantId: string, sessionId: string): RecordName {
  return { space: 'sessions', tenantId, key: sessionId };
}

/**
 * The record of each session: when it was first and last heard of, and a counter that orders what is saved in it.
 * It is written before a session's first task, update, steering event or trajectory, so that none is ever unlisted.
 */
import type { RecordName, Records } from '../../engine/records.ts';
import type { EngineCall } from '../../engine/runs.ts';
import { CONFLICT, type Contention, Turns } from '../contention.ts';
import { fieldsOf, numberField } from '../fields.ts';
import { joinKey } from '../keys.ts';
import { scanRecords } from '../scan.ts';

export interface BookedSession {
  sessionId: string;
  createdAt: number;
  touchedAt: number;
}

export class SessionBook {
  readonly #records: Records;
  readonly #contention: Contention;
  readonly #turns = new Turns();

  constructor(records: Records, contention: Contention) {
    this.#records = records;
    this.#contention = contention;
  }

  /** Makes sure that the session has a record. */
  async open(tenantId: string, sessionId: string, call: EngineCall): Promise<void> {
    const now = await this.#records.now(call);
    const set = fieldsOf({ createdAt: now, touchedAt: now, counter: 0 });
    const name = nameOf(tenantId, sessionId);
    await this.#records.write({ name, mode: 'merge', expect: { exists: false }, set }, call);
  }

  /** Notes that something was saved in the session now; opens it if it was removed meanwhile. */
  async touch(tenantId: string, sessionId: string, call: EngineCall): Promise<void> {
    const set = fieldsOf({ touchedAt: await this.#records.now(call) });
    const name = nameOf(tenantId, sessionId);
    const outcome = await this.#records.write({ name, mode: 'merge', expect: { exists: true }, set }, call);
    if (!outcome.applied) await this.open(tenantId, sessionId, call);
  }

  /** The next number of the session, never given twice while the session lives. */
  next(tenantId: string, sessionId: string, call: EngineCall): Promise<number> {
    const name = nameOf(tenantId, sessionId);
    const attempt = async () => {
      const [[record], now] = await Promise.all([this.#records.get([name], call), this.#records.now(call)]);
      const counter = record ? numberField(record, 'counter') : 0;
      // Conditional on the counter, not the revision: touches of others are no conflict.
      const expect = { fields: fieldsOf({ counter: record ? counter : null }) };
      const createdAt = record ? numberField(record, 'createdAt') : now;
      const set = fieldsOf({ createdAt, touchedAt: now, counter: counter + 1 });
      const outcome = await this.#records.write({ name, mode: 'merge', expect, set }, call);
      return outcome.applied ? counter + 1 : CONFLICT;
    };
    return this.#turns.take(joinKey([tenantId, sessionId]), call, () => this.#contention.settle(call, attempt));
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

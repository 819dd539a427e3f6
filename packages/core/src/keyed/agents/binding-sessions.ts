/**
 * Finds the bindings of a router's session on keyed engines (AGT-13). The binding itself contains the session it
 * belongs to. An entry per (session, binding) names a binding that may belong to the session. The entry is written
 * before the binding, and is ignored if the binding belongs to another session.
 */
import type { EngineCall } from '../../engine/call.ts';
import type { RecordName, Records, StoredRecord } from '../../engine/records.ts';
import { joinKey, keyPrefix, splitKey } from '../../tools/joined-keys.ts';
import { inParts } from '../../tools/paging.ts';
import { fieldsOf, textField } from '../../tools/record-fields.ts';
import { scanRecords } from '../scan.ts';

const PAGE = 100;

/** A binding as read, with its key. */
export interface KeyedBinding {
  key: string;
  record: StoredRecord;
}

export class BindingSessions {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  /** Adds the entry of a binding. Writes an existing entry again, so that a removal that has read it fails. */
  async add(tenantId: string, session: string, key: string, call: EngineCall): Promise<void> {
    await this.#records.write({ name: entryOf(tenantId, session, key), mode: 'merge', set: HERE }, call);
  }

  /**
   * Adds the entry again if it is missing: a removal may have read the binding before it was written and removed the
   * entry after it was added.
   */
  async keep(tenantId: string, session: string, key: string, call: EngineCall): Promise<void> {
    const name = entryOf(tenantId, session, key);
    await this.#records.write({ name, mode: 'merge', expect: { exists: false }, set: HERE }, call);
  }

  /** Returns the bindings of a session, in no particular order. */
  async read(tenantId: string, session: string, call: EngineCall): Promise<KeyedBinding[]> {
    const keys: string[] = [];
    const range = { prefix: keyPrefix([session]) };
    for await (const { key } of scanRecords(this.#records, 'bindingSessions', tenantId, range, call))
      keys.push(bindingKeyOf(key));
    const found: KeyedBinding[] = [];
    for (const some of inParts(keys, PAGE)) {
      const bindings = await this.#records.get(
        some.map((key) => bindingOf(tenantId, key)),
        call,
      );
      for (const [at, record] of bindings.entries())
        if (record && sessionOf(record) === session) found.push({ key: some[at]!, record });
    }
    return found;
  }

  /** Removes the entry of a binding, unless the binding belongs to the session. */
  async drop(tenantId: string, session: string, key: string, call: EngineCall): Promise<void> {
    const name = entryOf(tenantId, session, key);
    const [entry, binding] = await this.#records.get([name, bindingOf(tenantId, key)], call);
    if (!entry || (binding && sessionOf(binding) === session)) return;
    const removal = { name, mode: 'delete', expect: { revision: entry.revision }, set: new Map() } as const;
    const { applied } = await this.#records.write(removal, call);
    if (!applied) return;
    const [again] = await this.#records.get([bindingOf(tenantId, key)], call);
    if (again && sessionOf(again) === session) await this.keep(tenantId, session, key, call);
  }

  /** Removes the entries of bindings that were removed. */
  async dropEntries(
    tenantId: string,
    removed: readonly (Pick<StoredRecord, 'fields'> & { key: string })[],
    call: EngineCall,
  ): Promise<void> {
    for (const { key, fields } of removed) {
      const session = sessionOf({ fields });
      if (session !== null) await this.drop(tenantId, session, key, call);
    }
  }

  /** Removes up to `limit` bindings of a session, each at the revision at which it was read, and their entries. */
  async erase(tenantId: string, session: string, limit: number, call: EngineCall): Promise<number> {
    let removed = 0;
    const range = { prefix: keyPrefix([session]), page: PAGE };
    for await (const entry of scanRecords(this.#records, 'bindingSessions', tenantId, range, call)) {
      const key = bindingKeyOf(entry.key);
      if (await this.#erase(tenantId, session, key, call)) removed++;
      await this.drop(tenantId, session, key, call);
      if (removed === limit) break;
    }
    return removed;
  }

  /** Removes a binding. Reads again if a writer was faster, because the binding may belong to another session now. */
  async #erase(tenantId: string, session: string, key: string, call: EngineCall): Promise<boolean> {
    const name = bindingOf(tenantId, key);
    for (;;) {
      const [binding] = await this.#records.get([name], call);
      if (!binding || sessionOf(binding) !== session) return false;
      // Also compares the session, because on some engines revisions restart when a record is removed and written
      // again.
      const expect = { revision: binding.revision, fields: fieldsOf({ routerSessionId: session }) };
      const { applied } = await this.#records.write({ name, mode: 'delete', expect, set: new Map() }, call);
      if (applied) return true;
    }
  }
}

/** An entry has no content besides its key. */
const HERE = fieldsOf({ here: 1 });

/** Returns the router's session of a stored binding. */
export function sessionOf(record: Pick<StoredRecord, 'fields'>): string | null {
  return textField(record, 'routerSessionId');
}

function bindingOf(tenantId: string, key: string): RecordName {
  return { space: 'bindings', tenantId, key };
}

function entryOf(tenantId: string, session: string, key: string): RecordName {
  return { space: 'bindingSessions', tenantId, key: joinKey([session, ...splitKey(key)]) };
}

function bindingKeyOf(entryKey: string): string {
  return joinKey(splitKey(entryKey).slice(1));
}

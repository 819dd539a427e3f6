/**
 * Artifact references on keyed backends: one record per reference, and index entries by session, by trace, or for
 * references with neither. A readable reference is always listed, because its entries are written before it and removed
 * after it.
 */

import { corruptValue, Damage } from '../checks/damage.ts';
import { isTidemarkError } from '../contracts/errors.ts';
import type { ArtifactEngine, ArtifactMatch, ArtifactRow } from '../engine/artifacts.ts';
import type { EngineCall } from '../engine/call.ts';
import type { RecordName, Records, RecordWrite, StoredRecord } from '../engine/records.ts';
import { CONFLICT, Contention } from '../tools/contention.ts';
import type { StoreContext } from '../tools/context.ts';
import { joinKey, keyPrefix, splitKey } from '../tools/joined-keys.ts';
import { fieldsOf, numberField, textField } from '../tools/record-fields.ts';
import { scanRecords } from './scan.ts';

const PAGE = 500;
/**
 * Entries of references with neither session nor trace. References that version 0.1 stored have no entry until they are
 * stored again.
 */
const UNSCOPED = 'unscoped';

export interface KeyedArtifactOptions {
  /**
   * Set if the engine writes the records of a batch one after the other, so that other writers can interfere. Entries
   * are then written again after their reference, because a removal that began earlier may have removed them.
   */
  stepwise?: boolean;
}

/** Referenced hashes, and the number of expired references that were removed while reading. */
export interface NamedHashes {
  hashes: ReadonlySet<string>;
  removed: number;
}

export class KeyedReferences implements Pick<ArtifactEngine, 'getRef' | 'touchRef' | 'deleteRef' | 'listRefs'> {
  readonly #records: Records;
  readonly #contention: Contention;
  readonly #stepwise: boolean;

  constructor(context: Pick<StoreContext, 'random'>, records: Records, { stepwise = false }: KeyedArtifactOptions) {
    this.#records = records;
    this.#contention = new Contention(context);
    this.#stepwise = stepwise;
  }

  /** Upserts a reference. Returns a function that removes exactly this version of it. */
  async put(tenantId: string, row: ArtifactRow, call: EngineCall): Promise<() => Promise<boolean>> {
    const { accessedAt, ...rest } = row;
    const entries = entryNames(tenantId, row).map(
      (name): RecordWrite => ({ name, mode: 'replace', set: fieldsOf({ id: row.id }) }),
    );
    const set = fieldsOf({ row: JSON.stringify(rest), accessedAt });
    const reference: RecordWrite = { name: refName(tenantId, row.id), mode: 'replace', set };
    const writes = [...entries, reference, ...(this.#stepwise ? entries : [])];
    const { record } = (await this.#records.batch(writes, call))[entries.length]!;
    return () => this.#remove(tenantId, row, record!.revision, call);
  }

  async getRef(tenantId: string, id: string, call: EngineCall): Promise<ArtifactRow | null> {
    return (await this.#load(tenantId, [id], call))[0] ?? null;
  }

  async touchRef(tenantId: string, id: string, at: number, call: EngineCall): Promise<void> {
    const set = fieldsOf({ accessedAt: at });
    await this.#records.write({ name: refName(tenantId, id), mode: 'merge', expect: { exists: true }, set }, call);
  }

  deleteRef(...[tenantId, id, seen, call]: Parameters<ArtifactEngine['deleteRef']>): Promise<boolean> {
    return this.#contention.settle(call, async () => {
      const [record] = await this.#records.get([refName(tenantId, id)], call);
      if (!record) return false;
      const row = rowOf(record);
      if (seen !== null && (row.accessedAt !== seen.accessedAt || row.createdAt !== seen.createdAt)) return false;
      return (await this.#remove(tenantId, row, record.revision, call)) || CONFLICT;
    });
  }

  async listRefs(...[tenantId, match, range, call]: Parameters<ArtifactEngine['listRefs']>): Promise<ArtifactRow[]> {
    const found: ArtifactRow[] = [];
    const damage = new Damage();
    const prefix = prefixFor(match);
    let after = range.after === null ? null : prefix + range.after;
    while (found.length < range.limit) {
      const page = await this.#records.scan('artifacts', tenantId, { prefix, after, limit: PAGE }, call);
      for (const { key, damaged } of page) if (damaged) damage.note(corruptValue('artifact', key));
      const ids = page.filter(({ damaged }) => !damaged).map(idOfEntry);
      const rows = await this.#loadEach(tenantId, ids, damage, call);
      found.push(...(rows.filter((row) => row !== null && matches(row, match)) as ArtifactRow[]));
      if (page.length < PAGE) break;
      after = page.at(-1)!.key;
    }
    damage.report(call.damaged);
    return found.slice(0, range.limit);
  }

  /** Loads references by id. When one is damaged, loads each separately. */
  async #loadEach(
    tenantId: string,
    ids: readonly string[],
    damage: Damage,
    call: EngineCall,
  ): Promise<(ArtifactRow | null)[]> {
    try {
      return await this.#load(tenantId, ids, call);
    } catch (error) {
      if (!isTidemarkError(error, 'CORRUPT_VALUE')) throw error;
    }
    const rows: (ArtifactRow | null)[] = [];
    for (const id of ids) {
      const row = await this.getRef(tenantId, id, call).catch((error) => damage.note(error));
      rows.push(row ?? null);
    }
    return rows;
  }

  /**
   * Counts the references that have not expired by `now`. A damaged reference is counted, because its expiry is
   * unknown.
   */
  async count(tenantId: string, now: number, call: EngineCall): Promise<number> {
    let references = 0;
    for (let after: string | null = null; ; ) {
      const damaged: string[] = [];
      const page = await this.listRefs(tenantId, {}, { after, limit: PAGE }, { ...call, damaged });
      references += damaged.length + page.filter(({ expiresAt }) => expiresAt === null || expiresAt > now).length;
      if (page.length < PAGE) return references;
      after = page.at(-1)!.id;
    }
  }

  /** Reads the referenced hashes, and removes references that had expired by `expiredBy`. */
  async named(tenantId: string, expiredBy: number | null, call: EngineCall): Promise<NamedHashes> {
    const hashes = new Set<string>();
    let removed = 0;
    for await (const { row, revision } of this.#all(tenantId, call)) {
      const isExpired = expiredBy !== null && row.expiresAt !== null && row.expiresAt <= expiredBy;
      // A reference that has been stored again is no longer expired.
      if (isExpired && (await this.#remove(tenantId, row, revision, call))) removed++;
      else hashes.add(row.sha256);
    }
    return { hashes, removed };
  }

  /** Removes a session's entries whose reference was removed by a crashed removal. */
  async removeLoneEntries(tenantId: string, sessionId: string, call: EngineCall): Promise<void> {
    if (!this.#stepwise) return;
    const range = { prefix: keyPrefix(['session', sessionId]) };
    for await (const entry of scanRecords(this.#records, 'artifacts', tenantId, range, call)) {
      if ((await this.getRef(tenantId, idOfEntry(entry), call)) !== null) continue;
      const name: RecordName = { space: 'artifacts', tenantId, key: entry.key };
      await this.#records.write(deletion(name, entry.revision), call);
    }
  }

  /**
   * Removes entries without session and trace whose reference is gone. Processes of version 0.1 do not know such
   * entries, and killed removals leave them behind.
   */
  async removeLoneUnscoped(tenantId: string, call: EngineCall): Promise<void> {
    const prefix = keyPrefix([UNSCOPED]);
    for (let after: string | null = null; ; ) {
      const page = await this.#records.scan('artifacts', tenantId, { prefix, after, limit: PAGE }, call);
      const entries = page.filter(({ damaged }) => !damaged);
      const rows = await this.#records.get(
        entries.map((entry) => refName(tenantId, idOfEntry(entry))),
        call,
      );
      for (const [at, { key, revision }] of entries.entries()) {
        if (!rows[at]) await this.#records.write(deletion({ space: 'artifacts', tenantId, key }, revision), call);
      }
      if (page.length < PAGE) return;
      after = page.at(-1)!.key;
    }
  }

  /** Writes entries that a killed writer did not write, for references written since a time. */
  async addMissingEntries(tenantId: string, since: number, call: EngineCall): Promise<void> {
    if (!this.#stepwise) return;
    for await (const { row } of this.#all(tenantId, call)) {
      if (row.accessedAt < since) continue;
      const names = entryNames(tenantId, row);
      const entries = await this.#records.get(names, call);
      for (const [at, name] of names.entries()) {
        if (!entries[at]) await this.#records.write({ name, mode: 'replace', set: fieldsOf({ id: row.id }) }, call);
      }
    }
  }

  /**
   * Removes one version of a reference, then the entries read before it. Returns false if another writer was faster.
   * The conditions on the entries prevent a stalled removal from removing the entries of a reference that was stored in
   * the meantime.
   */
  async #remove(tenantId: string, row: ArtifactRow, revision: number, call: EngineCall): Promise<boolean> {
    const names = entryNames(tenantId, row);
    const entries = await this.#records.get(names, call);
    const removals = names.flatMap((name, at) => (entries[at] ? [deletion(name, entries[at].revision)] : []));
    const reference = deletion(refName(tenantId, row.id), revision);
    if (!this.#stepwise) return (await this.#records.batch([reference, ...removals], call))[0]!.applied;
    if (!(await this.#records.write(reference, call)).applied) return false;
    for (const removal of removals) await this.#records.write(removal, call);
    return true;
  }

  async *#all(tenantId: string, call: EngineCall): AsyncGenerator<{ row: ArtifactRow; revision: number }> {
    for await (const record of scanRecords(this.#records, 'artifacts', tenantId, { prefix: keyPrefix(['ref']) }, call))
      yield { row: rowOf(record), revision: record.revision };
  }

  async #load(tenantId: string, ids: readonly string[], call: EngineCall): Promise<(ArtifactRow | null)[]> {
    const names = ids.map((id) => refName(tenantId, id));
    return (await this.#records.get(names, call)).map((record) => (record ? rowOf(record) : null));
  }
}

function refName(tenantId: string, id: string): RecordName {
  return { space: 'artifacts', tenantId, key: joinKey(['ref', id]) };
}

/** Returns the names of a reference's index entries: by session and by trace, or a single entry if it has neither. */
function entryNames(tenantId: string, row: ArtifactRow): RecordName[] {
  const names: RecordName[] = [];
  for (const [kind, owner] of [
    ['session', row.sessionId],
    ['trace', row.traceId],
  ] as const) {
    if (owner !== null) names.push({ space: 'artifacts', tenantId, key: joinKey([kind, owner, row.id]) });
  }
  if (names.length === 0) names.push({ space: 'artifacts', tenantId, key: joinKey([UNSCOPED, row.id]) });
  return names;
}

/** The id is the last part of the key, for entries and references. */
function idOfEntry({ key }: { key: string }): string {
  return splitKey(key).at(-1)!;
}

/** Returns the narrowest prefix that contains every match. */
function prefixFor(match: ArtifactMatch): string {
  if (match.traceId !== undefined) return keyPrefix(['trace', match.traceId]);
  if (match.sessionId !== undefined) return keyPrefix(['session', match.sessionId]);
  return keyPrefix([match.isUnscoped ? UNSCOPED : 'ref']);
}

function matches(row: ArtifactRow, match: ArtifactMatch): boolean {
  const parts = ['scopeTenantId', 'userId', 'sessionId', 'traceId'] as const;
  if (match.isUnscoped && (row.sessionId !== null || row.traceId !== null)) return false;
  return parts.every((part) => match[part] === undefined || match[part] === row[part]);
}

function deletion(name: RecordName, revision: number): RecordWrite {
  return { name, mode: 'delete', expect: { revision }, set: new Map() };
}

function rowOf(record: StoredRecord): ArtifactRow {
  const row = JSON.parse(textField(record, 'row')!) as Omit<ArtifactRow, 'accessedAt'>;
  return { ...row, accessedAt: numberField(record, 'accessedAt') };
}

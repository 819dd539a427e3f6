/**
 * The artifact engine of keyed backends (AGT-11): a record per reference, entries that find the references of a
 * session or trace, and blobs by hash. Bytes are stored before their reference and swept by mark and age.
 */
import type { ArtifactEngine, ArtifactMatch, ArtifactRow } from '../engine/artifacts.ts';
import type { BlobInfo, Blobs } from '../engine/blobs.ts';
import type { RecordName, Records, RecordWrite, StoredRecord } from '../engine/records.ts';
import type { EngineCall } from '../engine/runs.ts';
import { fieldsOf, numberField, textField } from './fields.ts';
import { joinKey, keyPrefix, splitKey } from './keys.ts';
import { scanRecords } from './scan.ts';

const PAGE = 500;

export function keyedArtifacts(records: Records, blobs: Blobs): ArtifactEngine {
  const load = async (tenantId: string, ids: readonly string[], call: EngineCall) => {
    const names = ids.map((id) => refName(tenantId, id));
    return (await records.get(names, call)).map((record) => (record ? rowOf(record) : null));
  };

  const remove = async (tenantId: string, row: ArtifactRow, call: EngineCall): Promise<boolean> => {
    const writes = [...entryNames(tenantId, row), refName(tenantId, row.id)].map(deletion);
    // The reference last: as long as it is there, a removal that was cut short is found and sent again.
    return (await records.batch(writes, call)).at(-1)!.existed;
  };

  return {
    async putRef(tenantId, row, call) {
      const { accessedAt, ...rest } = row;
      const entries = entryNames(tenantId, row).map(
        (name): RecordWrite => ({ name, mode: 'replace', set: fieldsOf({ id: row.id }) }),
      );
      const set = fieldsOf({ row: JSON.stringify(rest), accessedAt });
      // The entries first: one without a reference is skipped, a reference without one would not count.
      await records.batch([...entries, { name: refName(tenantId, row.id), mode: 'replace', set }], call);
    },

    async getRef(tenantId, id, call) {
      return (await load(tenantId, [id], call))[0] ?? null;
    },

    async touchRef(tenantId, id, at, call) {
      const expect = { exists: true };
      const set = fieldsOf({ accessedAt: at });
      await records.write({ name: refName(tenantId, id), mode: 'merge', expect, set }, call);
    },

    async deleteRef(tenantId, id, call) {
      const [row] = await load(tenantId, [id], call);
      return row ? remove(tenantId, row, call) : false;
    },

    async listRefs(tenantId, match, range, call) {
      const found: ArtifactRow[] = [];
      const prefix = prefixFor(match);
      let after = range.after === null ? null : prefix + range.after;
      while (found.length < range.limit) {
        const page = await records.scan('artifacts', tenantId, { prefix, after, limit: PAGE }, call);
        const rows = await load(
          tenantId,
          page.map(({ key }) => splitKey(key).at(-1)!),
          call,
        );
        found.push(...(rows.filter((row) => row !== null && matches(row, match)) as ArtifactRow[]));
        if (page.length < PAGE) break;
        after = page.at(-1)!.key;
      }
      return found.slice(0, range.limit);
    },

    putBlob(tenantId, source, call) {
      return blobs.put(tenantId, source, call);
    },

    getBlob(tenantId, sha256, call) {
      return blobs.get(tenantId, sha256, call);
    },

    async sweep(only, now, graceMs, call) {
      const swept = { references: 0, blobs: 0, bytes: 0 };
      let tenantId = '';
      let named = new Set<string>();
      // Every reference has its bytes, so the tenants of blobs are all there are.
      for await (const blob of allBlobs(blobs, call)) {
        if (only !== null && blob.tenantId !== only) continue;
        if (blob.tenantId !== tenantId) {
          tenantId = blob.tenantId;
          named = new Set();
          swept.references += await sweepReferences(tenantId, now, named, call);
        }
        if (named.has(blob.sha256) || blob.renewedAt >= now - graceMs) continue;
        if (!(await blobs.remove(blob.tenantId, blob.sha256, now - graceMs, call))) continue;
        swept.blobs++;
        swept.bytes += blob.sizeBytes;
      }
      return swept;
    },
  };

  /** Removes what has expired and notes the hashes that the others name. */
  async function sweepReferences(tenantId: string, now: number, named: Set<string>, call: EngineCall): Promise<number> {
    let removed = 0;
    for await (const record of scanRecords(records, 'artifacts', tenantId, { prefix: keyPrefix(['ref']) }, call)) {
      const row = rowOf(record);
      if (row.expiresAt === null || row.expiresAt > now) named.add(row.sha256);
      else if (await removeIfUnchanged(tenantId, row, record.revision, call)) removed++;
      else named.add(row.sha256);
    }
    return removed;
  }

  /** Conditional: a reference that was stored again meanwhile has not expired any more. */
  async function removeIfUnchanged(
    tenantId: string,
    row: ArtifactRow,
    revision: number,
    call: EngineCall,
  ): Promise<boolean> {
    const reference: RecordWrite = { ...deletion(refName(tenantId, row.id)), expect: { revision } };
    const outcomes = await records.batch([...entryNames(tenantId, row).map(deletion), reference], call);
    return outcomes.at(-1)!.applied;
  }
}

async function* allBlobs(blobs: Blobs, call: EngineCall): AsyncGenerator<BlobInfo> {
  let after: BlobInfo | null = null;
  for (;;) {
    const page: BlobInfo[] = await blobs.list(after, PAGE, call);
    yield* page;
    if (page.length < PAGE) return;
    after = page.at(-1)!;
  }
}

function refName(tenantId: string, id: string): RecordName {
  return { space: 'artifacts', tenantId, key: joinKey(['ref', id]) };
}

/** What finds a reference by its session and by its trace. */
function entryNames(tenantId: string, row: ArtifactRow): RecordName[] {
  const names: RecordName[] = [];
  for (const [kind, owner] of [
    ['session', row.sessionId],
    ['trace', row.traceId],
  ] as const) {
    if (owner !== null) names.push({ space: 'artifacts', tenantId, key: joinKey([kind, owner, row.id]) });
  }
  return names;
}

/** The narrowest prefix that holds every match; the last part of all its keys is the id. */
function prefixFor(match: ArtifactMatch): string {
  if (match.traceId !== undefined) return keyPrefix(['trace', match.traceId]);
  if (match.sessionId !== undefined) return keyPrefix(['session', match.sessionId]);
  return keyPrefix(['ref']);
}

function matches(row: ArtifactRow, match: ArtifactMatch): boolean {
  const parts = ['scopeTenantId', 'userId', 'sessionId', 'traceId'] as const;
  return parts.every((part) => match[part] === undefined || match[part] === row[part]);
}

function deletion(name: RecordName): RecordWrite {
  return { name, mode: 'delete', set: new Map() };
}

function rowOf(record: StoredRecord): ArtifactRow {
  const row = JSON.parse(textField(record, 'row')!) as Omit<ArtifactRow, 'accessedAt'>;
  return { ...row, accessedAt: numberField(record, 'accessedAt') };
}

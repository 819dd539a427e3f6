/**
 * Operations across tenants on keyed backends (GEN-10): listing tenants, and removing all data of a tenant. Data is
 * removed before the entries that locate it, so that an interrupted removal is found and retried.
 */
import type { TenantPart } from '../contracts/admin.ts';
import type { Blobs } from '../engine/blobs.ts';
import type { EngineCall } from '../engine/call.ts';
import type { Journal, JournalSpace } from '../engine/journal.ts';
import type { RecordName, RecordSpace, Records, RecordWrite } from '../engine/records.ts';
import type { RunTombstone } from '../engine/runs.ts';
import type { RemovedRunRow, TenancyEngine } from '../engine/tenancy.ts';
import { firstAfter } from '../kv/order.ts';
import { keyPrefix, splitKey } from '../tools/joined-keys.ts';
import { inParts } from '../tools/paging.ts';
import { textField } from '../tools/record-fields.ts';
import { BindingSessions } from './agents/binding-sessions.ts';
import { journalOf, traceOfJournal } from './agents/events.ts';
import type { KeyedArtifacts } from './artifacts.ts';
import type { KeyedRuns } from './runs.ts';
import { scanRecords } from './scan.ts';

/** The spaces of each part. Sessions are removed with trajectories, after the other parts of a session. */
const JOURNALS: Partial<Record<TenantPart, JournalSpace>> = {
  runs: 'runs',
  events: 'events',
  updates: 'updates',
  steering: 'steering',
  plannerEvents: 'plannerEvents',
};
const RECORDS: Partial<Record<TenantPart, readonly RecordSpace[]>> = {
  runs: ['snapshots'],
  kv: ['kv'],
  bindings: ['bindings', 'bindingSessions'],
  pauses: ['pauses'],
  memory: ['memory'],
  tasks: ['tasks'],
  trajectories: ['trajectories', 'sessions'],
  artifacts: ['artifacts'],
};

/**
 * Parts whose request ids are stored separately. Request ids alone do not make a tenant appear in lists, and they are
 * not counted.
 */
const WITH_REQUESTS: ReadonlySet<TenantPart> = new Set(['kv', 'memory']);

/** For spaces with several records per item, the key prefix of the records that are counted. */
const COUNTED: Partial<Record<RecordSpace, string>> = {
  trajectories: keyPrefix(['owner']),
  artifacts: keyPrefix(['ref']),
};

/** Spaces whose records do not count as items. */
const UNCOUNTED: ReadonlySet<RecordSpace> = new Set(['snapshots', 'sessions', 'bindingSessions']);

/** Sorts after every hash. */
const AFTER_HASHES = 'g';
const AT_ONCE = 16;
/** Pauses can have payloads of megabytes, so few are read at a time. */
const PAUSES_AT_ONCE = 32;
/** A tenant with more blobs than this needs a separate read. */
const BLOBS_AT_ONCE = 64;

export function keyedTenancy(
  journal: Journal,
  records: Records,
  blobs: Blobs,
  artifacts: Pick<KeyedArtifacts, 'removeUnreferenced'>,
  runs: Pick<KeyedRuns, 'forget' | 'quarantines'>,
): TenancyEngine {
  const forgetJournals = async (space: JournalSpace, tenantId: string, limit: number, call: EngineCall) => {
    const names = await journal.names(space, tenantId, null, limit, call);
    let removed = 0;
    for (const some of inParts(names, AT_ONCE)) {
      const counts = await Promise.all(
        some.map((name) => {
          if (space === 'runs') runs.forget(tenantId, name);
          return journal.forget({ space, tenantId, name }, call);
        }),
      );
      // A run counts as one item regardless of its length. For other journals, entries are counted.
      for (const count of counts) removed += space === 'runs' ? 1 : Math.max(1, count);
    }
    if (names.length === 0) await journal.clear(space, tenantId, call);
    return removed;
  };

  const eraseRecords = async (space: RecordSpace, tenantId: string, limit: number, call: EngineCall) => {
    for (;;) {
      const keys = await records.erase(space, tenantId, limit, call);
      const counted = keys.filter((key) => key.startsWith(COUNTED[space] ?? '')).length;
      if (counted > 0 || keys.length === 0) return counted;
    }
  };

  /** Erases bytes, except bytes that are referenced again: data that was written after its part was erased stays. */
  const eraseBlobs = async (tenantId: string, call: EngineCall) => {
    await artifacts.removeUnreferenced(tenantId, call);
    await blobs.clear(tenantId, call);
  };

  /**
   * Skips to the next tenant after each read, because the last tenant of the read may have many more blobs. Blobs are
   * listed in order of tenants.
   */
  const tenantsOfBlobs = async (after: string | null, limit: number, call: EngineCall) => {
    const found = new Set<string>();
    for (let last = after; found.size < limit; ) {
      const from = last === null ? null : { tenantId: last, sha256: AFTER_HASHES };
      const seen = await blobs.list(from, BLOBS_AT_ONCE, call);
      for (const { tenantId } of seen) found.add(tenantId);
      if (seen.length < BLOBS_AT_ONCE) break;
      last = seen.at(-1)!.tenantId;
    }
    return [...found];
  };

  const tracesOfBindings = async (tenantId: string, after: string | null, limit: number, call: EngineCall) => {
    const traces = new Set<string>();
    for await (const { key } of scanRecords(records, 'bindings', tenantId, { prefix: '' }, call))
      traces.add(splitKey(key)[0]!);
    return firstAfter(traces, after, limit);
  };

  const bindings = new BindingSessions(records);
  return {
    async tenants(part, after, limit, call) {
      const found: string[] = [];
      const space = JOURNALS[part];
      if (space) found.push(...(await journal.tenants(space, after, limit, call)));
      for (const of of RECORDS[part] ?? []) found.push(...(await records.tenants(of, after, limit, call)));
      if (part === 'artifacts') found.push(...(await tenantsOfBlobs(after, limit, call)));
      return firstAfter(found, after, limit);
    },

    async erase(part, tenantId, limit, call) {
      const space = JOURNALS[part];
      const removed = space ? await forgetJournals(space, tenantId, limit, call) : 0;
      if (removed > 0) return removed;
      for (const of of RECORDS[part] ?? []) {
        const counted = await eraseRecords(of, tenantId, limit, call);
        if (counted > 0 && !UNCOUNTED.has(of)) return counted;
        if (counted > 0) while ((await eraseRecords(of, tenantId, limit, call)) > 0);
      }
      if (WITH_REQUESTS.has(part)) while ((await eraseRecords('requests', tenantId, limit, call)) > 0);
      if (part === 'runs') await runs.quarantines.eraseTenant(tenantId, call);
      if (part === 'artifacts') await eraseBlobs(tenantId, call);
      return 0;
    },

    async eraseTrace(part, tenantId, traceId, limit, call) {
      if (part !== 'bindings') {
        const name = part === 'events' ? journalOf(traceId) : traceId;
        return journal.forget({ space: part, tenantId, name }, call);
      }
      const page = await records.scan(part, tenantId, { prefix: keyPrefix([traceId]), after: null, limit }, call);
      await records.batch(
        page.map(({ key }) => deletion({ space: part, tenantId, key })),
        call,
      );
      await bindings.dropEntries(tenantId, page, call);
      return page.length;
    },

    eraseBindings(tenantId, routerSessionId, limit, call) {
      return bindings.erase(tenantId, routerSessionId, limit, call);
    },

    async erasePauses(tenantId, sessionId, limit, call) {
      let removed = 0;
      const range = { prefix: '', page: PAUSES_AT_ONCE };
      for await (const record of scanRecords(records, 'pauses', tenantId, range, call)) {
        if (textField(record, 'sessionId') !== sessionId) continue;
        await records.write(deletion({ space: 'pauses', tenantId, key: record.key }), call);
        if (++removed === limit) break;
      }
      return removed;
    },

    async removedRuns(tenantId, after, limit, call) {
      const found: RemovedRunRow[] = [];
      for (let last = after; found.length < limit; ) {
        const names = await journal.names('runs', tenantId, last, limit, call);
        for (const some of inParts(names, AT_ONCE)) {
          const heads = await Promise.all(some.map((name) => journal.head({ space: 'runs', tenantId, name }, call)));
          found.push(...heads.flatMap(({ tombstone }, at) => removedRun(some[at]!, tombstone)));
        }
        if (names.length < limit) break;
        last = names.at(-1)!;
      }
      return found.slice(0, limit);
    },

    async traces(part, tenantId, after, limit, call) {
      if (part === 'bindings') return tracesOfBindings(tenantId, after, limit, call);
      if (part === 'plannerEvents') return journal.names(part, tenantId, after, limit, call);
      const names = await journal.names(part, tenantId, after && journalOf(after), limit + 1, call);
      return names.flatMap((name) => traceOfJournal(name) ?? []).slice(0, limit);
    },
  };
}

/** A run that is being restored does not count as removed. */
function removedRun(runId: string, text: string | null): RemovedRunRow[] {
  if (text === null) return [];
  const tombstone = JSON.parse(text) as RunTombstone;
  return tombstone.kind === 'restoring' ? [] : [{ runId, tombstone }];
}

function deletion(name: RecordName): RecordWrite {
  return { name, mode: 'delete', set: new Map() };
}

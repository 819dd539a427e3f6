/**
 * Groups of items that a mirror lists, compares and removes. Several parts may belong to one group, as tasks and
 * updates belong to sessions.
 */
import {
  type ErrorCode,
  isTidemarkError,
  parseMemoryKey,
  type RunSummary,
  type Store,
  type TenantPart,
} from '@tidemark/core';
import { compareKeys } from '@tidemark/core/engine';
import { itemsOf } from '../listing.ts';
import { isCopied, REPLACING } from './marks.ts';

/** An item in a listing. Its stamp changes with every write to it. */
export interface Item {
  id: string;
  stamp: string;
}

/** An item that was deleted, consumed or archived. */
export interface Ended {
  id: string;
  /** Location of an archived run. */
  location: string | null;
  /** The life of a run that ended. */
  life?: number;
}

/** One tenant of a store. */
export interface TenantStore {
  store: Store;
  tenantId: string;
}

export interface Group {
  name: string;
  /** The group is compared if one of these parts is copied. Its differences are counted for the first part. */
  parts: readonly TenantPart[];
  /** Yields the items in byte order of ids. */
  items(of: TenantStore): AsyncIterable<Item>;
  /** Removes an item if it still has its stamp. Returns false if it has changed or cannot be removed on its own. */
  remove(of: TenantStore, item: Item): Promise<boolean>;
  /**
   * Yields items that are known to have ended in a store. A copy also ends them in the target, with or without
   * `mirror`.
   */
  ended?(of: TenantStore): AsyncIterable<Ended>;
  /**
   * Removes an item from the target in the same way as it was removed from the source. Returns false if only a copy
   * with `mirror` may remove it.
   */
  endAlike?(of: TenantStore, item: Item, ended: Ended, mirror: boolean): Promise<boolean>;
  /** Returns the session that an item belongs to. */
  sessionOf?(of: TenantStore, id: string): Promise<string | null>;
}

const PAGE = 500;
/** The id of the item that stands for events without a trace. Ids of traces are never empty. */
const NO_TRACE = '';
const REMOVAL_LIMIT_MS = 3_600_000;

async function* mapped<T>(items: AsyncIterable<T>, itemOf: (item: T) => Item | null): AsyncGenerator<Item> {
  for await (const it of items) {
    const item = itemOf(it);
    if (item !== null) yield item;
  }
}

/** Returns a catch handler that maps the given code to `false` and rethrows everything else. */
function unless(code: ErrorCode): (error: unknown) => false {
  return (error) => {
    if (isTidemarkError(error, code)) return false;
    throw error;
  };
}

const KV: Group = {
  name: 'kv',
  parts: ['kv'],
  items: ({ store: { kv } }) =>
    mapped(kv.scan(''), ({ key, record }) => (isCopied(key) ? { id: key, stamp: String(record.revision) } : null)),
  async remove({ store: { kv } }, { id, stamp }) {
    const record = await kv.get(id);
    if (record === null) return true;
    // A swap that removes the last field removes the record.
    const set = Object.fromEntries(Object.keys(record.fields).map((name) => [name, null]));
    return (await kv.swap(id, { expectedRevision: Number(stamp), set })).swapped;
  },
};

const MEMORY: Group = {
  name: 'memory',
  parts: ['memory'],
  items: ({ store: { agents } }) =>
    mapped(
      itemsOf((cursor) => agents.listMemory({ ...cursor, limit: PAGE })),
      ({ key, version }) => ({ id: key, stamp: String(version) }),
    ),
  async remove({ store: { agents } }, { id, stamp }) {
    return agents.deleteMemoryState(id, { expectedVersion: Number(stamp) }).catch(unless('VERSION_CONFLICT'));
  },
  sessionOf: async (_, id) => parseMemoryKey(id)?.session ?? null,
};

const PAUSES: Group = {
  name: 'pauses',
  parts: ['pauses'],
  items: ({ store: { agents } }) =>
    mapped(
      itemsOf((cursor) => agents.listPauses({ ...cursor, limit: PAGE })),
      ({ pauseId, state }) => (state === 'consumed' ? null : { id: pauseId, stamp: '' }),
    ),
  // The pause's own unit consumes it in the target.
  ended: ({ store: { agents } }) => consumedPauses(agents),
  async remove({ store, tenantId }, { id }) {
    const pause = await store.admin.readPause(id, { tenantId });
    return pause !== null && store.admin.putPause({ ...pause, state: 'consumed', payload: undefined }, { tenantId });
  },
  sessionOf: async ({ store, tenantId }, id) => (await store.admin.readPause(id, { tenantId }))?.sessionId ?? null,
};

const ARTIFACTS: Group = {
  name: 'artifacts',
  parts: ['artifacts'],
  items: ({ store: { artifacts } }) =>
    mapped(
      itemsOf((cursor) => artifacts.list({}, { ...cursor, limit: PAGE })),
      ({ id, createdAt, expiresAt }) => ({ id, stamp: `${createdAt} ${expiresAt}` }),
    ),
  remove: ({ store: { artifacts } }, { id }) => artifacts.delete(id),
  sessionOf: async ({ store: { artifacts } }, id) => (await artifacts.getRef(id))?.scope.sessionId ?? null,
};

export const SESSIONS: Group = {
  name: 'sessions',
  parts: ['tasks', 'updates', 'steering', 'trajectories'],
  items: ({ store: { agents } }) =>
    mapped(
      itemsOf((cursor) => agents.listSessions({ ...cursor, limit: PAGE })),
      ({ sessionId, lastActiveAt }) => ({ id: sessionId, stamp: lastActiveAt }),
    ),
  async remove({ store: { agents } }, { id }) {
    await agents.deleteSession(id);
    return true;
  },
  sessionOf: async (_, id) => id,
};

const TRACES: Group = {
  name: 'traces',
  parts: ['events', 'bindings', 'plannerEvents'],
  async *items({ store: { admin, agents } }) {
    for await (const _ of agents.readHistory(null)) {
      yield { id: NO_TRACE, stamp: '' };
      break;
    }
    for await (const id of itemsOf((cursor) => admin.listAllTraces({ ...cursor, limit: PAGE })))
      yield { id, stamp: '' };
  },
  // A trace is removed with its session or its tenant.
  remove: async () => false,
};

export const RUNS: Group = {
  name: 'runs',
  parts: ['runs'],
  /** Collects and sorts the ids, because runs are listed by age. */
  async *items({ store: { runs }, tenantId }) {
    const found: Item[] = [];
    const pages = itemsOf((cursor) => runs.listRuns({ ...cursor, tenantId, owner: 'any', limit: PAGE }));
    for await (const run of pages) found.push({ id: run.runId, stamp: stampOf(run) });
    yield* found.sort((left, right) => compareKeys(left.id, right.id));
  },
  ended: ({ store: { admin }, tenantId }) => endedRuns(admin, tenantId),
  async endAlike({ store: { runs }, tenantId }, { id, stamp }, { location, life: ended = 1 }, mirror) {
    const { life, expectedSeq } = parseStamp(stamp);
    // The run ended in the source, and the target has a later life of it that the source does not have.
    if ((life ?? 1) > ended) return false;
    const at = { tenantId, life, expectedSeq, timeoutMs: REMOVAL_LIMIT_MS };
    if (location === null) return runs.deleteRun(id, at).catch(unless('SEQ_CONFLICT'));
    // The target may not have access to the archive, so a run is replaced with its archived copy only with `mirror`.
    return mirror && runs.archiveRun(id, { ...at, location }).catch(unless('SEQ_CONFLICT'));
  },
  async remove({ store: { runs }, tenantId }, { id, stamp }) {
    return runs.deleteRun(id, { tenantId, ...parseStamp(stamp) }).catch(unless('SEQ_CONFLICT'));
  },
};

/** Returns the last sequence of a run. From the second life on, the life precedes it. */
function stampOf({ lastEventSeq, life }: RunSummary): string {
  return life === undefined ? String(lastEventSeq) : `${life}/${lastEventSeq}`;
}

function parseStamp(stamp: string): { life: number | undefined; expectedSeq: number } {
  const [seq, life] = stamp.split('/').reverse() as [string, string?];
  return { life: life === undefined ? undefined : Number(life), expectedSeq: Number(seq) };
}

async function* endedRuns(admin: Store['admin'], tenantId: string): AsyncGenerator<Ended> {
  const removed = itemsOf((cursor) => admin.listRemovedRuns({ ...cursor, tenantId, limit: PAGE }));
  for await (const { runId, kind, location, life } of removed)
    if (location !== REPLACING) yield { id: runId, location: kind === 'archived' ? location! : null, life };
}

async function* consumedPauses(agents: Store['agents']): AsyncGenerator<Ended> {
  for await (const { pauseId, state } of itemsOf((cursor) => agents.listPauses({ ...cursor, limit: PAGE })))
    if (state === 'consumed') yield { id: pauseId, location: null };
}

/** Sessions come first, so that items erased with a session are gone when the other groups are compared. */
export const GROUPS: readonly Group[] = [SESSIONS, RUNS, KV, MEMORY, PAUSES, ARTIFACTS, TRACES];

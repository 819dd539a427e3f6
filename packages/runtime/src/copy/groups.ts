/**
 * What a store lists of each kind of thing, and how one of them is removed: what a mirror needs to know. Several parts may
 * belong to the same things, as tasks and updates belong to sessions.
 */
import { type ErrorCode, isTidemarkError, parseMemoryKey, type Store, type TenantPart } from '@tidemark/core';
import { compareKeys } from '@tidemark/core/engine';
import { itemsOf } from '../listing.ts';
import { isCopied, REPLACING } from './marks.ts';

/** A thing as a list shows it; the stamp changes when somebody writes to it. */
export interface Item {
  id: string;
  stamp: string;
}

/** A thing that is no more, and how it ended. */
export interface Ended {
  id: string;
  /** Where an archived run lies. */
  location: string | null;
}

/** Where things are. */
export interface Place {
  store: Store;
  tenantId: string;
}

export interface Group {
  name: string;
  /** The group is looked at when one of these is copied; differences are counted for the first of them. */
  parts: readonly TenantPart[];
  /** In byte order of ids. */
  items(place: Place): AsyncIterable<Item>;
  /** Removes a thing if it still has its stamp; false when it has not, or cannot be removed by itself. */
  remove(place: Place, item: Item): Promise<boolean>;
  /** Things that ended in a store and are known to have: they are carried over, whether there is a mirror or not. */
  ended?(place: Place): AsyncIterable<Ended>;
  /** Lets a thing end in the target as it did in the source; false when that is not done without a mirror. */
  endAlike?(place: Place, item: Item, ended: Ended, mirror: boolean): Promise<boolean>;
  /** The session that a thing belongs to. */
  sessionOf?(place: Place, id: string): Promise<string | null>;
}

const PAGE = 500;
/** Stands for events that belong to no trace, as no id does. */
const NO_TRACE = '';
const REMOVAL_LIMIT_MS = 3_600_000;

async function* mapped<T>(items: AsyncIterable<T>, itemOf: (item: T) => Item | null): AsyncGenerator<Item> {
  for await (const it of items) {
    const item = itemOf(it);
    if (item !== null) yield item;
  }
}

/** A condition that does not hold is an answer; everything else is a failure. */
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
    // A swap that takes its last field takes the record.
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
  // Each of them is consumed in the target by the copy of the pause itself.
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
  // A trace goes with its session, or with its tenant.
  remove: async () => false,
};

export const RUNS: Group = {
  name: 'runs',
  parts: ['runs'],
  /** Runs are listed by age: their ids are held and sorted. */
  async *items({ store: { runs }, tenantId }) {
    const found: Item[] = [];
    for await (const { runId, lastEventSeq } of itemsOf((cursor) =>
      runs.listRuns({ ...cursor, tenantId, limit: PAGE }),
    ))
      found.push({ id: runId, stamp: String(lastEventSeq) });
    yield* found.sort((left, right) => compareKeys(left.id, right.id));
  },
  ended: ({ store: { admin }, tenantId }) => endedRuns(admin, tenantId),
  async endAlike({ store: { runs }, tenantId }, { id, stamp }, { location }, mirror) {
    const at = { tenantId, expectedSeq: Number(stamp), timeoutMs: REMOVAL_LIMIT_MS };
    if (location === null) return runs.deleteRun(id, at).catch(unless('SEQ_CONFLICT'));
    // The archive may be out of the target's reach: only a mirror lets a run go for it.
    return mirror && runs.archiveRun(id, { ...at, location }).catch(unless('SEQ_CONFLICT'));
  },
  async remove({ store: { runs }, tenantId }, { id, stamp }) {
    return runs.deleteRun(id, { tenantId, expectedSeq: Number(stamp) }).catch(unless('SEQ_CONFLICT'));
  },
};

async function* endedRuns(admin: Store['admin'], tenantId: string): AsyncGenerator<Ended> {
  const removed = itemsOf((cursor) => admin.listRemovedRuns({ ...cursor, tenantId, limit: PAGE }));
  for await (const { runId, kind, location } of removed)
    if (location !== REPLACING) yield { id: runId, location: kind === 'archived' ? location! : null };
}

async function* consumedPauses(agents: Store['agents']): AsyncGenerator<Ended> {
  for await (const { pauseId, state } of itemsOf((cursor) => agents.listPauses({ ...cursor, limit: PAGE })))
    if (state === 'consumed') yield { id: pauseId, location: null };
}

/** Sessions first: what is erased with one of them is gone when the others are looked at. */
export const GROUPS: readonly Group[] = [SESSIONS, RUNS, KV, MEMORY, PAUSES, ARTIFACTS, TRACES];

/** The journal primitive in memory: the simplest engine that fulfils the whole contract. */
import { decodeCursor, encodeCursor } from '../checks/json.ts';
import type { EngineCall } from '../engine/call.ts';
import type {
  Journal,
  JournalBeginning,
  JournalCommit,
  JournalEntry,
  JournalFeedItem,
  JournalHead,
  JournalName,
  JournalOutcome,
  JournalPosition,
  JournalRange,
  JournalRestore,
  JournalRewrite,
  JournalSpace,
  RemoveOptions,
} from '../engine/journal.ts';
import { compareKeys, firstAfter } from '../kv/order.ts';
import { rewritten, seqConflict } from '../runs/append.ts';
import type { StoreContext } from '../tools/context.ts';
import { Signals } from '../tools/signals.ts';

const NO_HEAD: JournalHead = { seq: 0, createdAt: 0, updatedAt: 0, state: '', rewrites: 0 };

interface Log {
  name: JournalName;
  head: JournalHead;
  entries: JournalEntry[];
  byKey: Map<string, JournalEntry>;
}

/** An item of the feed: an entry of a log, or a notice. */
type Fed = { log: Log; entry: JournalEntry } | { name: JournalName; notice: string };

export class MemoryJournal implements Journal {
  readonly #context: StoreContext;
  readonly #logs = new Map<string, Log>();
  readonly #tombstones = new Map<string, string>();
  /** `rewrites` of removed logs. */
  readonly #rewrites = new Map<string, number>();
  /** Restored entries of logs whose restore is not finished. */
  readonly #restoring = new Map<string, JournalEntry[]>();
  /** Live logs of each space by (createdAt, tenant, name). */
  readonly #ordered = new Map<JournalSpace, Log[]>();
  readonly #tenants = new Map<string, Set<string>>();
  /**
   * Every entry and notice of each space in commit order. Entries of removed logs are skipped; items of forgotten logs
   * are `null`.
   */
  readonly #commits = new Map<JournalSpace, (Fed | null)[]>();
  readonly #signals = new Signals();

  constructor(context: StoreContext) {
    this.#context = context;
  }

  async head(name: JournalName) {
    const id = idOf(name);
    const restored = this.#restoring.get(id);
    const head = restored ? { ...NO_HEAD, seq: restored.length } : this.#logs.get(id)?.head;
    return { head: head ? { ...head } : null, tombstone: this.#tombstones.get(id) ?? null };
  }

  async commit(name: JournalName, commit: JournalCommit): Promise<JournalOutcome> {
    const log = this.#logs.get(idOf(name));
    return this.commitAt(name, commit, Math.max(this.#context.clock(), log?.head.updatedAt ?? 0));
  }

  /** Commits at a given time, synchronously. */
  commitAt(name: JournalName, commit: JournalCommit, time: number): JournalOutcome {
    const id = idOf(name);
    const tombstone = this.#tombstones.get(id) ?? null;
    const log = this.#logs.get(id);
    const found = commit.entries.map(({ key }) => log?.byKey.get(key)).filter((entry) => entry !== undefined);
    const { seq, rewrites } = log?.head ?? NO_HEAD;
    const isKnown = seq === commit.known && (commit.rewrites ?? rewrites) === rewrites;
    if (tombstone !== null || !isKnown || found.length > 0) {
      return {
        committed: false,
        head: log ? { ...log.head } : null,
        tombstone,
        found: found.map((entry) => ({ ...entry })),
      };
    }
    this.#store(log ?? this.#create(id, name, time), commit, time);
    this.#signals.notify(id);
    this.#signals.notify(name.space);
    return { committed: true, time };
  }

  async begin(name: JournalName, beginning: JournalBeginning) {
    return this.beginAt(name, beginning, this.#context.clock());
  }

  /** Begins a removed journal again at a given time, synchronously. */
  beginAt(name: JournalName, { tombstone, ...commit }: JournalBeginning, time: number) {
    const id = idOf(name);
    if (this.#logs.has(id) || this.#restoring.has(id) || this.#tombstones.get(id) !== tombstone) return null;
    const rewrites = this.rewritesOfRemoved(name) + 1;
    this.#tombstones.delete(id);
    this.#rewrites.delete(id);
    const log = this.#create(id, name, time);
    log.head.rewrites = rewrites;
    this.#store(log, commit, time);
    this.#signals.notify(id);
    this.#signals.notify(name.space);
    return { time, rewrites };
  }

  /** Returns the `rewrites` of a removed journal. */
  rewritesOfRemoved(name: JournalName): number {
    return this.#rewrites.get(idOf(name)) ?? 0;
  }

  #store(log: Log, commit: Pick<JournalCommit, 'state' | 'entries'>, time: number): void {
    const commits = this.#commitsOf(log.name.space);
    for (const { key, body } of commit.entries) {
      const entry: JournalEntry = { seq: log.entries.length + 1, time, key, body };
      log.entries.push(entry);
      log.byKey.set(key, entry);
      commits.push({ log, entry });
    }
    log.head = { ...log.head, seq: log.entries.length, updatedAt: time, state: commit.state };
  }

  #create(id: string, name: JournalName, time: number): Log {
    const log: Log = {
      name: { ...name },
      head: { ...NO_HEAD, createdAt: time, updatedAt: time },
      entries: [],
      byKey: new Map(),
    };
    this.#logs.set(id, log);
    const ordered = this.#ordered.get(name.space) ?? [];
    this.#ordered.set(name.space, ordered);
    ordered.splice(insertionIndex(ordered, log), 0, log);
    this.#addTenant(name);
    return log;
  }

  #addTenant({ space, tenantId, name }: JournalName): void {
    const tenants = this.#tenants.get(`${space}\0${name}`) ?? new Set();
    this.#tenants.set(`${space}\0${name}`, tenants.add(tenantId));
  }

  #dropTenant({ space, tenantId, name }: JournalName): void {
    const tenants = this.#tenants.get(`${space}\0${name}`);
    tenants?.delete(tenantId);
    if (tenants?.size === 0) this.#tenants.delete(`${space}\0${name}`);
  }

  async read(name: JournalName, afterSeq: number, limit: number): Promise<JournalEntry[]> {
    // Sequences are dense, so an entry's index is its sequence minus one.
    return this.#logs.get(idOf(name))?.entries.slice(afterSeq, afterSeq + limit) ?? [];
  }

  async find(name: JournalName, keys: readonly string[]): Promise<(JournalEntry | null)[]> {
    const log = this.#logs.get(idOf(name));
    return keys.map((key) => log?.byKey.get(key) ?? null);
  }

  async restore(name: JournalName, step: JournalRestore): Promise<boolean> {
    const { known, tombstone, entries, head, isLast, notice } = step;
    const id = idOf(name);
    const restored = this.#restoring.get(id) ?? [];
    const isKnown = (this.#tombstones.get(id) ?? null) === known.tombstone && restored.length === known.seq;
    if (this.#logs.has(id) || !isKnown) return false;
    for (const entry of entries) restored.push({ ...entry });
    this.#addTenant(name);
    this.#restoring.set(id, restored);
    this.#tombstones.set(id, tombstone);
    if (!isLast) return true;
    this.#note(name, notice);
    this.#finishRestore(id, name, head, restored);
    return true;
  }

  #finishRestore(id: string, name: JournalName, head: JournalHead, entries: JournalEntry[]): void {
    this.#restoring.delete(id);
    this.#tombstones.delete(id);
    const log = this.#create(id, name, head.createdAt);
    log.head = { ...head, rewrites: Math.max(head.rewrites, this.#rewrites.get(id) ?? 0) + 1 };
    this.#rewrites.delete(id);
    log.entries = entries;
    const commits = this.#commitsOf(name.space);
    for (const entry of entries) {
      log.byKey.set(entry.key, entry);
      commits.push({ log, entry });
    }
    this.#signals.notify(id);
    this.#signals.notify(name.space);
  }

  async remove(
    name: JournalName,
    tombstone: string | null,
    { expectedSeq, expectedRewrites, keepsName, notice }: Omit<RemoveOptions, keyof EngineCall> = {},
  ): Promise<number> {
    const id = idOf(name);
    const log = this.#logs.get(id);
    if (!log && (expectedSeq !== undefined || !this.#restoring.has(id))) return 0;
    if (log && expectedSeq !== undefined && log.head.seq !== expectedSeq)
      throw seqConflict(name.name, expectedSeq, log.head.seq);
    if (log && expectedRewrites !== undefined && log.head.rewrites !== expectedRewrites)
      throw rewritten(name.name, log.head.rewrites);
    if (!keepsName) this.#dropTenant(name);
    this.#note(name, notice);
    if (!log) return this.#removeRestored(id, tombstone);
    if (tombstone !== null) {
      this.#tombstones.set(id, tombstone);
      this.#rewrites.set(id, log.head.rewrites);
    }
    this.#logs.delete(id);
    const ordered = this.#ordered.get(name.space)!;
    ordered.splice(insertionIndex(ordered, log), 1);
    const removed = log.entries.length;
    log.entries = [];
    log.byKey.clear();
    return removed;
  }

  /** Adds a notice to the end of the feed. */
  #note(name: JournalName, notice: string | undefined): void {
    if (notice === undefined) return;
    this.#commitsOf(name.space).push({ name: { ...name }, notice });
    this.#signals.notify(name.space);
  }

  #removeRestored(id: string, tombstone: string | null): number {
    const restored = this.#restoring.get(id)!;
    this.#restoring.delete(id);
    if (tombstone === null) this.#tombstones.delete(id);
    else this.#tombstones.set(id, tombstone);
    return restored.length;
  }

  async rewrite(name: JournalName, seq: number, { from, to, notice }: JournalRewrite): Promise<boolean> {
    const log = this.#logs.get(idOf(name));
    const entry = log?.entries[seq - 1];
    if (entry?.body !== from) return false;
    entry.body = to;
    log!.head = { ...log!.head, rewrites: log!.head.rewrites + 1 };
    this.#note(name, notice);
    return true;
  }

  async forget(name: JournalName): Promise<number> {
    const removed = await this.remove(name, null);
    this.#dropTenant(name);
    this.#tombstones.delete(idOf(name));
    this.#rewrites.delete(idOf(name));
    const commits = this.#commitsOf(name.space);
    // Compared by name, because the log of a journal that was already removed no longer exists.
    const isForgotten = (it: JournalName) => it.tenantId === name.tenantId && it.name === name.name;
    for (const [at, commit] of commits.entries()) {
      if (commit && isForgotten('log' in commit ? commit.log.name : commit.name)) commits[at] = null;
    }
    return removed;
  }

  async tenants(space: JournalSpace, after: string | null, limit: number): Promise<string[]> {
    return firstAfter(new Set(this.#names(space).map(({ tenantId }) => tenantId)), after, limit);
  }

  async names(space: JournalSpace, tenantId: string, after: string | null, limit: number): Promise<string[]> {
    const ofTenant = this.#names(space).filter((name) => name.tenantId === tenantId);
    return firstAfter(
      ofTenant.map(({ name }) => name),
      after,
      limit,
    );
  }

  /** Does nothing: no data remains once the journals are forgotten. */
  async clear(): Promise<void> {}

  /** The names of all journals and tombstones of a space. */
  #names(space: JournalSpace): JournalName[] {
    const ids = [...this.#logs.keys(), ...this.#tombstones.keys()];
    return ids.map(parseId).filter((name) => name.space === space);
  }

  async tenantsOf(space: JournalSpace, name: string): Promise<string[]> {
    return [...(this.#tenants.get(`${space}\0${name}`) ?? [])].slice(0, 2);
  }

  async list(space: JournalSpace, range: JournalRange) {
    const ordered = this.#ordered.get(space) ?? [];
    const step = range.order === 'newest' ? -1 : 1;
    let at = startIndex(ordered, range.order, range.after);
    const found: { name: JournalName; head: JournalHead }[] = [];
    for (; at >= 0 && at < ordered.length && found.length < range.limit; at += step) {
      const { name, head } = ordered[at]!;
      if (range.tenantId === undefined || name.tenantId === range.tenantId)
        found.push({ name: { ...name }, head: { ...head } });
    }
    return found;
  }

  async feed(space: JournalSpace, after: string | null, limit: number, _: EngineCall, notices?: boolean) {
    const commits = this.#commitsOf(space);
    const isPosition = (values: unknown[]) =>
      values.length === 1 && Number.isSafeInteger(values[0]) && (values[0] as number) >= 0;
    let at = after === null ? 0 : decodeCursor<[number]>(after, isPosition)[0];
    const found: JournalFeedItem[] = [];
    for (; at < commits.length && found.length < limit; at++) {
      const fed = commits[at];
      const cursor = encodeCursor([at + 1]);
      if (fed && 'notice' in fed) {
        if (notices) found.push({ cursor, name: { ...fed.name }, notice: fed.notice });
      } else if (fed && fed.log.entries.length > 0)
        found.push({ cursor, name: { ...fed.log.name }, entry: { ...fed.entry } });
    }
    return found;
  }

  wait(space: JournalSpace, name: JournalName | null, call: EngineCall): Promise<void> {
    return this.#signals.wait(name ? idOf(name) : space, call);
  }

  #commitsOf(space: JournalSpace) {
    const commits = this.#commits.get(space) ?? [];
    this.#commits.set(space, commits);
    return commits;
  }
}

function idOf(name: JournalName): string {
  return `${name.space}\0${name.tenantId}\0${name.name}`;
}

function parseId(id: string): JournalName {
  const [space, tenantId, name] = id.split('\0') as [JournalSpace, string, string];
  return { space, tenantId, name };
}

function compareListKeys(a: JournalPosition, b: JournalPosition): number {
  return a.createdAt - b.createdAt || compareKeys(a.tenantId, b.tenantId) || compareKeys(a.name, b.name);
}

function listKey(log: Log): JournalPosition {
  return { createdAt: log.head.createdAt, tenantId: log.name.tenantId, name: log.name.name };
}

/** Returns the first index whose log does not sort before the given one. */
function insertionIndex(ordered: readonly Log[], log: Log): number {
  return lowerBound(ordered, listKey(log));
}

function lowerBound(ordered: readonly Log[], key: JournalPosition): number {
  let low = 0;
  let high = ordered.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareListKeys(listKey(ordered[middle]!), key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function startIndex(ordered: readonly Log[], order: JournalRange['order'], after: JournalPosition | undefined): number {
  if (!after) return order === 'newest' ? ordered.length - 1 : 0;
  const at = lowerBound(ordered, after);
  if (order === 'newest') return at - 1;
  const first = ordered[at];
  return first && compareListKeys(listKey(first), after) === 0 ? at + 1 : at;
}

export function memoryJournal(context: StoreContext): MemoryJournal {
  return new MemoryJournal(context);
}

/**
 * Appends to the journals of one space, each key once, the first write of a key standing (AGT-2, AGT-7, AGT-10).
 * Writers of one process share commits rather than race each other for the head.
 */
import type { Journal, JournalName, JournalSpace } from '../engine/journal.ts';
import type { EngineCall } from '../engine/runs.ts';
import { GroupCommit } from '../group-commit.ts';
import { requireAll } from '../outcomes.ts';
import { CONFLICT, type Contention, overloaded } from './contention.ts';
import { joinKey } from './keys.ts';

const MAX_WAITING = 10_000;
const MAX_COMMIT_ENTRIES = 128;
const MAX_COMMIT_CHARS = 256 * 1024;
const MAX_KNOWN_HEADS = 4_096;

/** Called before the first entry of a journal is committed, and once more after it. */
export type OnFirstEntry = (tenantId: string, name: string, call: EngineCall) => Promise<void>;

interface Entry {
  key: string;
  body: string;
}

/** A journal that is being written to. */
interface Lane {
  commits: GroupCommit<Entry & { call: EngineCall }, undefined>;
  waiting: number;
}

export class Appender {
  readonly #journal: Journal;
  readonly #space: JournalSpace;
  readonly #contention: Contention;
  readonly #onFirst: OnFirstEntry | undefined;
  readonly #lanes = new Map<string, Lane>();
  /** Last sequences this process saw; a stale one costs a second try, never a wrong answer. */
  readonly #heads = new Map<string, number>();
  #waiting = 0;

  constructor(journal: Journal, space: JournalSpace, contention: Contention, onFirst?: OnFirstEntry) {
    this.#journal = journal;
    this.#space = space;
    this.#contention = contention;
    this.#onFirst = onFirst;
  }

  async append(tenantId: string, name: string, entries: readonly Entry[], call: EngineCall): Promise<void> {
    if (this.#waiting + entries.length > MAX_WAITING) throw overloaded('Too many writes are waiting');
    const id = joinKey([tenantId, name]);
    const lane = this.#laneOf(id, { space: this.#space, tenantId, name });
    this.#waiting += entries.length;
    lane.waiting += entries.length;
    const outcomes = await Promise.allSettled(entries.map((entry) => lane.commits.submit({ ...entry, call }, call)));
    this.#waiting -= entries.length;
    lane.waiting -= entries.length;
    if (lane.waiting === 0) this.#lanes.delete(id);
    requireAll(outcomes);
  }

  #laneOf(id: string, name: JournalName): Lane {
    const lane: Lane = this.#lanes.get(id) ?? {
      commits: new GroupCommit((take) => this.#commitAll(id, name, take()), { maxGroup: MAX_COMMIT_ENTRIES }),
      waiting: 0,
    };
    this.#lanes.set(id, lane);
    return lane;
  }

  async #commitAll(
    id: string,
    name: JournalName,
    entries: readonly (Entry & { call: EngineCall })[],
  ): Promise<undefined[]> {
    // Bounded by the most patient caller; the signal of one must not stop the others.
    const call = { deadline: Math.max(...entries.map((entry) => entry.call.deadline ?? Number.POSITIVE_INFINITY)) };
    const missing = new Map<string, string>();
    for (const { key, body } of entries) if (!missing.has(key)) missing.set(key, body);
    try {
      while (missing.size > 0) await this.#contention.settle(call, () => this.#commit(id, name, missing, call));
    } catch (error) {
      this.#heads.delete(id);
      throw error;
    }
    return entries.map(() => undefined);
  }

  /** Commits some of what is missing, in order, and takes out of it what is stored. */
  async #commit(
    id: string,
    name: JournalName,
    missing: Map<string, string>,
    call: EngineCall,
  ): Promise<true | typeof CONFLICT> {
    const known = this.#heads.get(id) ?? (await this.#journal.head(name, call)).head?.seq ?? 0;
    if (known === 0) await this.#onFirst?.(name.tenantId, name.name, call);
    const entries = firstFew(missing);
    const outcome = await this.#journal.commit(name, { known, state: '', entries }, call);
    if (!outcome.committed) {
      this.#remember(id, outcome.head?.seq ?? 0);
      for (const { key } of outcome.found) missing.delete(key);
      return missing.size === 0 ? true : CONFLICT;
    }
    this.#remember(id, known + entries.length);
    for (const { key } of entries) missing.delete(key);
    // Again: a removal may have come between. What was committed must not be left without its owner.
    if (known === 0) await this.#onFirst?.(name.tenantId, name.name, call);
    return true;
  }

  #remember(id: string, seq: number): void {
    this.#heads.delete(id);
    this.#heads.set(id, seq);
    if (this.#heads.size > MAX_KNOWN_HEADS) this.#heads.delete(this.#heads.keys().next().value!);
  }
}

/** As many entries as one commit should carry, at least one. */
function firstFew(missing: ReadonlyMap<string, string>): Entry[] {
  const entries: Entry[] = [];
  let chars = 0;
  for (const [key, body] of missing) {
    chars += body.length;
    if (entries.length > 0 && chars > MAX_COMMIT_CHARS) break;
    entries.push({ key, body });
  }
  return entries;
}

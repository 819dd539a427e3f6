/**
 * Appends to the logs of agents, which are journals of one space. The first write of a key wins (AGT-2, AGT-7, AGT-10).
 * Writers of one process share commits instead of racing for the head.
 */

import type { EngineCall } from '../engine/call.ts';
import type { Journal, JournalName, JournalSpace } from '../engine/journal.ts';
import { CONFLICT, type Contention, overloaded } from '../tools/contention.ts';
import { Lanes, sharedCall } from '../tools/lanes.ts';
import { LruMap } from '../tools/lru-map.ts';
import { requireAll } from '../tools/outcomes.ts';
import { journalId } from './journal-id.ts';

const MAX_WAITING = 10_000;
const MAX_COMMIT_ENTRIES = 128;
const MAX_COMMIT_CHARS = 256 * 1024;
const MAX_KNOWN_HEADS = 4_096;

/** Called before the first entry of a journal is committed, and again afterwards. */
export type OnFirstEntry = (tenantId: string, name: string, call: EngineCall) => Promise<void>;

interface Entry {
  key: string;
  body: string;
}

type Request = Entry & { call: EngineCall };

export class LogAppender {
  readonly #journal: Journal;
  readonly #space: JournalSpace;
  readonly #contention: Contention;
  readonly #onFirst: OnFirstEntry | undefined;
  readonly #lanes: Lanes<JournalName, Request, undefined>;
  /** The last sequences that this process has seen. An outdated one costs a retry but never causes a wrong result. */
  readonly #heads = new LruMap<string, number>(MAX_KNOWN_HEADS);
  #waiting = 0;

  constructor(journal: Journal, space: JournalSpace, contention: Contention, onFirst?: OnFirstEntry) {
    this.#journal = journal;
    this.#space = space;
    this.#contention = contention;
    this.#onFirst = onFirst;
    const options = { idOf: journalId, maxGroup: MAX_COMMIT_ENTRIES };
    this.#lanes = new Lanes(options, (name, entries) => this.#commitAll(name, entries));
  }

  async append(tenantId: string, name: string, entries: readonly Entry[], call: EngineCall): Promise<void> {
    if (this.#waiting + entries.length > MAX_WAITING) throw overloaded('Too many writes are waiting');
    const journal = { space: this.#space, tenantId, name };
    this.#waiting += entries.length;
    const outcomes = await Promise.allSettled(
      entries.map((entry) => this.#lanes.submit(journal, { ...entry, call }, call)),
    );
    this.#waiting -= entries.length;
    requireAll(outcomes);
  }

  async #commitAll(name: JournalName, entries: readonly Request[]): Promise<undefined[]> {
    const call = sharedCall(entries);
    const missing = new Map<string, string>();
    for (const { key, body } of entries) if (!missing.has(key)) missing.set(key, body);
    try {
      while (missing.size > 0) await this.#contention.settle(call, () => this.#commit(name, missing, call));
    } catch (error) {
      this.#heads.delete(journalId(name));
      throw error;
    }
    return entries.map(() => undefined);
  }

  /** Commits some of the missing entries, in order, and removes the stored ones from `missing`. */
  async #commit(name: JournalName, missing: Map<string, string>, call: EngineCall): Promise<true | typeof CONFLICT> {
    const id = journalId(name);
    const known = this.#heads.peek(id) ?? (await this.#journal.head(name, call)).head?.seq ?? 0;
    if (known === 0) await this.#onFirst?.(name.tenantId, name.name, call);
    const entries = firstFew(missing);
    const outcome = await this.#journal.commit(name, { known, state: '', entries }, call);
    if (!outcome.committed) {
      this.#heads.set(id, outcome.head?.seq ?? 0);
      for (const { key } of outcome.found) missing.delete(key);
      return missing.size === 0 ? true : CONFLICT;
    }
    this.#heads.set(id, known + entries.length);
    for (const { key } of entries) missing.delete(key);
    // Done again, because the session may have been removed in between and committed entries must not be left without
    // it.
    if (known === 0) await this.#onFirst?.(name.tenantId, name.name, call);
    return true;
  }
}

/** Returns as many entries as one commit should carry, at least one. */
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

/** Hints that data was stored by this process. Readers in other processes poll. */
import {
  type EngineCall,
  type JournalName,
  type JournalSpace,
  type RecordName,
  Signals,
  type StoredRecord,
} from '@tidemark/core/engine';

/** A change of a record that this process made. */
export interface RecordHint {
  name: RecordName;
  revision: number;
  /** The record after the change, `null` when it was removed. */
  record: StoredRecord | null;
}

export class Hints {
  readonly #signals = new Signals();
  readonly #watchers = new Set<(hint: RecordHint) => void>();

  journalChanged(name: JournalName): void {
    this.#signals.notify(topicOf(name));
    this.#signals.notify(name.space);
  }

  waitForJournal(space: JournalSpace, name: JournalName | null, call: EngineCall): Promise<void> {
    return this.#signals.wait(name ? topicOf(name) : space, call);
  }

  recordChanged(hint: RecordHint): void {
    for (const watcher of this.#watchers) watcher(hint);
  }

  /** Calls `watcher` for every later change. Returns a function that stops the watcher. */
  watchRecords(watcher: (hint: RecordHint) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}

function topicOf({ space, tenantId, name }: JournalName): string {
  return `${space}\0${tenantId}\0${name}`;
}

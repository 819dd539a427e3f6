/**
 * Hints that data was stored. Within this process they are delivered immediately. Other processes receive them through
 * batched PUBLISH commands, which are not part of any write. A lost hint only adds latency, because waiting readers
 * also poll.
 */
import {
  type EngineCall,
  type JournalName,
  type JournalSpace,
  type RecordName,
  Signals,
  type StoredRecord,
} from '@tidemark/core/engine';
import type { Commands } from './commands.ts';
import type { Address, Settings } from './options.ts';
import { OfflineError, Session } from './protocol/session.ts';

/** A change of a record. Every change in a bucket has its own revision. */
export interface RecordHint {
  bucket: number;
  revision: number;
  name: RecordName;
  /** The record after the change, `null` when it was removed. Absent when another process made the change. */
  record?: StoredRecord | null;
}

/** The published message. It omits the names when there are too many. */
interface Message {
  from: string;
  journals: JournalName[] | 'many';
  records: RecordHint[] | 'many';
}

/** The interval in which at most one message is sent. */
const BATCH_MS = 20;
const MAX_NAMES = 200;
const LISTEN_AGAIN_MS = 1_000;

export class Hints {
  readonly #commands: Commands;
  readonly #settings: Settings;
  readonly #channel: string;
  /** Addresses that a listener can connect to. */
  readonly #addresses: () => readonly Address[];
  readonly #self = crypto.randomUUID();
  readonly #signals = new Signals();
  readonly #watchers = new Set<(hint: RecordHint) => void>();
  #journals = new Map<string, JournalName>();
  #records: RecordHint[] = [];
  #sending: NodeJS.Timeout | undefined;
  #listener: Session | null = null;
  #listenAgain: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(commands: Commands, settings: Settings, addresses: () => readonly Address[]) {
    this.#commands = commands;
    this.#settings = settings;
    this.#channel = `${settings.prefix}:hints`;
    this.#addresses = addresses;
  }

  journalChanged(name: JournalName): void {
    const topic = topicOf(name);
    this.#signals.notify(topic);
    this.#signals.notify(name.space);
    if (this.#journals.size <= MAX_NAMES) this.#journals.set(topic, name);
    this.#sendSoon();
  }

  recordChanged(hint: RecordHint): void {
    for (const watcher of this.#watchers) watcher(hint);
    if (this.#records.length <= MAX_NAMES) this.#records.push(hint);
    this.#sendSoon();
  }

  /** Waits for a commit to a journal, or to any journal of a space. */
  waitForJournal(space: JournalSpace, name: JournalName | null, call: EngineCall): Promise<void> {
    this.#listen();
    return this.#signals.wait(name ? topicOf(name) : space, call);
  }

  /** Calls `watcher` for every later change of records. Returns a function that stops the watcher. */
  watchRecords(watcher: (hint: RecordHint) => void): () => void {
    this.#watchers.add(watcher);
    this.#listen();
    return () => this.#watchers.delete(watcher);
  }

  get isWatched(): boolean {
    return this.#watchers.size > 0;
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#sending);
    clearTimeout(this.#listenAgain);
    this.#listener?.destroy(new OfflineError());
    this.#listener = null;
  }

  #sendSoon(): void {
    if (this.#closed) return;
    this.#sending ??= setTimeout(() => this.#send(), BATCH_MS);
  }

  #send(): void {
    this.#sending = undefined;
    const [journals, records] = [[...this.#journals.values()], this.#records];
    this.#journals = new Map();
    this.#records = [];
    const message: Message = {
      from: this.#self,
      journals: journals.length > MAX_NAMES ? 'many' : journals,
      records:
        records.length > MAX_NAMES ? 'many' : records.map(({ bucket, revision, name }) => ({ bucket, revision, name })),
    };
    this.#commands.put(0, ['PUBLISH', this.#channel, JSON.stringify(message)], {}).catch(() => {});
  }

  #onMessage(text: string): void {
    const { from, journals, records } = JSON.parse(text) as Message;
    if (from === this.#self) return;
    if (journals === 'many') this.#signals.notifyAll();
    else {
      for (const name of journals) {
        this.#signals.notify(topicOf(name));
        this.#signals.notify(name.space);
      }
    }
    if (records !== 'many') for (const hint of records) for (const watcher of this.#watchers) watcher(hint);
  }

  #listen(): void {
    if (this.#listener || this.#closed || this.#listenAgain) return;
    const addresses = this.#addresses();
    const address = addresses[Math.floor(Math.random() * addresses.length)];
    if (!address) return;
    const listener = new Session(address, this.#settings, {
      onMessage: (message) => this.#onMessage(message.toString()),
      onEnd: () => this.#lost(listener),
    });
    this.#listener = listener;
    listener
      .open()
      .then(() => listener.send(['SUBSCRIBE', this.#channel]))
      .then(
        () => this.#signals.notifyAll(),
        () => this.#lost(listener),
      );
  }

  #lost(listener: Session): void {
    if (this.#listener !== listener) return;
    this.#listener = null;
    listener.destroy(new OfflineError());
    // Hints may have been missed during the reconnect, so all waiting readers are woken.
    this.#signals.notifyAll();
    if (this.#closed) return;
    this.#listenAgain = setTimeout(() => {
      this.#listenAgain = undefined;
      if (this.#signals.awaited || this.isWatched) this.#listen();
    }, LISTEN_AGAIN_MS).unref();
  }
}

function topicOf({ space, tenantId, name }: JournalName): string {
  return `${space}\0${tenantId}\0${name}`;
}

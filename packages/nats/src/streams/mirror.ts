/**
 * A process's view of a whole stream. It reads the headers of the last message of each subject, then the headers of
 * every message as it arrives. Before each use, the view catches up with the leader's last sequence, so that it
 * includes every write that was acknowledged earlier.
 */
import type { EngineCall } from '@tidemark/core/engine';
import { isOver, type Link } from '../connection/link.ts';
import { unavailable } from '../errors.ts';
import type { Messages, StoredMessage } from '../messages/messages.ts';
import { Follower } from './consumers.ts';
import { streamInfo } from './streams.ts';

/** How long to wait for a message that the leader has, before checking whether the message still exists. */
const LATE_MS = 100;
const LOOK_WITHIN_MS = 5_000;
/** This many of the newest messages are read one by one, even if the last message of their subject was already read. */
const READ_AGAIN = 10_000;

export class Mirror {
  readonly #link: Link;
  readonly #messages: Messages;
  readonly #take: (message: StoredMessage) => void;
  readonly #forget: () => void;
  readonly #waiting = new Set<() => void>();
  #follower: Follower | null = null;
  #started = false;
  #stopped = false;
  /** Whether the mirror receives every message from now on. */
  #followsAll = false;
  /** Up to this sequence, no message is missing. The last message itself may have been removed. */
  #complete = 0;

  constructor(link: Link, messages: Messages, take: (message: StoredMessage) => void, forget: () => void) {
    this.#link = link;
    this.#messages = messages;
    this.#take = take;
    this.#forget = forget;
  }

  get started(): boolean {
    return this.#started;
  }

  start(): void {
    if (this.#started) return;
    this.#started = true;
    void this.#begin();
  }

  /**
   * Reads the last message of each subject up to `READ_AGAIN` messages before the end, and every message after that
   * point. When only the last messages were read, a run created in the meantime was once missing on a cluster of
   * version 2.9.10, probably because the server collects these messages while it stores others.
   */
  async #begin(): Promise<void> {
    const from = await this.#safeStart();
    if (this.#stopped) return;
    if (from === 1) this.#followFrom(from);
    else {
      const goOn = () => {
        if (this.#follower !== heads) return;
        heads.stop();
        this.#followFrom(from);
      };
      const heads: Follower = this.#follow(
        'heads',
        (message) => (message.seq < from ? this.#take(message) : goOn()),
        goOn,
      );
      this.#follower = heads;
    }
  }

  async #safeStart(): Promise<number> {
    while (!this.#stopped) {
      const info = await streamInfo(this.#link, this.#messages.stream, { deadline: Date.now() + LOOK_WITHIN_MS }).catch(
        () => null,
      );
      const lag = Math.max(0, ...(info?.cluster?.replicas ?? []).map((replica) => replica.lag ?? 0));
      if (info) return Math.max(1, info.state.last_seq - lag - READ_AGAIN);
    }
    return 1;
  }

  #followFrom(from: number): void {
    this.#followsAll = true;
    this.#follower = this.#follow(
      from,
      (message) => this.#take(message),
      () => {},
    );
  }

  #follow(start: 'heads' | number, take: (message: StoredMessage) => void, onCaughtUp: () => void): Follower {
    return new Follower(this.#link, {
      messages: this.#messages,
      filter: this.#messages.all,
      start,
      headersOnly: true,
      onMessage: (message) => {
        take(message);
        this.#wake();
      },
      onCaughtUp: () => {
        onCaughtUp();
        this.#wake();
      },
      onRestart: () => this.#restart(),
    });
  }

  /** Drops all state and starts over. */
  #restart(): void {
    this.#follower?.stop();
    this.#followsAll = false;
    this.#complete = 0;
    this.#forget();
    void this.#begin();
  }

  /** Waits until the mirror includes every write acknowledged so far. */
  async caughtUp(call: EngineCall): Promise<void> {
    this.start();
    const last = await this.#messages.lastSeq(call);
    while (this.#seq < last) {
      if (await this.#moved()) continue;
      if (isOver(call)) throw unavailable(new Error('the mirror of the stream is behind'));
      // If that message has been removed, the last existing message counts.
      const there = await this.#messages.last(this.#messages.all, call);
      if (!this.#followsAll) continue;
      if (there && there.seq > this.#seq) await this.#follower?.fillUpTo(there.seq, call);
      if (this.#seq >= (there?.seq ?? 0)) this.#complete = Math.max(this.#complete, last);
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#follower?.stop();
    this.#wake();
  }

  get #seq(): number {
    return this.#followsAll ? Math.max(this.#complete, this.#follower?.lastSeq ?? 0) : 0;
  }

  #wake(): void {
    // Runs after the follower has recorded its position.
    queueMicrotask(() => {
      for (const wake of this.#waiting) wake();
    });
  }

  /** Resolves to whether a message arrives within a moment. */
  #moved(): Promise<boolean> {
    return new Promise((resolve) => {
      const done = (moved: boolean) => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve(moved);
      };
      const wake = () => done(true);
      const timer = setTimeout(() => done(false), LATE_MS);
      this.#waiting.add(wake);
    });
  }
}

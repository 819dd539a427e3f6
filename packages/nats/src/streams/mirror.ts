/**
 * What a process knows of a whole stream: the headers of the last message of each subject, then of every message as it comes. Before
 * it answers it has caught up with what the leader had at that moment, so it sees every write that was acknowledged before.
 */
import type { EngineCall } from '@tidemark/core/engine';
import { isOver, type Link } from '../connection/link.ts';
import { unavailable } from '../errors.ts';
import type { Messages, StoredMessage } from '../messages/messages.ts';
import { Follower } from './consumers.ts';
import { streamInfo } from './streams.ts';

/** How long a message that the leader has is waited for, before it is asked whether it is still there. */
const LATE_MS = 100;
const LOOK_WITHIN_MS = 5_000;
/** So many of the newest messages are read one by one, whatever was gathered of them. */
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
  /** Whether it has come to where it is given every message. */
  #followsAll = false;
  /** Up to here nothing is missing, though the last message may have been removed. */
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
   * The last messages of subjects, up to some way before the end, and from there on every message. Once, on a cluster of 2.9.10, a run
   * that was begun meanwhile was missing after the last messages alone; the likely reason is that they are gathered while others are stored.
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

  /** Forgets everything and begins anew. */
  #restart(): void {
    this.#follower?.stop();
    this.#followsAll = false;
    this.#complete = 0;
    this.#forget();
    void this.#begin();
  }

  /** Waits until all that is acknowledged by now is taken in. */
  async caughtUp(call: EngineCall): Promise<void> {
    this.start();
    const last = await this.#messages.lastSeq(call);
    while (this.#seq < last) {
      if (await this.#moved()) continue;
      if (isOver(call)) throw unavailable(new Error('the mirror of the stream is behind'));
      // What is waited for may have been removed; then the last one that is there counts.
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
    // After the follower has noted how far it is.
    queueMicrotask(() => {
      for (const wake of this.#waiting) wake();
    });
  }

  /** Whether something came within a moment. */
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

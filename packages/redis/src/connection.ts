/**
 * One connection to one server. While it is disconnected, commands fail at once, and no command is ever sent twice. It
 * reconnects automatically. A connection whose reply is overdue is replaced.
 */
import { overloaded } from './errors.ts';
import type { Address, Settings } from './options.ts';
import { type Argument, Encoded } from './protocol/encode.ts';
import { type Reply, ReplyError } from './protocol/replies.ts';
import { type Asker, OfflineError, Session } from './protocol/session.ts';

const FIRST_DELAY_MS = 20;
const MAX_DELAY_MS = 1_000;
const LOOK_EVERY_MS = 500;
/** The maximum number of commands that may wait for a reply. Further calls fail with `OVERLOADED` (GEN-3). */
const MAX_WAITING = 20_000;

/** Returns how long to wait before the next attempt, with increasing delays. */
function reconnectDelay(attempt: number): number {
  return Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(attempt, 10)) * (0.5 + Math.random() / 2);
}

export class Connection {
  readonly address: Address;
  readonly #settings: Settings;
  readonly #watch: NodeJS.Timeout;
  #session: Session | null = null;
  #opening: Session | null = null;
  #retry: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(address: Address, settings: Settings) {
    this.address = address;
    this.#settings = settings;
    this.#watch = setInterval(() => this.#checkSilence(), LOOK_EVERY_MS).unref();
  }

  /** Connects for the first time. Fails when the server cannot be reached. */
  async open(): Promise<void> {
    await this.#connect();
  }

  /** Connects in the background, retrying until it succeeds. */
  openLater(attempt = 0): void {
    clearTimeout(this.#retry);
    if (this.#closed || this.#opening || this.#session) return;
    this.#connect().then(
      () => {},
      () => {
        if (!this.#closed) this.#retry = setTimeout(() => this.openLater(attempt + 1), reconnectDelay(attempt));
      },
    );
  }

  get isReady(): boolean {
    return this.#session !== null;
  }

  /** How many commands wait for their replies. */
  get waiting(): number {
    return this.#session?.waiting ?? 0;
  }

  /** Sends a command and resolves to its reply. */
  send(args: readonly Argument[]): Promise<Reply> {
    return this.sendEncoded(new Encoded().addAll(args));
  }

  sendEncoded(command: Encoded): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const answer = (reply: Reply) => (reply instanceof ReplyError ? reject(reply) : resolve(reply));
      this.ask(command, { answer, fail: reject });
    });
  }

  /** Sends a command whose reply is handled without a promise. */
  ask(command: Encoded, asker: Asker): void {
    const session = this.#session;
    if (!session) asker.fail(new OfflineError());
    else if (session.waiting >= MAX_WAITING) asker.fail(overloaded());
    else session.ask(command, asker);
  }

  /** Drops the connection and opens a new one. Commands in progress fail. */
  renew(): void {
    this.#drop(new Error('The connection was replaced'));
    this.openLater();
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#watch);
    clearTimeout(this.#retry);
    this.#opening?.destroy(new OfflineError());
    this.#drop(new Error('The connection was closed'));
  }

  async #connect(): Promise<void> {
    if (this.#closed) throw new OfflineError();
    const onEnd = () => {
      if (this.#session !== session) return;
      this.#session = null;
      this.openLater();
    };
    const session = new Session(this.address, this.#settings, { onEnd });
    this.#opening = session;
    try {
      await session.open();
      this.#session = session;
    } finally {
      this.#opening = null;
    }
  }

  #drop(error: Error): void {
    const session = this.#session;
    this.#session = null;
    session?.destroy(error);
  }

  #checkSilence(): void {
    const session = this.#session;
    if (session && session.waiting > 0 && performance.now() - session.heardAt > this.#settings.silentAfterMs)
      this.renew();
  }
}

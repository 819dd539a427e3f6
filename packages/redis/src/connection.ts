/**
 * One connection to one server. While it is disconnected, commands fail at once, and no command is ever sent twice. It
 * reconnects automatically. A connection whose reply is overdue is replaced.
 */
import { ClientOfflineError, createClient, RESP_TYPES } from '@redis/client';
import type { Address, Settings } from './options.ts';

export type Argument = string | Buffer;
/** A reply. Its texts are byte buffers. */
export type Reply = unknown;

const FIRST_DELAY_MS = 20;
const LONGEST_DELAY_MS = 1_000;
const LOOK_EVERY_MS = 500;
/** The maximum number of commands that may wait for a reply. Further calls fail with `OVERLOADED` (GEN-3). */
const MOST_WAITING = 20_000;

export type Client = ReturnType<typeof clientFor>;

/** Creates a client without an offline queue or per-command timeout. It returns the texts of replies as bytes. */
export function clientFor(
  address: Address,
  settings: Settings,
  retries: (attempt: number, cause: Error) => number | Error,
) {
  const { host, port } = address;
  const client = createClient({
    RESP: 2,
    socket: {
      host,
      port,
      ...(settings.tls && { tls: true, ...settings.tls }),
      connectTimeout: settings.connectionTimeoutMs,
      reconnectStrategy: retries,
    },
    username: settings.username,
    password: settings.password,
    database: settings.database,
    name: 'tidemark',
    disableOfflineQueue: true,
    commandsQueueMaxLength: MOST_WAITING,
    maintNotifications: 'disabled',
    commandOptions: { timeout: 0, typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
  });
  // Without a listener, a lost connection would terminate the process.
  client.on('error', () => {});
  return client;
}

/** Retries indefinitely, with increasing delays. */
function reconnectDelay(attempt: number): number {
  return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(attempt, 10)) * (0.5 + Math.random() / 2);
}

export class Connection {
  readonly address: Address;
  readonly #settings: Settings;
  readonly #watch: NodeJS.Timeout;
  #client: Client;
  #wasReady = false;
  #closed = false;
  #unanswered = 0;
  /** When the last reply arrived, or when the first unanswered command was sent, whichever is later. */
  #lastReplyAt = 0;

  constructor(address: Address, settings: Settings) {
    this.address = address;
    this.#settings = settings;
    this.#client = this.#makeClient();
    this.#watch = setInterval(() => this.#checkSilence(), LOOK_EVERY_MS).unref();
  }

  /** Connects for the first time. Fails when the server cannot be reached. */
  async open(): Promise<void> {
    await this.#client.connect();
    this.#wasReady = true;
  }

  /** Connects in the background, retrying until it succeeds. */
  openLater(): void {
    this.#wasReady = true;
    this.#client.connect().catch(() => {});
  }

  get isReady(): boolean {
    return this.#client.isReady;
  }

  async send(args: Argument[]): Promise<Reply> {
    const client = this.#client;
    // A client that is being replaced reports neither ready nor offline.
    if (!client.isReady) throw new ClientOfflineError();
    if (this.#unanswered++ === 0) this.#lastReplyAt = performance.now();
    try {
      return await client.sendCommand(args);
    } finally {
      if (client === this.#client) {
        this.#unanswered--;
        this.#lastReplyAt = performance.now();
      }
    }
  }

  /** Drops the connection and opens a new one. Commands in progress fail. */
  renew(): void {
    const before = this.#client;
    this.#unanswered = 0;
    this.#client = this.#makeClient();
    before.destroy();
    if (!this.#closed) this.openLater();
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#watch);
    this.#client.destroy();
  }

  #makeClient(): Client {
    return clientFor(this.address, this.#settings, (attempt, cause) =>
      this.#wasReady ? reconnectDelay(attempt) : cause,
    );
  }

  #checkSilence(): void {
    if (this.#unanswered > 0 && performance.now() - this.#lastReplyAt > this.#settings.silentAfterMs) this.renew();
  }
}

/**
 * One connection to one server. While it is away commands fail at once and none is ever sent twice; it comes back by itself,
 * and one that owes an answer for too long is replaced.
 */
import { ClientOfflineError, createClient, RESP_TYPES } from '@redis/client';
import type { Address, Settings } from './options.ts';

export type Argument = string | Buffer;
/** An answer: texts come as bytes, whatever they are. */
export type Reply = unknown;

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 1_000;
const LOOK_EVERY_MS = 500;
/** Commands that may wait for an answer; beyond, callers hear `OVERLOADED` (GEN-3). */
const MOST_WAITING = 20_000;

export type Client = ReturnType<typeof clientFor>;

/** A client as the store needs it: no queue while it is away, no limit per command, bytes as they are. */
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
  // Without a listener a lost connection would end the process.
  client.on('error', () => {});
  return client;
}

/** For ever, after ever longer pauses. */
function pauseBefore(attempt: number): number {
  return Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempt, 10)) * (0.5 + Math.random() / 2);
}

export class Connection {
  readonly address: Address;
  readonly #settings: Settings;
  readonly #watch: NodeJS.Timeout;
  #client: Client;
  #wasReady = false;
  #closed = false;
  #owed = 0;
  /** When an answer last came, or was first waited for. */
  #heardAt = 0;

  constructor(address: Address, settings: Settings) {
    this.address = address;
    this.#settings = settings;
    this.#client = this.#makeClient();
    this.#watch = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  /** Connects for the first time; fails when the server is away. */
  async open(): Promise<void> {
    await this.#client.connect();
    this.#wasReady = true;
  }

  /** Connects in the background, for as long as it takes. */
  openLater(): void {
    this.#wasReady = true;
    this.#client.connect().catch(() => {});
  }

  get isReady(): boolean {
    return this.#client.isReady;
  }

  async send(args: Argument[]): Promise<Reply> {
    const client = this.#client;
    // A client that is being replaced is neither ready nor offline to itself.
    if (!client.isReady) throw new ClientOfflineError();
    if (this.#owed++ === 0) this.#heardAt = performance.now();
    try {
      return await client.sendCommand(args);
    } finally {
      if (client === this.#client) {
        this.#owed--;
        this.#heardAt = performance.now();
      }
    }
  }

  /** Gives the connection up and makes a new one; what was under way fails. */
  renew(): void {
    const before = this.#client;
    this.#owed = 0;
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
    return clientFor(this.address, this.#settings, (attempt, cause) => (this.#wasReady ? pauseBefore(attempt) : cause));
  }

  #look(): void {
    if (this.#owed > 0 && performance.now() - this.#heardAt > this.#settings.silentAfterMs) this.renew();
  }
}

/**
 * One socket to a server, from its login to its end. Commands that are sent in one turn of the event loop are written
 * together, and their replies arrive in the same order. No command is ever sent twice.
 */
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Address, Settings } from '../options.ts';
import { Encoded } from './encode.ts';
import { type Reply, ReplyDecoder, ReplyError } from './replies.ts';

/** The command was not sent, because there is no connection. */
export class OfflineError extends Error {
  constructor() {
    super('The client is offline');
  }
}

/** Waits for the reply to one command. */
export interface Asker {
  /** Called with the reply, which may be a `ReplyError`. */
  answer(reply: Reply): void;
  /** Called when there is no reply. */
  fail(error: unknown): void;
}

/** How long a connection may be idle before the system checks whether the other side is still there. */
const KEEP_ALIVE_AFTER_MS = 30_000;
/** The maximum number of answered commands at the front of the queue before it is shortened. */
const MAX_ANSWERED = 1_024;

export interface SessionEvents {
  /** Called once when an open session ends. */
  onEnd?(): void;
  /** Called with messages of channels. With it, lists that begin with `message` are not replies. */
  onMessage?(message: Buffer): void;
}

export class Session {
  readonly #settings: Settings;
  readonly #socket: Socket;
  readonly #events: SessionEvents;
  readonly #decoder = new ReplyDecoder((reply) => this.#onReply(reply));
  /** The handlers of replies, in order. Those before `#first` have been called. */
  #askers: (Asker | undefined)[] = [];
  #first = 0;
  /** The number of commands in `#unsent`, the last ones that wait. */
  #unsentCount = 0;
  #unsent = new Encoded();
  #isOpen = false;
  #end: Error | null = null;
  /** When the last bytes arrived, or when the first command without a reply was sent, whichever is later. */
  heardAt = 0;

  /** Begins to connect. `open` waits for it. */
  constructor(address: Address, settings: Settings, events: SessionEvents) {
    this.#settings = settings;
    this.#events = events;
    this.#socket = connect(address, settings);
    this.#socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    this.#socket.on('error', (error) => this.destroy(error));
    this.#socket.on('close', () => this.destroy(new Error('The connection was closed')));
  }

  /** Connects and logs in. Fails if that takes longer than `connectionTimeoutMs`. */
  async open(): Promise<void> {
    const { connectionTimeoutMs, tls } = this.#settings;
    const tooLate = () => this.destroy(new Error(`There was no connection within ${connectionTimeoutMs} ms`));
    const timer = setTimeout(tooLate, connectionTimeoutMs);
    try {
      // Credentials must not be sent before the certificate was checked.
      await this.#connected(tls ? 'secureConnect' : 'connect');
      await this.#logIn(this.#settings);
      // The session may have ended since, if the server sent more than the replies to the login.
      if (this.#end) throw this.#end;
      this.#isOpen = true;
    } catch (error) {
      this.destroy(error as Error);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #connected(event: 'connect' | 'secureConnect'): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#socket.once(event, resolve);
      this.#socket.once('close', () => reject(this.#end));
    });
  }

  async #logIn({ username, password, database }: Settings): Promise<void> {
    const replies: Promise<Reply>[] = [];
    if (username !== undefined || password !== undefined)
      replies.push(this.send(['AUTH', ...(username === undefined ? [] : [username]), password ?? '']));
    if (database !== 0) replies.push(this.send(['SELECT', String(database)]));
    // The name is for operators only, and some logins may not set it.
    replies.push(this.send(['CLIENT', 'SETNAME', 'tidemark']).catch(ignoreRefusal));
    await Promise.all(replies);
  }

  /** How many commands have no reply yet. */
  get waiting(): number {
    return this.#askers.length - this.#first;
  }

  /** Sends a command and resolves to its reply. */
  send(args: readonly (string | Buffer)[]): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const answer = (reply: Reply) => (reply instanceof ReplyError ? reject(reply) : resolve(reply));
      this.ask(new Encoded().addAll(args), { answer, fail: reject });
    });
  }

  /** Sends a command. */
  ask(command: Encoded, asker: Asker): void {
    if (this.#end) {
      asker.fail(new OfflineError());
      return;
    }
    if (this.waiting === 0) this.heardAt = performance.now();
    this.#askers.push(asker);
    command.endCommand(this.#unsent);
    if (this.#unsentCount++ === 0) process.nextTick(() => this.#flush());
  }

  /** Ends the session. Commands that were sent fail with the error, since they may have been executed. */
  destroy(error: Error): void {
    if (this.#end) return;
    this.#end = error;
    this.#socket.destroy();
    const waiting = this.#askers.slice(this.#first);
    const sent = waiting.length - this.#unsentCount;
    this.#askers = [];
    this.#first = 0;
    for (const [at, asker] of waiting.entries()) asker!.fail(at < sent ? error : new OfflineError());
    if (this.#isOpen) this.#events.onEnd?.();
  }

  #flush(): void {
    if (this.#end) return;
    const [command, socket] = [this.#unsent, this.#socket];
    this.#unsent = new Encoded();
    this.#unsentCount = 0;
    socket.cork();
    command.write((piece) => void (typeof piece === 'string' ? socket.write(piece, 'latin1') : socket.write(piece)));
    socket.uncork();
  }

  #receive(chunk: Buffer): void {
    this.heardAt = performance.now();
    try {
      this.#decoder.write(chunk);
    } catch (error) {
      this.destroy(error as Error);
    }
  }

  #onReply(reply: Reply): void {
    const { onMessage } = this.#events;
    if (onMessage && Array.isArray(reply) && String(reply[0]) === 'message') {
      onMessage(reply[2] as Buffer);
      return;
    }
    const asker = this.#askers[this.#first];
    if (!asker) throw new Error('The server sent a reply that no command is waiting for');
    this.#askers[this.#first++] = undefined;
    if (this.#first === this.#askers.length) {
      this.#askers.length = 0;
      this.#first = 0;
    } else if (this.#first > MAX_ANSWERED) {
      this.#askers = this.#askers.slice(this.#first);
      this.#first = 0;
    }
    asker.answer(reply);
  }
}

function connect({ host, port }: Address, { tls }: Settings): Socket {
  const options = { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_AFTER_MS };
  return tls ? connectTls({ ...options, ...tls }) : connectTcp(options);
}

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof ReplyError)) throw error;
}

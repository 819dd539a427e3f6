/**
 * The connection to NATS: requests with a deadline. Unanswered requests fail at once when the connection breaks. The
 * connection keeps reconnecting. While it is down nothing is sent, because the driver would drop requests or send them
 * late.
 */

import { createInbox, type Msg, type MsgHdrs, type NatsConnection, type Subscription } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { TidemarkError } from '@tidemark/core';
import type { EngineCall } from '@tidemark/core/engine';
import { sleep } from '@tidemark/core/engine';
import { AnswerLost, isPassing, NobodyAnswers, RefusedByServer, translate, unavailable } from '../errors.ts';
import { type NatsOptions, parseServers } from '../options.ts';

/** How long one request may take before its response is considered lost. A killed leader never responds. */
const ANSWER_WITHIN_MS = 4_000;
export const RETRY_DELAY_MS = 50;
/** How long before its deadline a call fails when there is nothing left to try. */
export const GIVE_UP_MS = 100;
const TICK_MS = 50;
const RECONNECT_MS = 100;
/** The ping interval. A connection that is silent for twice as long is replaced. */
const PING_MS = 5_000;

interface Pending {
  deadline: number;
  resolve: (msg: Msg) => void;
  reject: (error: Error) => void;
}

export class Link {
  readonly #connection: NatsConnection;
  readonly #inbox = createInbox();
  readonly #answers: Subscription;
  readonly #pending = new Map<string, Pending>();
  readonly #watchdog: NodeJS.Timeout;
  readonly #waiting = new Set<() => void>();
  readonly #onReconnect = new Set<() => void>();
  #outbox: { token: string; subject: string; data: Uint8Array | string; head: MsgHdrs | undefined }[] = [];
  #tokens = 0;
  #connected = true;

  static async open(options: NatsOptions, timeoutMs: number): Promise<Link> {
    const { servers, needsTls, login } = parseServers(options.url);
    const tls = options.tls ?? (needsTls ? {} : undefined);
    try {
      const connection = await connect({
        name: 'tidemark',
        servers,
        ...login,
        ...(options.authenticator && { authenticator: options.authenticator }),
        ...(tls && { tls }),
        timeout: timeoutMs,
        maxReconnectAttempts: -1,
        reconnectTimeWait: RECONNECT_MS,
        reconnectJitter: RECONNECT_MS,
        pingInterval: PING_MS,
        ignoreAuthErrorAbort: true,
        noAsyncTraces: true,
      });
      return new Link(connection);
    } catch (error) {
      throw translate(error);
    }
  }

  constructor(connection: NatsConnection) {
    this.#connection = connection;
    this.#answers = connection.subscribe(`${this.#inbox}.*`, { callback: (_, msg) => this.#answer(msg) });
    this.#watchdog = setInterval(() => this.#giveUpOverdue(), TICK_MS).unref();
    void this.#followStatus();
  }

  get version(): string {
    return this.#connection.info?.version ?? 'unknown';
  }

  get isConnected(): boolean {
    return this.#connected;
  }

  /** The name of the cluster; `undefined` for a single server. */
  get cluster(): string | undefined {
    return (this.#connection.info as { cluster?: string } | undefined)?.cluster;
  }

  get maxPayload(): number {
    return this.#connection.info?.max_payload ?? 1024 * 1024;
  }

  /** Sends a request once and returns the answer. Rejects with `NobodyAnswers` if no server received the request. */
  async ask(subject: string, data: Uint8Array | string, call: EngineCall, head?: MsgHdrs): Promise<Msg> {
    await this.whenConnected(call);
    return new Promise<Msg>((resolve, reject) => {
      const token = (++this.#tokens).toString(36);
      const deadline = Math.min(call.deadline ?? Number.POSITIVE_INFINITY, Date.now() + ANSWER_WITHIN_MS);
      this.#pending.set(token, { deadline, resolve, reject });
      if (this.#outbox.length === 0) setImmediate(() => this.#sendAll());
      this.#outbox.push({ token, subject, data, head });
    });
  }

  /** Sends all requests of this turn of the event loop together, with one system call. */
  #sendAll(): void {
    const requests = this.#outbox;
    this.#outbox = [];
    for (const { token, subject, data, head } of requests) {
      const pending = this.#pending.get(token);
      try {
        if (pending) this.#connection.publish(subject, data, { reply: `${this.#inbox}.${token}`, headers: head });
      } catch (error) {
        this.#pending.delete(token);
        pending!.reject(error as Error);
      }
    }
  }

  /**
   * Sends a read or idempotent request to JetStream and retries it until the deadline. `final` is a transient error
   * code that the caller accepts as the answer.
   */
  async query<T>(subject: string, question: unknown, call: EngineCall, final?: number): Promise<T> {
    const data = question === undefined ? '' : JSON.stringify(question);
    for (;;) {
      try {
        return parse<T>(await this.ask(`$JS.API.${subject}`, data, call));
      } catch (error) {
        if (!(error instanceof AnswerLost) && !isPassing(error)) throw error;
        if (error instanceof RefusedByServer && error.code === final) throw error;
        if (isOver(call, RETRY_DELAY_MS)) throw unavailable(error as Error);
        await sleep(RETRY_DELAY_MS);
      }
    }
  }

  /** Throws at once for a server without JetStream, instead of waiting for it. */
  async requireJetStream(call: EngineCall): Promise<void> {
    try {
      await this.ask('$JS.API.INFO', '', call);
    } catch (error) {
      if (!(error instanceof NobodyAnswers) || this.#connection.info?.jetstream) return;
      throw new TidemarkError('UNSUPPORTED', 'This NATS server has no JetStream; start it with `jetstream` enabled', {
        field: 'url',
        rule: 'a server with JetStream',
        cause: error,
      });
    }
  }

  /** Resolves if JetStream responds. */
  async ping(call: EngineCall): Promise<void> {
    await this.query('INFO', undefined, call);
  }

  /** Subscribes to a new subject until `stop` is called. */
  listen(onMessage: (msg: Msg) => void): { subject: string; stop: () => void } {
    const subject = createInbox();
    const subscription = this.#connection.subscribe(subject, { callback: (_, msg) => onMessage(msg) });
    return { subject, stop: () => subscription.unsubscribe() };
  }

  /** Sends a message if the connection is up. Answers go to `answerTo`. */
  send(subject: string, data = '', answerTo?: string): void {
    if (!this.#connected || this.#connection.isClosed()) return;
    this.#connection.publish(subject, data, answerTo === undefined ? undefined : { reply: answerTo });
  }

  /** Sends a request without waiting for the answer. */
  sendWithoutReply(subject: string): void {
    this.send(`$JS.API.${subject}`);
  }

  /** Calls back after every reconnect, before anything is sent. The server may have lost its last messages. */
  onReconnect(callback: () => void): void {
    this.#onReconnect.add(callback);
  }

  async whenConnected(call: EngineCall): Promise<void> {
    while (!this.#connected) {
      if (this.#connection.isClosed()) throw new TidemarkError('STORE_CLOSED', 'The connection to NATS is closed');
      // Thrown before the caller's own timer fires, because the timer cannot know that nothing was sent.
      if (isOver(call, GIVE_UP_MS)) throw unavailable(new Error('the connection is down'));
      await new Promise<void>((resolve) => {
        const timer = setTimeout(done, RETRY_DELAY_MS);
        const waiting = this.#waiting;
        function done() {
          clearTimeout(timer);
          waiting.delete(done);
          resolve();
        }
        waiting.add(done);
      });
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#watchdog);
    this.#answers.unsubscribe();
    await this.#connection.close();
    this.#breakOff('the store was closed');
  }

  #answer(msg: Msg): void {
    const token = msg.subject.slice(this.#inbox.length + 1);
    const pending = this.#pending.get(token);
    if (!pending) return;
    this.#pending.delete(token);
    if (msg.headers?.code === 503 && msg.data.length === 0)
      pending.reject(new NobodyAnswers('no server took the request'));
    else pending.resolve(msg);
  }

  #giveUpOverdue(): void {
    const now = Date.now();
    for (const [token, { deadline, reject }] of this.#pending) {
      if (deadline > now) continue;
      this.#pending.delete(token);
      reject(new AnswerLost('no answer came in time'));
    }
  }

  async #followStatus(): Promise<void> {
    for await (const { type } of this.#connection.status()) {
      if (type === 'disconnect') this.#breakOff('the connection was lost');
      if (type !== 'reconnect') continue;
      for (const callback of this.#onReconnect) callback();
      this.#connected = true;
      for (const wake of this.#waiting) wake();
    }
    this.#breakOff('the connection was closed');
  }

  #breakOff(why: string): void {
    this.#connected = false;
    for (const { reject } of this.#pending.values()) reject(new AnswerLost(why));
    this.#pending.clear();
  }
}

/** Parses the JSON of a response. Throws the error that the response contains, if any. */
export function parse<T>(msg: Msg): T {
  const { buffer, byteOffset, byteLength } = msg.data;
  const answer = JSON.parse(Buffer.from(buffer, byteOffset, byteLength).toString()) as T & {
    error?: { code: number; err_code?: number; description?: string };
  };
  if (answer.error)
    throw new RefusedByServer(answer.error.err_code ?? answer.error.code, answer.error.description ?? 'an error');
  return answer;
}

export function isOver(call: EngineCall, within = 0): boolean {
  return call.signal?.aborted === true || (call.deadline !== undefined && call.deadline <= Date.now() + within);
}

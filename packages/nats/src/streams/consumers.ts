/**
 * Consumers, which read many messages at a time. A walk is a bounded read with a pull consumer. A follower is an
 * ordered push consumer. It is recreated, starting after the last delivered message, whenever a message is missing, the
 * heartbeat stops or the connection breaks.
 *
 * Consumers of version 2.9.10 skip messages if subjects are purged while they read: a purge moves them to the first
 * remaining message of its subject, which may be the last message of all. For every gap in the sequences, the leader is
 * therefore asked for the missing messages. A consumer that has skipped many messages is replaced, because reading each
 * missing message takes a request.
 */
import type { Msg } from '@nats-io/nats-core';
import { type EngineCall, inParts, sleep } from '@tidemark/core/engine';
import { isOver, type Link, RETRY_DELAY_MS } from '../connection/link.ts';
import { isPassing, NO_CONSUMER, RefusedByServer, unavailable } from '../errors.ts';
import { HEADER, headersOf } from '../messages/headers.ts';
import type { Messages, StoredMessage } from '../messages/messages.ts';

const HEARTBEAT_MS = 2_000;
const MADE_WITHIN_MS = 5_000;
const RETRY_MS = 250;
const BATCH = 500;
const PULL_MS = 1_000;
const GAPS_AT_ONCE = 32;
/** Up to this many gaps are checked one by one. If there are more, reading all of them at once is cheaper. */
const FEW_GAPS = 8;
/** Up to this many skipped messages are read one by one. If there are more, creating another consumer is cheaper. */
const FEW_MESSAGES = 8;
const NANOSECONDS = 1_000_000;

interface ConsumerInfo {
  name: string;
  num_pending: number;
}

function configOf(start: 'heads' | number, filter: string, headersOnly: boolean, messages: Messages): object {
  const from =
    typeof start === 'number'
      ? { deliver_policy: 'by_start_sequence', opt_start_seq: Math.max(1, start) }
      : { deliver_policy: 'last_per_subject' };
  return {
    ...from,
    // Given a filter that matches all messages, a server takes ten times as long to read 2 000 of them.
    ...((filter !== messages.all || start === 'heads') && { filter_subject: filter }),
    ...(headersOnly && { headers_only: true }),
    ack_policy: 'none',
    max_deliver: 1,
    replay_policy: 'instant',
    mem_storage: true,
    num_replicas: 1,
    inactive_threshold: 30_000 * NANOSECONDS,
  };
}

/**
 * Yields messages of a filter in order, from one sequence up to `last`, which the leader is known to have. Waits for
 * that message if the consumer is on a server that lags behind.
 */
export async function* walk(
  link: Link,
  messages: Messages,
  range: { filter: string; from: number; last: number; headersOnly?: boolean },
  call: EngineCall,
): AsyncGenerator<StoredMessage, void, undefined> {
  const { stream } = messages;
  let from = range.from;
  while (from <= range.last) {
    const config = configOf(from, range.filter, range.headersOnly ?? false, messages);
    const { name } = await createConsumer(link, stream, config, call);
    try {
      while (from <= range.last) {
        const batch = await pull(link, stream, name, call);
        for await (const message of withMissing(messages, range.filter, from, batch, call)) {
          if (message.seq > range.last) return;
          yield message;
          from = message.seq + 1;
        }
        if (isOver(call)) throw unavailable(new Error('the messages did not come in time'));
        if (batch.length > 0) continue;
        // The consumer has reached its end, or was moved past the remaining messages.
        const lacking = await missing(messages, range.filter, from, range.last + 1, call);
        yield* lacking;
        if (lacking.length < FEW_MESSAGES) return;
        from = lacking.at(-1)!.seq + 1;
        break;
      }
    } catch (error) {
      if (!(error instanceof RefusedByServer && error.code === NO_CONSUMER) && !isPassing(error)) throw error;
    } finally {
      link.sendWithoutReply(`CONSUMER.DELETE.${stream}.${name}`);
    }
  }
}

/**
 * Yields a batch, and in its gaps the messages that the leader has there. Checks many gaps at a time, because most are
 * empty.
 */
async function* withMissing(
  messages: Messages,
  filter: string,
  from: number,
  batch: readonly StoredMessage[],
  call: EngineCall,
): AsyncGenerator<StoredMessage, void, undefined> {
  const fresh = batch.filter(({ seq }) => seq >= from);
  if (filter === messages.all && countGaps(messages, fresh, from) > FEW_GAPS) await messages.learnEmpty(call);
  for (const part of inParts(fresh, GAPS_AT_ONCE)) {
    const lacking = await Promise.all(
      part.map(async (message, at) => {
        const next = at === 0 ? from : part[at - 1]!.seq + 1;
        if (!mayLack(filter, message, next)) return [];
        return missing(messages, filter, next, message.seq, call);
      }),
    );
    for (const [at, message] of part.entries()) {
      yield* lacking[at]!;
      if (lacking[at]!.length === FEW_MESSAGES)
        throw new RefusedByServer(NO_CONSUMER, 'the consumer has passed over many messages');
      yield message;
    }
    from = part.at(-1)!.seq + 1;
  }
}

/** Counts the gaps that may not be empty in a batch of a whole stream. */
function countGaps(messages: Messages, batch: readonly StoredMessage[], from: number): number {
  const starts = [from, ...batch.map(({ seq }) => seq + 1)];
  return batch.filter(({ seq }, at) => starts[at]! < seq && !messages.isEmpty(starts[at]!, seq)).length;
}

/** Whether messages may be missing between `next` and a message. */
function mayLack(filter: string, { seq, headers }: StoredMessage, next: number): boolean {
  if (seq === next) return false;
  const expected = headers[HEADER.expected];
  // The message contains the previous sequence of its subject, which is sufficient if the filter is a single subject.
  return /[*>]/.test(filter) || expected === undefined || Number(expected) >= next;
}

/**
 * Returns the first few messages that the leader has of a filter between two sequences. The leader is asked about a gap
 * only once.
 */
async function missing(
  messages: Messages,
  filter: string,
  from: number,
  end: number,
  call: EngineCall,
): Promise<StoredMessage[]> {
  const isAll = filter === messages.all;
  const found: StoredMessage[] = [];
  for (let next = from; next < end && found.length < FEW_MESSAGES; ) {
    if (isAll && messages.isEmpty(next, end)) break;
    const message = await messages.next(filter, next, call);
    if (isAll && message?.seq !== next) messages.noteEmpty(next, message?.seq ?? end);
    if (message === null || message.seq >= end) break;
    found.push(message);
    next = message.seq + 1;
  }
  return found;
}

async function createConsumer(link: Link, stream: string, config: object, call: EngineCall): Promise<ConsumerInfo> {
  return link.query<ConsumerInfo>(`CONSUMER.CREATE.${stream}`, { stream_name: stream, config }, call);
}

/** Returns the messages that a consumer can deliver immediately. */
async function pull(link: Link, stream: string, name: string, call: EngineCall): Promise<StoredMessage[]> {
  await link.whenConnected(call);
  const messages: StoredMessage[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const inbox = link.listen((msg) => {
    const code = msg.headers?.code ?? 0;
    if (code === 503) reject(new RefusedByServer(NO_CONSUMER, 'the consumer is gone'));
    else if (code >= 400) resolve();
    else if (code === 0) {
      messages.push(messageOf(msg));
      if (messages.length === BATCH) resolve();
    }
  });
  const timer = setTimeout(() => reject(new RefusedByServer(NO_CONSUMER, 'the consumer is silent')), 2 * PULL_MS);
  try {
    const question = { batch: BATCH, no_wait: true };
    link.send(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`, JSON.stringify(question), inbox.subject);
    await promise;
  } finally {
    clearTimeout(timer);
    inbox.stop();
  }
  return messages;
}

function messageOf(msg: Msg): StoredMessage {
  return { subject: msg.subject, seq: deliveryInfo(msg).seq, headers: headersOf(msg), data: Buffer.from(msg.data) };
}

/**
 * Parses `$JS.ACK.stream.consumer.delivered.streamSeq.consumerSeq.time.pending`. Newer servers prepend domain and
 * account.
 */
function deliveryInfo(msg: Msg): { seq: number; delivery: number; pending: number } {
  const tokens = msg.reply!.split('.');
  const at = tokens.length >= 11 ? 7 : 5;
  return { seq: Number(tokens[at]), delivery: Number(tokens[at + 1]), pending: Number(tokens[at + 3]) };
}

export interface FollowerOptions {
  messages: Messages;
  filter: string;
  /**
   * Where to start. `heads`: the last message of each subject first, then all later messages. A number: from this
   * sequence on. `new`: after the leader's last sequence, because the position that a consumer considers new depends on
   * how far its server lags behind.
   */
  start: 'heads' | 'new' | number;
  headersOnly: boolean;
  onMessage: (message: StoredMessage) => void;
  /** Called when everything that was stored at the start has been delivered. */
  onCaughtUp?: () => void;
  /**
   * Called when the follower has stopped because it was disconnected for so long that delete markers may have been
   * removed, or because the stream went back. The state built from its messages must be dropped and rebuilt.
   */
  onRestart?: () => void;
}

/** How long a follower may be disconnected and still continue. Delete markers are kept for twice as long. */
const MAY_BE_AWAY_MS = 30 * 60_000;

export class Follower {
  readonly #link: Link;
  readonly #options: FollowerOptions;
  #inbox: { subject: string; stop: () => void } | null = null;
  #consumer = '';
  #deliveries = 0;
  /** `new` until the leader's last sequence is known. */
  #start: FollowerOptions['start'];
  #lastSeq = 0;
  /** Messages that arrived while a gap is being checked; `null` if none is being checked. */
  #held: { message: StoredMessage; pending: number }[] | null = null;
  #heardAt = Date.now();
  #making = false;
  #stopped = false;
  readonly #watchdog: NodeJS.Timeout;
  readonly #wentBack: { stop(): void };

  constructor(link: Link, options: FollowerOptions) {
    this.#link = link;
    this.#options = options;
    this.#start = options.start;
    if (typeof this.#start === 'number') this.#lastSeq = this.#start - 1;
    this.#watchdog = setInterval(() => this.#look(), HEARTBEAT_MS / 2).unref();
    this.#wentBack = options.messages.onWentBack((lastSeq) => this.#goBack(lastSeq));
    void this.#make();
  }

  /** The last delivered sequence. All messages with a lower sequence were delivered or had been removed. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#watchdog);
    this.#wentBack.stop();
    this.#letGo();
  }

  /** Continues after the new end of a stream that went back, or starts over if state was built from its messages. */
  #goBack(lastSeq: number): void {
    if (this.#lastSeq <= lastSeq) return;
    if (this.#options.onRestart) {
      this.#startOver(this.#options.onRestart);
    } else {
      this.#lastSeq = lastSeq;
      void this.#make();
    }
  }

  #startOver(onRestart: () => void): void {
    this.stop();
    onRestart();
  }

  async #make(): Promise<void> {
    if (this.#making || this.#stopped) return;
    this.#making = true;
    this.#letGo();
    const { messages, filter, headersOnly } = this.#options;
    if (this.#lastSeq > 0 && Date.now() - this.#heardAt > MAY_BE_AWAY_MS && this.#options.onRestart) {
      return this.#startOver(this.#options.onRestart);
    }
    const inbox = this.#link.listen((msg) => this.#receive(inbox.subject, msg));
    this.#inbox = inbox;
    this.#deliveries = 0;
    const call = { deadline: Date.now() + MADE_WITHIN_MS };
    try {
      if (this.#start === 'new') {
        this.#lastSeq = await messages.lastSeq(call);
        this.#start = this.#lastSeq + 1;
      } else if (this.#lastSeq > 0) {
        // Notices when the server was started again without the last messages.
        await messages.lastSeq(call);
        if (this.#stopped) return;
      }
      const config = {
        ...configOf(this.#lastSeq > 0 ? this.#lastSeq + 1 : this.#start, filter, headersOnly, messages),
        deliver_subject: inbox.subject,
        flow_control: true,
        idle_heartbeat: HEARTBEAT_MS * NANOSECONDS,
      };
      const { name, num_pending } = await createConsumer(this.#link, messages.stream, config, call);
      this.#consumer = name;
      if (this.#stopped) return this.#letGo();
      this.#heardAt = Date.now();
      if (num_pending === 0) this.#options.onCaughtUp?.();
    } catch {
      // The watchdog notices that no messages arrive, and retries.
      this.#letGo();
      await sleep(RETRY_DELAY_MS);
    } finally {
      this.#making = false;
    }
  }

  #receive(inbox: string, msg: Msg): void {
    if (this.#inbox?.subject !== inbox) return;
    this.#heardAt = Date.now();
    if ((msg.headers?.code ?? 0) === 100) {
      this.#heed(msg);
      return;
    }
    const { delivery, pending } = deliveryInfo(msg);
    if (delivery !== this.#deliveries + 1) {
      void this.#make();
      return;
    }
    this.#deliveries = delivery;
    const message = messageOf(msg);
    if (this.#held) this.#held.push({ message, pending });
    else if (this.#mayLackBefore(message)) void this.#fill([{ message, pending }]);
    else this.#give(message, pending);
  }

  #mayLackBefore(message: StoredMessage): boolean {
    const { filter, messages } = this.#options;
    const next = this.#lastSeq + 1;
    if (!this.#knowsPosition || !mayLack(filter, message, next)) return false;
    return filter !== messages.all || !messages.isEmpty(next, message.seq);
  }

  /**
   * Whether the follower's position is known. False while it reads the last messages of subjects, where most sequences
   * are missing anyway.
   */
  get #knowsPosition(): boolean {
    return typeof this.#start === 'number';
  }

  #give(message: StoredMessage, pending: number): void {
    // A consumer on a server that lags behind starts with messages that were already delivered.
    if (message.seq > this.#lastSeq) {
      this.#options.onMessage(message);
      this.#lastSeq = message.seq;
      this.#options.messages.note(message.seq);
    }
    if (pending === 0) this.#options.onCaughtUp?.();
  }

  /** Delivers the held messages, preceded by the messages that the leader has and the consumer skipped. */
  async #fill(held: { message: StoredMessage; pending: number }[]): Promise<void> {
    const { messages, filter } = this.#options;
    const inbox = this.#inbox;
    this.#held = held;
    let gaps = 0;
    try {
      for (let next = held.shift(); next; next = held.shift()) {
        const call = { deadline: Date.now() + MADE_WITHIN_MS };
        if (this.#mayLackBefore(next.message)) {
          if (++gaps % FEW_GAPS === 0) await messages.learnEmpty(call);
          const lacking = await missing(messages, filter, this.#lastSeq + 1, next.message.seq, call);
          if (this.#inbox !== inbox) return;
          for (const missed of lacking) this.#give(missed, 1);
          if (lacking.length === FEW_MESSAGES) return void this.#make();
        }
        this.#give(next.message, next.pending);
      }
      this.#held = null;
    } catch {
      if (this.#inbox === inbox) void this.#make();
    }
  }

  /**
   * Delivers all messages up to a sequence that the leader has, if there are few, because the consumer may have skipped
   * the last message.
   */
  async fillUpTo(seq: number, call: EngineCall): Promise<void> {
    if (this.#held || !this.#knowsPosition) return;
    const { messages, filter } = this.#options;
    const lacking = await missing(messages, filter, this.#lastSeq + 1, seq + 1, call);
    if (this.#held || this.#stopped) return;
    for (const missed of lacking) this.#give(missed, 1);
    if (lacking.length === FEW_MESSAGES) void this.#make();
  }

  /** Handles a heartbeat, or a flow control request, which must be answered. */
  #heed(msg: Msg): void {
    if (msg.reply) this.#link.send(msg.reply);
    const stalled = msg.headers?.get('Nats-Consumer-Stalled');
    if (stalled) this.#link.send(stalled);
    const delivered = msg.headers?.get('Nats-Last-Consumer');
    if (delivered && Number(delivered) > this.#deliveries) void this.#make();
  }

  #look(): void {
    const silentMs = Date.now() - this.#heardAt;
    if (!this.#inbox ? silentMs > RETRY_MS : silentMs > 2.5 * HEARTBEAT_MS) void this.#make();
  }

  #letGo(): void {
    this.#inbox?.stop();
    this.#inbox = null;
    this.#held = null;
    if (this.#consumer)
      this.#link.sendWithoutReply(`CONSUMER.DELETE.${this.#options.messages.stream}.${this.#consumer}`);
    this.#consumer = '';
  }
}

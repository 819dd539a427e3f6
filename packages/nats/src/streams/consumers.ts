/**
 * Consumers: how many messages come in one go. A walk is a bounded read by pulling; a follower is an ordered push consumer that is made
 * anew, from the message after the last one it gave, whenever a message is missing, the heartbeat stops or the connection breaks.
 *
 * Consumers of 2.9.10 pass over messages where subjects are purged meanwhile: a purge moves them on to the first message that is left of
 * its subject, which may be the last of all. So every gap in the sequences is asked about, and the leader gives what is missing. A
 * consumer that has passed over many is replaced by another, since it takes a request for each.
 */
import type { Msg } from '@nats-io/nats-core';
import { type EngineCall, inParts, sleep } from '@tidemark/core/engine';
import { isOver, type Link, PAUSE_MS } from '../connection/link.ts';
import { isPassing, NO_CONSUMER, RefusedByServer, unavailable } from '../errors.ts';
import { HEADER, headersOf } from '../messages/headers.ts';
import type { Messages, StoredMessage } from '../messages/messages.ts';

const HEARTBEAT_MS = 2_000;
const MADE_WITHIN_MS = 5_000;
const RETRY_MS = 250;
const BATCH = 500;
const PULL_MS = 1_000;
const GAPS_AT_ONCE = 32;
/** So many gaps are asked about one by one, before it is worth to learn of all. */
const FEW_GAPS = 8;
/** So many messages that a consumer lacks are asked for one by one, before another consumer is made. */
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
    // Reading 2 000 messages took a server ten times as long with a filter that matches them all.
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
 * Messages of a filter from a sequence on, in order, up to `last`, which its leader is known to have: the consumer may live on a
 * server that is behind, and is waited for.
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
        // It has come to its end, or was moved past what is left.
        const lacking = await missing(messages, range.filter, from, range.last + 1, call);
        yield* lacking;
        if (lacking.length < FEW_MESSAGES) return;
        from = lacking.at(-1)!.seq + 1;
        break;
      }
    } catch (error) {
      if (!(error instanceof RefusedByServer && error.code === NO_CONSUMER) && !isPassing(error)) throw error;
    } finally {
      link.tell(`CONSUMER.DELETE.${stream}.${name}`);
    }
  }
}

/** A batch from a sequence on, with what the leader has in its gaps; many are asked about at a time, and most are empty. */
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

/** Gaps before messages of a whole stream that are not known to be empty. */
function countGaps(messages: Messages, batch: readonly StoredMessage[], from: number): number {
  const starts = [from, ...batch.map(({ seq }) => seq + 1)];
  return batch.filter(({ seq }, at) => starts[at]! < seq && !messages.isEmpty(starts[at]!, seq)).length;
}

/** Whether something may lie between the sequence that comes next and a message. */
function mayLack(filter: string, { seq, headers }: StoredMessage, next: number): boolean {
  if (seq === next) return false;
  const expected = headers[HEADER.expected];
  // It tells which message of its subject it was stored behind; that says all where there is one subject.
  return /[*>]/.test(filter) || expected === undefined || Number(expected) >= next;
}

/**
 * The first few messages that the leader has of a filter from a sequence on and below another. A gap is asked about once, however
 * often it is met.
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

/** What a consumer has at once. */
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

/** `$JS.ACK.stream.consumer.delivered.streamSeq.consumerSeq.time.pending`, with domain and account before in newer servers. */
function deliveryInfo(msg: Msg): { seq: number; delivery: number; pending: number } {
  const tokens = msg.reply!.split('.');
  const at = tokens.length >= 11 ? 7 : 5;
  return { seq: Number(tokens[at]), delivery: Number(tokens[at + 1]), pending: Number(tokens[at + 3]) };
}

export interface FollowerOptions {
  messages: Messages;
  filter: string;
  /**
   * `heads`: the last message of each subject first, then all that follow; a number: from this sequence on; `new`: after what the
   * leader has, as a consumer's own notion of new depends on how far its server is behind.
   */
  start: 'heads' | 'new' | number;
  headersOnly: boolean;
  onMessage: (message: StoredMessage) => void;
  /** All that was there when it began has been given. */
  onCaughtUp?: () => void;
  /** It was away so long that markers may be gone and has stopped: what it gave is to be forgotten, and begun anew. */
  onRestart?: () => void;
}

/** How long a follower may be away and still go on where it was: markers of removals are kept for twice as long. */
const MAY_BE_AWAY_MS = 30 * 60_000;

export class Follower {
  readonly #link: Link;
  readonly #options: FollowerOptions;
  #inbox: { subject: string; stop: () => void } | null = null;
  #consumer = '';
  #deliveries = 0;
  /** `new` until the leader was asked. */
  #start: FollowerOptions['start'];
  #lastSeq = 0;
  /** What came while a gap is looked into; `null` while there is none. */
  #held: { message: StoredMessage; pending: number }[] | null = null;
  #heardAt = Date.now();
  #making = false;
  #stopped = false;
  readonly #watchdog: NodeJS.Timeout;

  constructor(link: Link, options: FollowerOptions) {
    this.#link = link;
    this.#options = options;
    this.#start = options.start;
    if (typeof this.#start === 'number') this.#lastSeq = this.#start - 1;
    this.#watchdog = setInterval(() => this.#look(), HEARTBEAT_MS / 2).unref();
    void this.#make();
  }

  /** The last sequence that was given; what is lower has been given, or was removed before. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#watchdog);
    this.#letGo();
  }

  async #make(): Promise<void> {
    if (this.#making || this.#stopped) return;
    this.#making = true;
    this.#letGo();
    const { messages, filter, headersOnly } = this.#options;
    if (this.#lastSeq > 0 && Date.now() - this.#heardAt > MAY_BE_AWAY_MS && this.#options.onRestart) {
      this.stop();
      this.#options.onRestart();
      return;
    }
    const inbox = this.#link.listen((msg) => this.#receive(inbox.subject, msg));
    this.#inbox = inbox;
    this.#deliveries = 0;
    const call = { deadline: Date.now() + MADE_WITHIN_MS };
    try {
      if (this.#start === 'new') {
        this.#lastSeq = await messages.lastSeq(call);
        this.#start = this.#lastSeq + 1;
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
      // The watchdog finds that nothing is heard and tries again.
      this.#letGo();
      await sleep(PAUSE_MS);
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
    if (!this.#knowsPlace || !mayLack(filter, message, next)) return false;
    return filter !== messages.all || !messages.isEmpty(next, message.seq);
  }

  /** Of subjects' last messages most sequences are missing. */
  get #knowsPlace(): boolean {
    return typeof this.#start === 'number';
  }

  #give(message: StoredMessage, pending: number): void {
    // A consumer on a server that is behind begins with what was given before.
    if (message.seq > this.#lastSeq) {
      this.#options.onMessage(message);
      this.#lastSeq = message.seq;
    }
    if (pending === 0) this.#options.onCaughtUp?.();
  }

  /** Gives what is held, and before it what the leader has and the consumer did not give. */
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

  /** Gives at once what there is up to a sequence that the leader has, if it is little: the consumer may have passed over the last one. */
  async fillUpTo(seq: number, call: EngineCall): Promise<void> {
    if (this.#held || !this.#knowsPlace) return;
    const { messages, filter } = this.#options;
    const lacking = await missing(messages, filter, this.#lastSeq + 1, seq + 1, call);
    if (this.#held || this.#stopped) return;
    for (const missed of lacking) this.#give(missed, 1);
    if (lacking.length === FEW_MESSAGES) void this.#make();
  }

  /** A heartbeat, or a question of flow control, which is to be answered. */
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
    if (this.#consumer) this.#link.tell(`CONSUMER.DELETE.${this.#options.messages.stream}.${this.#consumer}`);
    this.#consumer = '';
  }
}

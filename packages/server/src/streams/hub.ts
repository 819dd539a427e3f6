/**
 * All live streams and their topics. They share waits and one heartbeat. After a shutdown, readers can resume on
 * another server.
 */
import type { ServerResponse } from 'node:http';
import { Refusal } from '../http/refusal.ts';
import { accountOf } from '../limits/account.ts';
import type { Shares } from '../limits/shares.ts';
import type { Metrics } from '../metrics.ts';
import { EventStream, STREAM_HEAD, type Subscription } from './event-stream.ts';
import { Fanout } from './fanout.ts';
import { type Poll, poll } from './poll.ts';
import { Reads } from './reads.ts';
import type { RunHints } from './run-hints.ts';
import type { StreamSource } from './source.ts';
import { Topic } from './topic.ts';

const BEAT_MS = 15_000;

/** A named topic. Its source is opened for the first reader. */
export interface TopicName {
  key: string;
  /** The tenant of the view through which the topic is read; `null` for the operator's view. */
  tenantId: string | null;
  open(): StreamSource;
}

export class Hub {
  readonly #topics = new Map<string, Topic>();
  readonly #streams = new Set<EventStream>();
  readonly hints: RunHints;
  readonly #metrics: Metrics;
  readonly #reads: Reads;
  readonly #fanout = new Fanout();
  readonly #mostStreams: number;
  readonly #timer: NodeJS.Timeout;
  /** Topics that had no reader at the last heartbeat. They are kept for readers that reconnect. */
  #idle = new Set<string>();
  #isClosed = false;

  constructor(hints: RunHints, metrics: Metrics, shares: Shares, mostStreams: number) {
    this.hints = hints;
    this.#reads = new Reads(shares);
    this.#metrics = metrics;
    this.#mostStreams = mostStreams;
    this.#timer = setInterval(() => this.#beat(), BEAT_MS);
    this.#timer.unref();
  }

  topic({ key, tenantId, open }: TopicName): Topic {
    const known = this.#topics.get(key);
    if (known) return known;
    const topic = new Topic(open(), { account: accountOf({ tenantId }), reads: this.#reads, fanout: this.#fanout });
    this.#topics.set(key, topic);
    return topic;
  }

  /** Opens a live stream. */
  stream(response: ServerResponse, subscriptions: readonly Subscription[]): void {
    if (this.#isClosed) throw new Refusal(503, 'UNAVAILABLE', 'The server is stopping');
    if (this.#streams.size >= this.#mostStreams)
      throw new Refusal(503, 'OVERLOADED', `${this.#mostStreams} streams are open already; close some`);
    // A stream in response to a HEAD request would stay open without anything ever being written to it.
    if (response.req.method === 'HEAD') {
      response.writeHead(200, STREAM_HEAD).end();
      return;
    }
    const stream = new EventStream(response, subscriptions, (ended) => {
      this.#streams.delete(ended);
      this.#metrics.openStreams = this.#streams.size;
    });
    this.#streams.add(stream);
    this.#metrics.openStreams = this.#streams.size;
  }

  /** Handles a long poll. */
  poll<Page>(wanted: Poll<Page>): Promise<Page> {
    return poll(wanted, () => this.#isClosed);
  }

  #beat(): void {
    for (const stream of this.#streams) stream.beat();
    const idle = [...this.#topics].filter(([, topic]) => topic.isIdle).map(([key]) => key);
    for (const key of idle.filter((it) => this.#idle.has(it))) {
      this.#topics.get(key)!.close();
      this.#topics.delete(key);
    }
    this.#idle = new Set(idle);
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const stream of this.#streams) stream.finish();
    for (const topic of this.#topics.values()) topic.close();
  }
}

/**
 * The one live stream of the page, for all its views. When it breaks off, or a view comes or goes, it is opened again and
 * each topic goes on after the last thing that was heard of it.
 */
import { computed, signal } from '@preact/signals';
import {
  chunksOf,
  decodePosition,
  encodePosition,
  eventsOf,
  LAST_EVENT_ID_HEADER,
  PROBLEM_EVENT,
  RESET_EVENT,
  type ServerEvent,
} from '@tidemark/wire';
import { useEffect } from 'preact/hooks';
import { type Asking, request } from './http.ts';

export type LiveState = 'live' | 'connecting' | 'reconnecting' | 'paused' | 'still';

export interface Subscription {
  /** As `/v1/stream` names it. */
  topic: string;
  /** Whose it is, where the topic alone does not say. */
  tenantId?: string;
  /** The last thing known already; `null` for what is new from now on. */
  after: string | null;
  onItem(item: unknown): void;
  /** What lies between is not known any more: read the whole anew. */
  onReset?(): void;
}

/** Views come and go together: one opening serves them all. */
const GATHER_MS = 50;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 10_000;
const LONGEST_SILENCE_MS = 40_000;
/** A hidden page lets go of its connection after a while. */
const HIDDEN_MS = 60_000;

const connection = signal<'live' | 'connecting' | 'reconnecting' | 'still'>('still');
const isPaused = signal(false);
const isHidden = signal(false);

export const liveState = computed<LiveState>(() => (isPaused.value ? 'paused' : connection.value));

const subscriptions = new Set<Subscription>();
/** Where each topic stands. */
const cursors = new Map<string, string | null>();
let opening = new AbortController();
let timer: ReturnType<typeof setTimeout> | undefined;

/** Hears of a topic for as long as the component is shown; `null` hears of nothing. */
export function useTopic(subscription: Subscription | null, key: string): void {
  useEffect(() => (subscription ? subscribe(subscription) : undefined), [key]);
}

function subscribe(subscription: Subscription): () => void {
  subscriptions.add(subscription);
  if (!cursors.has(subscription.topic)) cursors.set(subscription.topic, subscription.after);
  reopen(GATHER_MS);
  return () => {
    subscriptions.delete(subscription);
    if ([...subscriptions].some(({ topic }) => topic === subscription.topic)) return;
    cursors.delete(subscription.topic);
    reopen(GATHER_MS);
  };
}

export function toggleLive(): void {
  isPaused.value = !isPaused.value;
  reopen(0);
}

export function startStream(): void {
  let hiding: ReturnType<typeof setTimeout> | undefined;
  document.addEventListener('visibilitychange', () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(() => hide(true), HIDDEN_MS);
    else if (isHidden.value) hide(false);
  });
}

function hide(hidden: boolean): void {
  isHidden.value = hidden;
  reopen(0);
}

function reopen(afterMs: number): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    opening.abort();
    opening = new AbortController();
    void keepOpen(opening.signal);
  }, afterMs);
}

async function keepOpen(signal: AbortSignal): Promise<void> {
  if (cursors.size === 0 || isPaused.value || isHidden.value) {
    connection.value = 'still';
    return;
  }
  connection.value = 'connecting';
  for (let retryMs = FIRST_RETRY_MS; !signal.aborted; retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS)) {
    const silence = new Silence();
    try {
      const asking = { ...whatToHear(), signal: AbortSignal.any([signal, silence.signal]) };
      const response = await request('GET /v1/stream', asking);
      connection.value = 'live';
      for await (const event of eventsOf(chunksOf(response.body!, silence))) {
        if (signal.aborted) return;
        if (event.event !== PROBLEM_EVENT) retryMs = FIRST_RETRY_MS;
        take(event);
      }
    } catch {
      // The badge says so; what was missed comes once it is open again.
    } finally {
      silence.stop();
    }
    if (signal.aborted) return;
    connection.value = 'reconnecting';
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}

/** Notices that a connection has died without a word, as when a laptop slept: the server beats every 15 seconds. */
class Silence {
  readonly #tooLong = new AbortController();
  readonly signal = this.#tooLong.signal;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    this.end();
  }

  /** Something was heard. */
  readonly end = (): void => {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#tooLong.abort(), LONGEST_SILENCE_MS);
  };

  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** The topics and where they stand; topics that are all of one tenant are heard through its view. */
function whatToHear(): Asking<'GET /v1/stream'> {
  const known = [...cursors].filter(([, cursor]) => cursor !== null);
  const [tenant, ...others] = new Set([...subscriptions].map(({ tenantId }) => tenantId));
  return {
    query: { topics: [...cursors.keys()].join(','), tenant: others.length === 0 ? tenant : undefined },
    headers: known.length > 0 ? { [LAST_EVENT_ID_HEADER]: encodePosition(known) } : {},
  };
}

function take({ id, event, data }: ServerEvent): void {
  if (id !== null) for (const [topic, cursor] of decodePosition(id)) if (cursors.has(topic)) cursors.set(topic, cursor);
  const { topic, item } = JSON.parse(data) as { topic?: string; item?: unknown };
  for (const subscription of [...subscriptions]) {
    if (event === RESET_EVENT && (topic === undefined || topic === subscription.topic)) subscription.onReset?.();
    else if (item !== undefined && topic === subscription.topic) subscription.onItem(item);
  }
}

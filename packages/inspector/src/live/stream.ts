/**
 * The live stream of the page, shared by all views. When it is interrupted or the topics change, it is opened again,
 * and each topic resumes after the last item received.
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
import { type RequestOptions, request } from './http.ts';
import { onRecovery } from './outage.ts';

export type LiveState = 'live' | 'connecting' | 'reconnecting' | 'paused' | 'static';

export interface Subscription {
  /** The topic's name in `/v1/stream`. */
  topic: string;
  /** The tenant, if the topic alone does not determine it. */
  tenantId?: string;
  /** The id of the last known item; `null` to receive only new items. */
  after: string | null;
  onItem(item: unknown): void;
  /** Called when items were lost, so that the view reads its data again. */
  onReset?(): void;
}

/** Views often change together, so the stream is opened once for all of them. */
const DEBOUNCE_MS = 50;
const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 10_000;
const MAX_SILENCE_MS = 40_000;
/** How long a hidden page keeps its connection. */
const HIDDEN_MS = 60_000;

const connection = signal<'live' | 'connecting' | 'reconnecting' | 'static'>('static');
const isPaused = signal(false);
const isHidden = signal(false);

export const liveState = computed<LiveState>(() => (isPaused.value ? 'paused' : connection.value));

const subscriptions = new Set<Subscription>();
/** The cursor of each topic. */
const cursors = new Map<string, string | null>();
let opening = new AbortController();
let timer: ReturnType<typeof setTimeout> | undefined;

/** Subscribes to a topic while the component is shown; `null` subscribes to nothing. */
export function useTopic(subscription: Subscription | null, key: string): void {
  useEffect(() => (subscription ? subscribe(subscription) : undefined), [key]);
}

function subscribe(subscription: Subscription): () => void {
  subscriptions.add(subscription);
  if (!cursors.has(subscription.topic)) cursors.set(subscription.topic, subscription.after);
  reopen(DEBOUNCE_MS);
  return () => {
    subscriptions.delete(subscription);
    if ([...subscriptions].some(({ topic }) => topic === subscription.topic)) return;
    cursors.delete(subscription.topic);
    reopen(DEBOUNCE_MS);
  };
}

export function toggleLive(): void {
  isPaused.value = !isPaused.value;
  reopen(0);
}

export function startStream(): void {
  let hiding: ReturnType<typeof setTimeout> | undefined;
  onRecovery(() => {
    if (connection.value === 'reconnecting') reopen(DEBOUNCE_MS);
  });
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
    connection.value = 'static';
    return;
  }
  connection.value = 'connecting';
  for (let retryMs = FIRST_RETRY_MS; !signal.aborted; retryMs = Math.min(retryMs * 2, MAX_RETRY_MS)) {
    const silence = new SilenceTimer();
    try {
      const options = { ...streamRequest(), signal: AbortSignal.any([signal, silence.signal]) };
      const response = await request('GET /v1/stream', options);
      connection.value = 'live';
      for await (const event of eventsOf(chunksOf(response.body!, silence))) {
        if (signal.aborted) return;
        if (event.event !== PROBLEM_EVENT) retryMs = FIRST_RETRY_MS;
        dispatch(event);
      }
    } catch {
      // The badge shows the failure, and missed items arrive after the stream has been reopened.
    } finally {
      silence.stop();
    }
    if (signal.aborted) return;
    connection.value = 'reconnecting';
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
}

/** Aborts a dead connection, for example after a laptop slept. The server sends a heartbeat every 15 seconds. */
class SilenceTimer {
  readonly #tooLong = new AbortController();
  readonly signal = this.#tooLong.signal;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    this.end();
  }

  /** Restarts the timer after each chunk. `chunksOf` calls it. */
  readonly end = (): void => {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#tooLong.abort(), MAX_SILENCE_MS);
  };

  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** Builds the request for all topics with their cursors. Uses the tenant's view if all topics belong to one tenant. */
function streamRequest(): RequestOptions<'GET /v1/stream'> {
  const known = [...cursors].filter(([, cursor]) => cursor !== null);
  const [tenant, ...others] = new Set([...subscriptions].map(({ tenantId }) => tenantId));
  return {
    query: { topics: [...cursors.keys()].join(','), tenant: others.length === 0 ? tenant : undefined },
    headers: known.length > 0 ? { [LAST_EVENT_ID_HEADER]: encodePosition(known) } : {},
  };
}

function dispatch({ id, event, data }: ServerEvent): void {
  if (id !== null) for (const [topic, cursor] of decodePosition(id)) if (cursors.has(topic)) cursors.set(topic, cursor);
  const { topic, item } = JSON.parse(data) as { topic?: string; item?: unknown };
  for (const subscription of [...subscriptions]) {
    if (event === RESET_EVENT && (topic === undefined || topic === subscription.topic)) subscription.onReset?.();
    else if (item !== undefined && topic === subscription.topic) subscription.onItem(item);
  }
}

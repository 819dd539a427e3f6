/** The tasks, updates and steering of a session, kept up to date while its page is open. */
import { signal } from '@preact/signals';
import type { SessionPage, StateUpdate, SteeringEvent, TaskState } from '@tidemark/core/portable';
import type { Tenant } from '../live/tenant.ts';
import { listSteering, listTasks, listUpdates } from './api.ts';

const PAGE = 5_000;
/** The maximum number of log entries kept in the browser. */
const MOST = 50_000;
/**
 * The delay before tasks and steering are read again. They have no stream, so they are read after each update and
 * periodically.
 */
const REFRESH_DELAY_MS = 500;
const POLL_MS = 5_000;

export class Session {
  readonly sessionId: string;
  readonly tenant: Tenant;
  readonly tasks = signal<readonly TaskState[]>([]);
  readonly updates = signal<readonly StateUpdate[]>([]);
  readonly steering = signal<readonly SteeringEvent[]>([]);
  readonly isLoaded = signal(false);
  readonly error = signal<unknown>(undefined);
  readonly #known = new Set<string>();
  readonly #asking = new AbortController();
  readonly #polling: ReturnType<typeof setInterval>;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(sessionId: string, tenant: Tenant) {
    this.sessionId = sessionId;
    this.tenant = tenant;
    void this.load();
    this.#polling = setInterval(() => {
      if (!document.hidden) this.refresh();
    }, POLL_MS);
  }

  async load(): Promise<void> {
    const { signal } = this.#asking;
    try {
      const read = (sinceId: string | undefined) =>
        listUpdates(this.sessionId, { sinceId, limit: PAGE }, this.tenant, signal);
      const [updates] = await Promise.all([readLog(read, undefined), this.#readRest()]);
      this.#add(updates);
      this.isLoaded.value = true;
      this.error.value = undefined;
    } catch (error) {
      if (!signal.aborted) this.error.value = error;
    }
  }

  /** The id of the last update; `null` if there are none. */
  get lastUpdateId(): string | null {
    return this.updates.peek().at(-1)?.updateId ?? null;
  }

  receive(update: StateUpdate): void {
    this.#add([update]);
    this.refresh();
  }

  /** Schedules a read of tasks and steering. */
  refresh(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      // After a failure the page keeps the data that it shows. The next refresh may succeed.
      this.#readRest().catch(() => {});
    }, REFRESH_DELAY_MS);
  }

  close(): void {
    this.#asking.abort();
    clearInterval(this.#polling);
    clearTimeout(this.#timer);
  }

  async #readRest(): Promise<void> {
    const { signal } = this.#asking;
    const read = (sinceId: string | undefined) =>
      listSteering(this.sessionId, { sinceId, limit: PAGE }, this.tenant, signal);
    const last = this.steering.peek().at(-1)?.eventId;
    const [tasks, steering] = await Promise.all([listTasks(this.sessionId, this.tenant, signal), readLog(read, last)]);
    this.tasks.value = tasks;
    const known = new Set(this.steering.peek().map(({ eventId }) => eventId));
    const fresh = steering.filter(({ eventId }) => !known.has(eventId));
    if (fresh.length > 0) this.steering.value = [...this.steering.peek(), ...fresh];
  }

  #add(updates: readonly StateUpdate[]): void {
    const fresh = updates.filter(({ updateId }) => !this.#known.has(updateId));
    for (const { updateId } of fresh) this.#known.add(updateId);
    if (fresh.length > 0) this.updates.value = [...this.updates.peek(), ...fresh];
  }
}

/** Reads all items after an id, page by page. */
async function readLog<T>(
  read: (sinceId: string | undefined) => Promise<SessionPage<T>>,
  after: string | undefined,
): Promise<T[]> {
  const items: T[] = [];
  for (let sinceId = after; items.length < MOST; ) {
    const page = await read(sinceId);
    items.push(...page.items);
    if (page.next === undefined) break;
    sinceId = page.next;
  }
  return items;
}

/**
 * Long polls: a poll reads and, if there are no new items, waits and reads again until the time is up. A topic may also
 * wake its waiters when there are no new items, so being woken does not end the poll.
 */
import type { ServerResponse } from 'node:http';
import type { Waiter } from './source.ts';
import type { Topic } from './topic.ts';

export interface Poll<Page> {
  topic: Topic;
  /** The cursor after which the last read found nothing. */
  after: string | null;
  waitMs: number;
  response: ServerResponse;
  read(): Promise<Page>;
  isEmpty(page: Page): boolean;
}

/**
 * Returns the first page with items, or an empty page when the time is up, the caller has disconnected or the server is
 * stopping.
 */
export async function poll<Page>(
  { topic, after, waitMs, response, read, isEmpty }: Poll<Page>,
  isClosing: () => boolean,
): Promise<Page> {
  const until = performance.now() + waitMs;
  const waiter = new PollWaiter();
  const wake = () => waiter.wake();
  response.on('close', wake);
  topic.add(waiter);
  try {
    for (;;) {
      // The wait starts before the read, so that events stored in between are not missed.
      const woken = waiter.next();
      const page = await read();
      const leftMs = until - performance.now();
      if (!isEmpty(page) || leftMs <= 0 || response.destroyed || isClosing()) return page;
      topic.listen(after);
      await atMost(woken, leftMs);
    }
  } finally {
    topic.remove(waiter);
    response.off('close', wake);
  }
}

/** A waiter whose promise resolves when its topic wakes it. */
class PollWaiter implements Waiter {
  #resolve: () => void = () => {};

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  wake(): void {
    this.#resolve();
  }
}

async function atMost(woken: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  // The timer may fire up to a millisecond early.
  const timeUp = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.ceil(ms));
  });
  await Promise.race([woken, timeUp]);
  clearTimeout(timer);
}

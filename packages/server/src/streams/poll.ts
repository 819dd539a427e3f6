/**
 * Long polls: read, and while there is nothing wait for more and read again until the time is up. A topic also wakes its waiters when it
 * only looks, so that waking alone is no reason to answer.
 */
import type { ServerResponse } from 'node:http';
import type { Waiter } from './source.ts';
import type { Topic } from './topic.ts';

export interface Poll<Page> {
  topic: Topic;
  /** Where nothing more was found. */
  after: string | null;
  waitMs: number;
  response: ServerResponse;
  read(): Promise<Page>;
  isEmpty(page: Page): boolean;
}

/** The first page that is not empty, or an empty one once the time is up, the caller is gone or the server is stopping. */
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
      // Waits from before the read on, so that what is stored in between is not missed.
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

/** Resolves whoever waits when its topic wakes it. */
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
  // A timer may fire up to a millisecond early.
  const timeUp = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.ceil(ms));
  });
  await Promise.race([woken, timeUp]);
  clearTimeout(timer);
}

/**
 * Opens a store at each URL it receives, writes to every domain, closes it, and reports what it read or why it failed.
 */
import { inspect } from 'node:util';
import type { Store } from '@tidemark/core';
import { open } from 'tidemark';

export interface Opened {
  /** The number of events in the shared run, at the end. */
  events: number;
  error?: string;
}

async function visit(url: string): Promise<Opened> {
  let store: Store | undefined;
  try {
    store = await open(url);
    const own = String(process.pid);
    await store.kv.put(own, { opened: 'yes' });
    await store.agents.saveMemoryState(own, { opened: true });
    await store.artifacts.putText(own, { scope: { sessionId: own } });
    await store.runs.handle('shared').append('Opened', { own });
    return { events: await store.runs.headSeq('shared') };
  } catch (error) {
    return { events: 0, error: inspect(error) };
  } finally {
    await store?.close();
  }
}

process.on('message', async (url: string) => {
  process.send!(await visit(url));
});

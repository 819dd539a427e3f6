/** Opens a store when it is told where, writes to every domain, closes it, and tells what it saw or what failed. */
import { inspect } from 'node:util';
import type { Store } from '@tidemark/core';
import { type NatsOptions, natsStore } from '@tidemark/nats';
import { type PostgresOptions, postgresStore } from '@tidemark/postgres';
import { type RedisOptions, redisStore } from '@tidemark/redis';
import { sqliteStore } from '@tidemark/sqlite';

/** One engine's options. */
export interface Place {
  sqlite?: string;
  postgres?: PostgresOptions;
  redis?: RedisOptions;
  nats?: NatsOptions;
}

function openPlace({ sqlite, postgres, redis, nats }: Place): Promise<Store> {
  if (postgres) return postgresStore(postgres);
  if (redis) return redisStore(redis);
  if (nats) return natsStore(nats);
  return sqliteStore(sqlite!);
}

export interface Opened {
  /** How many events the run that all share had, at the end. */
  events: number;
  error?: string;
}

async function visit(place: Place): Promise<Opened> {
  let store: Store | undefined;
  try {
    store = await openPlace(place);
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

process.on('message', async (place: Place) => {
  process.send!(await visit(place));
});

/** Event stores, each through its public API. */
import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { makeEvents } from '../events.ts';
import { type EventsContender, load } from './kinds.ts';

interface EmmettConsumer {
  reactor(options: object): unknown;
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface EmmettModule {
  getPostgreSQLEventStore(url: string): {
    appendToStream(stream: string, events: object[]): Promise<unknown>;
    readStream(stream: string): Promise<{ events: unknown[] }>;
    aggregateStream(stream: string, options: object): Promise<{ state: { events: number } }>;
    consumer(): EmmettConsumer;
    schema: { migrate(): Promise<unknown> };
    close(): Promise<void>;
  };
}

export async function emmett(url: string): Promise<EventsContender> {
  const { getPostgreSQLEventStore } = await load<EmmettModule>('@event-driven-io/emmett-postgresql');
  const store = getPostgreSQLEventStore(url);
  await store.schema.migrate();
  const eventsOf = (runId: string, count: number) =>
    makeEvents(count, () => runId).map(({ eventType: type, payload, ...metadata }) => ({
      ...{ type, data: payload, metadata },
    }));
  /** Concurrent appends to one stream conflict, so a caller retries. */
  const append = async (runId: string, count: number): Promise<unknown> => {
    const events = eventsOf(runId, count);
    for (;;) {
      try {
        return await store.appendToStream(runId, events);
      } catch (error) {
        if (!String((error as Error).message).includes('does not match')) throw error;
      }
    }
  };
  return {
    name: 'emmett',
    append: (runId) => append(runId, 1),
    appendMany: append,
    read: async (runId) => (await store.readStream(runId)).events.length,
    /** Its consumers read every stream, so the handler selects the run. */
    async follow(runId, received) {
      const consumer = store.consumer();
      consumer.reactor({
        processorId: `follow-${runId}`,
        startFrom: 'END',
        eachMessage: ({ metadata }: { metadata: { streamName: string } }) => {
          if (metadata.streamName === runId) received();
        },
      });
      const ended = consumer.start();
      return async () => {
        await consumer.stop();
        await ended;
      };
    },
    snapshot: (runId) =>
      store.aggregateStream(runId, {
        initialState: () => ({ events: 0 }),
        evolve: ({ events }: { events: number }) => ({ events: events + 1 }),
      }),
    close: () => store.close(),
  };
}

/** The files of message-db's database, in the order in which its own `install.sh` runs them. */
const MESSAGE_DB_FILES = [
  'roles/message-store',
  'schema/message-store',
  'extensions/pgcrypto',
  'tables/messages',
  'types/message',
  ...['message-store-version', 'hash-64', 'acquire-lock', 'category', 'is-category', 'id', 'cardinal-id'].map(
    (name) => `functions/${name}`,
  ),
  ...['stream-version', 'write-message', 'get-stream-messages', 'get-category-messages', 'get-last-stream-message'].map(
    (name) => `functions/${name}`,
  ),
  ...['messages-id', 'messages-stream', 'messages-category'].map((name) => `indexes/${name}`),
];

const UNIQUE_VIOLATION = '23505';

/** The functions of message-db, called as its documentation describes. Every run is a stream of one category. */
export async function messageDb(url: string): Promise<EventsContender> {
  const pool = new pg.Pool({ connectionString: url, options: '-c search_path=message_store,public' });
  for (const file of MESSAGE_DB_FILES) {
    const path = new URL(import.meta.resolve(`@eventide/message-db/database/${file}.sql`));
    await pool.query(await readFile(path, 'utf8'));
  }
  const write = async (client: pg.Pool | pg.PoolClient, runId: string, id: string = crypto.randomUUID()) => {
    const { eventType, payload, ...metadata } = makeEvents(1, () => runId)[0]!;
    const values = [id, runId, eventType, JSON.stringify(payload), JSON.stringify(metadata)];
    return client.query({ name: 'write', text: 'SELECT write_message($1, $2, $3, $4, $5)', values });
  };
  return {
    name: 'message-db',
    append: (runId) => write(pool, runId),
    async appendOnce(runId, key) {
      try {
        await write(pool, runId, key);
      } catch (error) {
        if ((error as { code?: string }).code !== UNIQUE_VIOLATION) throw error;
      }
    },
    async appendMany(runId, count) {
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        await Promise.all(Array.from({ length: count }, () => write(client, runId)));
        await client.query('COMMIT');
      } finally {
        client.release();
      }
    },
    async read(runId) {
      const text = 'SELECT * FROM get_stream_messages($1, 0, 10000)';
      const { rows } = await pool.query<{ data: string; metadata: string }>({ name: 'read', text, values: [runId] });
      return rows.map(({ data, metadata }) => [JSON.parse(data), JSON.parse(metadata)] as const).length;
    },
    close: () => pool.end(),
  };
}

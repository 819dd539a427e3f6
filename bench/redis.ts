/** Redis: our store against the bare client sending the same commands, on one server that syncs every write. */
import { createHash } from 'node:crypto';
import { createClient } from '@redis/client';
import { redisStore } from '@tidemark/redis';
import { startOwnServer } from '../scripts/servers/index.ts';
import { appendAll, makeEvents } from './events.ts';
import { atLeast, compareRates, type Figure } from './measure.ts';

const CALLERS = 64;
const KEYS = 1_000;
const ROUND = 25_600;
const ROUNDS = 15;

/** The specification's own script (document 003). */
const SWAP = scriptOf(`
local current = redis.call('HGET', KEYS[1], ARGV[1])
if current == ARGV[2] then
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
    return 1
else
    return 0
end`);

/** A minimal append. */
const APPEND = scriptOf(`
local seq = redis.call('INCR', KEYS[1])
redis.call('XADD', KEYS[2], '*', 'seq', seq, 'body', ARGV[1])
return seq`);

function scriptOf(text: string): { text: string; sha: string } {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** Calls `work` `times` times, with a number of concurrent callers. */
async function repeat(times: number, work: (index: number) => Promise<unknown>): Promise<number> {
  let next = 0;
  const call = async () => {
    while (next < times) await work(next++);
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
  return times;
}

export async function benchRedis(report: (line: string) => void, quick: boolean): Promise<Figure[]> {
  const server = await startOwnServer('redis');
  const raw = createClient({ url: server.url, commandOptions: { timeout: 0 } });
  raw.on('error', () => {});
  await raw.connect();
  const store = await redisStore({ url: server.url });
  try {
    const rounds = quick ? 3 : ROUNDS;
    const keyOf = (index: number) => `state.${(index * 7_919) % KEYS}`;
    report(`Redis ${server.version}: making ${KEYS} records`);
    for (const { text } of [SWAP, APPEND]) await raw.scriptLoad(text);
    await repeat(KEYS, (index) => store.kv.put(keyOf(index), { state: 'pending', worker: 'none' }));
    await repeat(KEYS, (index) => raw.hSet(keyOf(index), { state: 'pending', worker: 'none' }));
    const compare = (ours: (index: number) => Promise<unknown>, bare: (index: number) => Promise<unknown>) =>
      compareRates(
        () => () => repeat(ROUND, ours),
        () => () => repeat(ROUND, bare),
        rounds,
      );

    const figures: Figure[] = [];
    // Appends are measured with every write flushed, fields of records with both settings. The first setting is more
    // common.
    for (const flushed of ['everysec', 'always']) {
      await raw.configSet('appendfsync', flushed);
      report(`fields of records, appendfsync ${flushed}`);
      const of = (name: string) => `${name}, 64 callers, ${flushed}`;
      const get = await compare(
        (index) => store.kv.getField(keyOf(index), 'state'),
        (index) => raw.hGet(keyOf(index), 'state'),
      );
      const set = await compare(
        (index) => store.kv.setField(keyOf(index), 'worker', `worker-${index}`),
        (index) => raw.hSet(keyOf(index), 'worker', `worker-${index}`),
      );
      const swap = await compare(
        (index) => store.kv.compareAndSwap(keyOf(index), 'state', 'pending', 'pending'),
        (index) => raw.evalSha(SWAP.sha, { keys: [keyOf(index)], arguments: ['state', 'pending', 'pending'] }),
      );
      figures.push(
        atLeast(0.8, of('getField'), 'calls/s', get),
        atLeast(0.5, of('setField'), 'calls/s', set),
        atLeast(0.8, of('compareAndSwap'), 'calls/s', swap),
      );
    }
    const appends = async (runOf: (index: number) => string) =>
      compareRates(
        () => {
          const events = makeEvents(ROUND / 2, runOf);
          return () => appendAll((event) => store.runs.appendEvent(event), events, CALLERS);
        },
        () => {
          const events = makeEvents(ROUND / 2, runOf).map((event) => ({
            run: event.runId,
            body: JSON.stringify(event),
          }));
          return () =>
            repeat(events.length, (index) => {
              const { run, body } = events[index]!;
              return raw.evalSha(APPEND.sha, { keys: [`{${run}}:seq`, `{${run}}:log`], arguments: [body] });
            });
        },
        rounds,
      );
    report('appends over 1 000 runs');
    const spread = await appends((index) => `run-${index % KEYS}`);
    report('appends to one hot run');
    const hot = await appends(() => 'hot');
    return [
      ...figures,
      atLeast(0.4, 'append, 64 callers, 1 000 runs', 'events/s', spread),
      atLeast(0.4, 'append, 64 callers, one hot run', 'events/s', hot),
    ];
  } finally {
    await store.close();
    raw.destroy();
    await server.stop();
  }
}

/**
 * Growth on Redis and NATS with the number of runs. The bare client does single commands of the same kind on as many
 * keys: a conditional write for an append, a claim and a sweep, and a read of one key for the others.
 */
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { createClient } from '@redis/client';
import { natsStore } from '@tidemark/nats';
import { redisStore } from '@tidemark/redis';
import { type ServerName, startOwnServer } from '../../scripts/servers/index.ts';
import { STUCK } from '../jobs.ts';
import {
  APPENDS,
  CALLERS,
  CLAIMS,
  fill,
  nextRound,
  ourSide,
  READS,
  repeat,
  type Side,
  type Size,
  spread,
  WORKERS,
} from './sides.ts';
import type { Sides } from './sqlite.ts';

/** A bare client with one value under each key. */
interface Bare {
  write(key: number): Promise<unknown>;
  read(key: number): Promise<unknown>;
  close(): Promise<void>;
}

/** About as long as an event. */
const BODY = 'e'.repeat(600);

export function redisSides(size: Size, report: (line: string) => void): Promise<Sides> {
  return sides('redis', size, report, (url) => redisStore({ url, timeoutMs: 60_000 }), bareRedis);
}

export function natsSides(size: Size, report: (line: string) => void): Promise<Sides> {
  return sides('nats', size, report, (url) => natsStore({ url, timeoutMs: 60_000 }), bareNats);
}

async function sides(
  name: ServerName,
  size: Size,
  report: (line: string) => void,
  open: (url: string) => ReturnType<typeof natsStore>,
  connectBare: (url: string) => Promise<Bare>,
): Promise<Sides> {
  const [server, ofBare] = [await startOwnServer(name), await startOwnServer(name)];
  const filling = await open(server.url);
  await fill(filling, size, report);
  await filling.close();
  const client = await connectBare(ofBare.url);
  await repeat(size.runs, CALLERS, client.write);
  const ours = ourSide(await open(server.url), size, server.started!.pid);
  const bare = { ...bareSide(client, size), pid: ofBare.started!.pid };
  const close = async () => {
    await Promise.all([ours.close(), bare.close()]);
    await Promise.all([server.stop(), ofBare.stop()]);
  };
  return { ours, bare, close };
}

function bareSide(client: Bare, size: Size): Side {
  const rounds =
    (times: number, callers: number, call: (key: number) => Promise<unknown>, units = times) =>
    async () => {
      const at = nextRound() * times;
      return async () => {
        await repeat(times, callers, (index) => call(spread(at + index, size)));
        return units;
      };
    };
  return {
    append: rounds(APPENDS, CALLERS, client.write),
    tail: rounds(READS, WORKERS, client.read),
    snapshot: rounds(READS, WORKERS, client.read),
    claim: rounds(CLAIMS, WORKERS, client.write),
    sweep: rounds(STUCK, WORKERS, client.write, 1),
    close: client.close,
  };
}

async function bareRedis(url: string): Promise<Bare> {
  const client = createClient({ url });
  await client.connect();
  return {
    write: (key) => client.xAdd(`run-${key}`, '*', { body: BODY }),
    read: (key) => client.xRevRange(`run-${key}`, '+', '-', { COUNT: 1 }),
    close: async () => client.destroy(),
  };
}

async function bareNats(url: string): Promise<Bare> {
  const connection = await connect({ servers: url, noAsyncTraces: true });
  const [manager, client] = [await jetstreamManager(connection), jetstream(connection)];
  await manager.streams.add({ name: 'raw', subjects: ['raw.>'] });
  const last = new Map<number, number>();
  return {
    async write(key) {
      const lastSubjectSequence = last.get(key) ?? 0;
      const { seq } = await client.publish(`raw.${key}`, BODY, { expect: { lastSubjectSequence } });
      last.set(key, seq);
    },
    read: (key) => manager.streams.getMessage('raw', { last_by_subj: `raw.${key}` }),
    close: () => connection.close(),
  };
}

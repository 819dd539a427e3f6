/** Sends commands and scripts to buckets and translates their errors (GEN-8). */

import { TidemarkError } from '@tidemark/core';
import type { EngineCall } from '@tidemark/core/engine';
import { sleep } from '@tidemark/core/engine';
import { CallBatcher, type GroupSizes, isOver, ranOut, type Send } from './call-batcher.ts';
import type { Argument, Connection, Reply } from './connection.ts';
import { replyCode, translate } from './errors.ts';
import type { Settings } from './options.ts';
import { companionOf } from './record-sums.ts';
import { COMMIT, FIELDS, RECORDS, type Script, SET, WRITE } from './scripts.ts';
import { LANES, type Route, type Servers } from './servers.ts';

/**
 * Batch sizes per lane, measured with 64 callers. While the server executes the batch of one lane, the client prepares
 * the batch of the other.
 */
const COMMITS: GroupSizes = { calls: 32, underWay: 1 };
const STEPS: GroupSizes = { calls: 64, underWay: 1 };
const LOOKS: GroupSizes = { calls: 64, underWay: 1 };

const NO_ARGUMENTS: Argument[] = [];

export class Commands {
  readonly #servers: Servers;
  readonly #replicas: Pick<Settings, 'waitReplicas' | 'waitReplicasMs'>;
  /** The `WAIT` in progress on each connection, which concurrent writes share. */
  readonly #waits = new WeakMap<Connection, Promise<Reply>>();
  /** Batchers per script, on a single server only. In a Cluster, one slow slot would delay the others in its batch. */
  readonly #batchers: ReadonlyMap<Script, readonly CallBatcher[]> | null;
  #underWay = 0;

  constructor(servers: Servers, settings: Pick<Settings, 'cluster' | 'waitReplicas' | 'waitReplicasMs'>) {
    this.#servers = servers;
    this.#replicas = settings;
    this.#batchers = settings.cluster
      ? null
      : new Map([
          [SET, lanes(STEPS, (lane) => (keys, args, call) => this.write(lane, SET, keys, args, call))],
          [WRITE, lanes(STEPS, (lane) => (keys, args, call) => this.write(lane, WRITE, keys, args, call))],
          [COMMIT, lanes(COMMITS, (lane) => (keys, args, call) => this.write(lane, COMMIT, keys, args, call))],
          [FIELDS, lanes(LOOKS, (lane) => (keys, args, call) => this.#fields(lane, keys, args, call))],
          [RECORDS, lanes(LOOKS, (lane) => (keys, _args, call) => this.#records(lane, keys, call))],
        ]);
  }

  /** Sends a command that only reads. */
  read(bucket: number, args: Argument[], call: EngineCall): Promise<Reply> {
    return this.#reach('read', bucket, call, (route) => route.send(args));
  }

  /** Runs a script that only reads. */
  look(bucket: number, script: Script, keys: string[], args: Argument[], call: EngineCall): Promise<Reply> {
    return this.#reach('read', bucket, call, (route) => evaluate(route, script, keys, args));
  }

  /**
   * Runs a script that writes. It is sent only once; the caller retries with the same idempotency key or request id.
   */
  write(bucket: number, script: Script, keys: string[], args: Argument[], call: EngineCall): Promise<Reply> {
    return this.#reach('write', bucket, call, (route) => this.#evaluate(route, script, keys, args, call));
  }

  /** Joins a script call shared with other callers, and resolves to this caller's reply. */
  share(bucket: number, script: Script, keys: string[], args: Argument[], call: EngineCall): Promise<Reply> {
    const batcher = this.#batchers?.get(script)?.[bucket % LANES];
    return batcher ? batcher.join(keys, args, call) : this.#alone(bucket, script, keys, args, call);
  }

  async #alone(bucket: number, script: Script, keys: string[], args: Argument[], call: EngineCall): Promise<Reply> {
    const [reply] = (await this.write(bucket, script, keys, args, call)) as [Reply];
    if (reply instanceof Error) throw translate(reply, 'write');
    return reply;
  }

  /** Reads one field of a record, with its checksum. */
  field(bucket: number, record: string, field: string, call: EngineCall): Promise<Reply> {
    const batcher = this.#batchers?.get(FIELDS)?.[bucket % LANES];
    return batcher ? batcher.join([record], [field], call) : this.read(bucket, pairOf(record, field), call);
  }

  async #fields(lane: number, records: string[], fields: Argument[], call: EngineCall): Promise<Reply> {
    if (records.length > 1) return this.look(lane, FIELDS, records, fields, call);
    return [await this.read(lane, pairOf(records[0]!, String(fields[0])), call)];
  }

  /** Reads all fields of a record, as a flat list. Concurrent callers share a script, which costs less CPU. */
  async record(bucket: number, record: string, call: EngineCall): Promise<Buffer[]> {
    const batcher = this.#batchers?.get(RECORDS)?.[bucket % LANES];
    const shared = batcher && (await batcher.join([record], NO_ARGUMENTS, call));
    return (shared ?? (await this.read(bucket, ['HGETALL', record], call))) as Buffer[];
  }

  async #records(lane: number, records: string[], call: EngineCall): Promise<Reply> {
    if (records.length > 1) return this.look(lane, RECORDS, records, NO_ARGUMENTS, call);
    return [await this.read(lane, ['HGETALL', records[0]!], call)];
  }

  /** Sends a write command that is safe to repeat. */
  put(bucket: number, args: Argument[], call: EngineCall): Promise<Reply> {
    return this.#reach('write', bucket, call, (route) => route.send(args));
  }

  /** Waits until nothing is in progress, including follow-up work of calls that have just ended. */
  async drain(): Promise<void> {
    do {
      while (this.#underWay > 0) await sleep(1);
      await new Promise((resolve) => setImmediate(resolve));
    } while (this.#underWay > 0);
  }

  async #reach(
    kind: 'read' | 'write',
    bucket: number,
    call: EngineCall,
    work: (route: Route) => Promise<Reply>,
  ): Promise<Reply> {
    this.#underWay++;
    try {
      return await this.#servers.reach(bucket, call, work);
    } catch (error) {
      throw translate(error, kind);
    } finally {
      this.#underWay--;
    }
  }

  async #evaluate(route: Route, script: Script, keys: string[], args: Argument[], call: EngineCall): Promise<Reply> {
    if (isOver(call)) throw ranOut();
    const reply = await evaluate(route, script, keys, args);
    if (this.#replicas.waitReplicas > 0) await this.#untilReplicated(route.connection);
    return reply;
  }

  /**
   * Waits for replicas. `WAIT` counts the replicas that have received all writes of the connection it is sent on, so it
   * is sent on the connection of the write.
   */
  async #untilReplicated(connection: Connection): Promise<void> {
    const { waitReplicas, waitReplicasMs } = this.#replicas;
    let wait = this.#waits.get(connection);
    if (!wait) {
      wait = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
        this.#waits.delete(connection);
        return connection.send(['WAIT', String(waitReplicas), String(waitReplicasMs)]);
      });
      this.#waits.set(connection, wait);
    }
    const counted = await wait.catch((error: unknown) => {
      throw unreplicated(`the wait for replicas failed: ${(error as Error).message}`, error);
    });
    if ((counted as number) < waitReplicas)
      throw unreplicated(`${counted} of ${waitReplicas} replicas had it within ${waitReplicasMs} ms`);
  }
}

function pairOf(record: string, field: string): Argument[] {
  return ['HMGET', record, field, companionOf(field)];
}

/** Creates one batcher per lane. */
function lanes(sizes: GroupSizes, sendOn: (lane: number) => Send): CallBatcher[] {
  return Array.from({ length: LANES }, (_, lane) => new CallBatcher(sizes, sendOn(lane)));
}

async function evaluate(route: Route, { sha, text }: Script, keys: string[], args: Argument[]): Promise<Reply> {
  const command = ['EVALSHA', sha, String(keys.length), ...keys, ...args];
  let reply: Reply;
  try {
    reply = await route.send(command);
  } catch (error) {
    // After a restart or failover the server does not know the script, so the script was not executed.
    if (replyCode(error) !== 'NOSCRIPT') throw error;
    reply = await route.send(['EVAL', text, ...command.slice(2)]);
  }
  // A replica executes a script until the first write command, so nothing was written.
  if (Array.isArray(reply) && replyCode(reply[0]) === 'READONLY') throw reply[0];
  return reply;
}

function unreplicated(why: string, cause?: unknown): TidemarkError {
  return new TidemarkError(
    'OUTCOME_UNKNOWN',
    `The write is on the master, but may be lost in a failover: ${why}; retry it`,
    { cause },
  );
}

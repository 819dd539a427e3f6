/** Sends commands and scripts to buckets and translates their errors (GEN-8). */

import { TidemarkError } from '@tidemark/core';
import type { EngineCall } from '@tidemark/core/engine';
import { sleep } from '@tidemark/core/engine';
import { CallBatcher, type Decode, isOver, ranOut, type Send } from './call-batcher.ts';
import type { Connection } from './connection.ts';
import { replyCode, translate } from './errors.ts';
import type { Settings } from './options.ts';
import { type Argument, Encoded } from './protocol/encode.ts';
import { type Reply, ReplyError } from './protocol/replies.ts';
import type { Asker } from './protocol/session.ts';
import { CHANGE, COMMIT, type Script, WRITE } from './scripts.ts';
import type { Route, Servers } from './servers.ts';

/** The maximum number of calls in a script. Other callers of the server wait until it is done. */
const MAX_COMMITS = 64;
const MAX_STEPS = 128;

/** A read under way on a single server. Many of them wait at once, so each has no more than one promise. */
class Question<T> implements Asker {
  readonly #decode: (reply: Reply) => T | Promise<T>;
  readonly #resolve: (answer: T | Promise<T>) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    decode: (reply: Reply) => T | Promise<T>,
    resolve: (answer: T | Promise<T>) => void,
    reject: (error: unknown) => void,
  ) {
    this.#decode = decode;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  answer(reply: Reply): void {
    try {
      if (reply instanceof ReplyError) this.fail(reply);
      else this.#resolve(this.#decode(reply));
    } catch (error) {
      this.#reject(error);
    }
  }

  fail(error: unknown): void {
    this.#reject(translate(error, 'read'));
  }
}

export class Commands {
  readonly #servers: Servers;
  readonly #replicas: Pick<Settings, 'waitReplicas' | 'waitReplicasMs'>;
  /** The `WAIT` in progress on each connection, which concurrent writes share. */
  readonly #waits = new WeakMap<Connection, Promise<Reply>>();
  /** Batchers per script, on a single server only. In a Cluster, one slow slot would delay the others in its batch. */
  readonly #batchers: ReadonlyMap<Script, CallBatcher> | null;
  #underWay = 0;

  constructor(servers: Servers, settings: Pick<Settings, 'cluster' | 'waitReplicas' | 'waitReplicasMs'>) {
    this.#servers = servers;
    this.#replicas = settings;
    const batcher = (script: Script, most: number): [Script, CallBatcher] => {
      const send: Send = (keys, args, call) => this.#run(0, script, keys, args, call);
      return [script, new CallBatcher(most, send)];
    };
    this.#batchers = settings.cluster
      ? null
      : new Map([batcher(CHANGE, MAX_STEPS), batcher(WRITE, MAX_STEPS), batcher(COMMIT, MAX_COMMITS)]);
  }

  /** Sends a command that only reads. */
  read(bucket: number, args: readonly Argument[], call: EngineCall): Promise<Reply> {
    return this.ask(bucket, new Encoded().addAll(args), call, (reply) => reply);
  }

  /** Sends a command that only reads, and resolves to its decoded reply. */
  ask<T>(bucket: number, command: Encoded, call: EngineCall, decode: (reply: Reply) => T | Promise<T>): Promise<T> {
    const { reader } = this.#servers;
    if (!reader) return this.#reach('read', bucket, call, (route) => route.send(command)).then(decode);
    return new Promise((resolve, reject) => reader.ask(command, new Question(decode, resolve, reject)));
  }

  /** Runs a script that only reads. */
  look(
    bucket: number,
    script: Script,
    keys: readonly string[],
    args: readonly Argument[],
    call: EngineCall,
  ): Promise<Reply> {
    const [encodedKeys, encodedArgs] = [new Encoded().addAll(keys), new Encoded().addAll(args)];
    return this.#reach('read', bucket, call, (route) => evaluate(route, script, encodedKeys, encodedArgs));
  }

  /**
   * Runs a script that writes. It is sent only once; the caller retries with the same idempotency key or request id.
   */
  write(
    bucket: number,
    script: Script,
    keys: readonly string[],
    args: readonly Argument[],
    call: EngineCall,
  ): Promise<Reply> {
    return this.#run(bucket, script, new Encoded().addAll(keys), new Encoded().addAll(args), call);
  }

  /** Like `write`, for a single server, with arguments that are encoded already. */
  run(script: Script, keys: Encoded, args: Encoded, call: EngineCall): Promise<Reply> {
    return this.#run(0, script, keys, args, call);
  }

  /** Sends the waiting calls of a script now, so that a script that is sent in the same turn shares their write. */
  sendWaiting(script: Script): void {
    this.#batchers?.get(script)?.sendWaiting();
  }

  /** Joins a script call shared with other callers, and resolves to this caller's decoded reply. */
  share<T>(
    bucket: number,
    script: Script,
    keys: Encoded,
    args: Encoded,
    call: EngineCall,
    decode: Decode<T>,
    waits = false,
  ): Promise<T> {
    const batcher = this.#batchers?.get(script);
    return batcher
      ? batcher.join(keys, args, call, decode, waits)
      : this.#alone(bucket, script, keys, args, call, decode);
  }

  async #alone<T>(
    bucket: number,
    script: Script,
    keys: Encoded,
    args: Encoded,
    call: EngineCall,
    decode: Decode<T>,
  ): Promise<T> {
    const [reply] = (await this.#run(bucket, script, keys, args, call)) as [Reply];
    if (reply instanceof Error) throw translate(reply, 'write');
    return decode(reply);
  }

  #run(bucket: number, script: Script, keys: Encoded, args: Encoded, call: EngineCall): Promise<Reply> {
    return this.#reach('write', bucket, call, (route) => this.#evaluate(route, script, keys, args, call));
  }

  /** Sends a write command that is safe to repeat. */
  put(bucket: number, args: readonly Argument[], call: EngineCall): Promise<Reply> {
    const command = new Encoded().addAll(args);
    return this.#reach('write', bucket, call, (route) => route.send(command));
  }

  /** Waits until nothing is in progress, including follow-up work of calls that have just ended. */
  async drain(): Promise<void> {
    do {
      while (this.#isBusy()) await sleep(1);
      await new Promise((resolve) => setImmediate(resolve));
    } while (this.#isBusy());
  }

  #isBusy(): boolean {
    if (this.#underWay > 0 || this.#servers.isWaiting()) return true;
    for (const batcher of this.#batchers?.values() ?? []) if (batcher.isWaiting) return true;
    return false;
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

  async #evaluate(route: Route, script: Script, keys: Encoded, args: Encoded, call: EngineCall): Promise<Reply> {
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

async function evaluate(route: Route, { sha, text }: Script, keys: Encoded, args: Encoded): Promise<Reply> {
  const command = (name: string, script: string) =>
    new Encoded().add(name).add(script).add(String(keys.count)).append(keys).append(args);
  let reply: Reply;
  try {
    reply = await route.send(command('EVALSHA', sha));
  } catch (error) {
    // After a restart or failover the server does not know the script, so the script was not executed.
    if (replyCode(error) !== 'NOSCRIPT') throw error;
    reply = await route.send(command('EVAL', text));
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

/**
 * A Redis Cluster: routes buckets to the masters of their slots. A command is redirected or retried only when the reply
 * proves that it was not executed.
 */

import { invalidArgument, TidemarkError } from '@tidemark/core';
import type { EngineCall } from '@tidemark/core/engine';
import { sleep } from '@tidemark/core/engine';
import { Connection } from './connection.ts';
import { isRefusedForNow, replyCode } from './errors.ts';
import type { Address, Settings } from './options.ts';
import type { Encoded } from './protocol/encode.ts';
import type { Reply } from './protocol/replies.ts';
import type { Route, Servers } from './servers.ts';

/** How long a command waits for a server to take over its slot before the command fails. */
const RETRY_FOR_MS = 1_500;
const RETRY_DELAY_MS = 25;
const REFRESH_AT_MOST_EVERY_MS = 50;

export class Cluster implements Servers {
  readonly reader = null;
  readonly #settings: Settings;
  readonly #connections = new Map<string, Connection>();
  #slots: readonly number[] = [];
  #masters: readonly Connection[] = [];
  /** The connection of each bucket. */
  #owners: Connection[] = [];
  #refreshing: Promise<void> | null = null;
  #refreshedAt = 0;

  private constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Discovers the cluster through the first given node that responds. */
  static async open(settings: Settings): Promise<Cluster> {
    const cluster = new Cluster(settings);
    let failure: unknown;
    for (const address of settings.nodes) {
      const connection = new Connection(address, settings);
      try {
        await connection.open();
        cluster.#connections.set(idOf(address), connection);
        await cluster.#readSlots(connection);
        return cluster;
      } catch (error) {
        connection.close();
        cluster.close();
        // Removed because a node that is tried later may list this node as a master, and a closed connection never
        // opens again.
        cluster.#connections.delete(idOf(address));
        failure = error;
      }
    }
    throw failure;
  }

  /** Sets the key that determines the slot of each bucket. */
  async divide(keys: readonly string[]): Promise<void> {
    const asked = [...this.#connections.values()].find(({ isReady }) => isReady) ?? this.#masters[0]!;
    this.#slots = (await Promise.all(keys.map((key) => asked.send(['CLUSTER', 'KEYSLOT', key])))) as number[];
    await this.#readSlots(asked);
    const until = Date.now() + RETRY_FOR_MS;
    while (this.#masters.some((master) => !master.isReady) && Date.now() < until) await sleep(5);
    const lost = this.#slots.findIndex((_, bucket) => this.#owners[bucket] === undefined);
    if (lost !== -1) throw unserved(keys[lost]!);
  }

  async reach<T>(bucket: number, call: EngineCall, work: (route: Route) => Promise<T>): Promise<T> {
    const until = Math.min(call.deadline ?? Number.POSITIVE_INFINITY, Date.now() + RETRY_FOR_MS);
    let asked: Connection | null = null;
    for (;;) {
      const connection: Connection = asked ?? this.#owners[bucket]!;
      const route = asked
        ? askingRoute(asked)
        : { connection, send: (command: Encoded) => connection.sendEncoded(command) };
      asked = null;
      try {
        return await work(route);
      } catch (error) {
        const code = replyCode(error);
        const moved = code === 'MOVED' || code === 'ASK';
        if ((!moved && !isRefusedForNow(error)) || Date.now() >= until || call.signal?.aborted) throw error;
        const target = moved ? this.#connectionTo(addressIn(error as Error, connection)) : null;
        if (code === 'ASK') asked = target;
        else if (target) this.#owners[bucket] = target;
        if (code === 'MOVED') void this.#refreshSlots();
        if (code === null || code === 'READONLY') await this.#refreshSlots();
        if (!target?.isReady) await sleep(RETRY_DELAY_MS);
      }
    }
  }

  isWaiting(): boolean {
    return [...this.#connections.values()].some(({ waiting }) => waiting > 0);
  }

  masters(): readonly Connection[] {
    return this.#masters;
  }

  close(): void {
    for (const connection of this.#connections.values()) connection.close();
  }

  #connectionTo(address: Address): Connection {
    const known = this.#connections.get(idOf(address));
    if (known) return known;
    const connection = new Connection(address, this.#settings);
    connection.openLater();
    this.#connections.set(idOf(address), connection);
    return connection;
  }

  /** Reads the masters of all slots from the first node that responds. Concurrent callers share one request. */
  #refreshSlots(): Promise<void> {
    if (performance.now() - this.#refreshedAt < REFRESH_AT_MOST_EVERY_MS) return Promise.resolve();
    this.#refreshing ??= this.#readSlotsOfAnyNode().finally(() => {
      this.#refreshing = null;
      this.#refreshedAt = performance.now();
    });
    return this.#refreshing;
  }

  async #readSlotsOfAnyNode(): Promise<void> {
    for (const connection of this.#connections.values()) {
      if (!connection.isReady) continue;
      try {
        await this.#readSlots(connection);
        return;
      } catch {
        // Try the next node.
      }
    }
  }

  async #readSlots(asked: Connection): Promise<void> {
    const reply = await asked.send(['CLUSTER', 'SLOTS']).catch((error: Error) => {
      if (!error.message.includes('cluster support disabled')) throw error;
      throw invalidArgument('url', 'that of a single server, without ?cluster=1: this one is no node of a Cluster');
    });
    const ranges = reply as [number, number, [Buffer, number, ...unknown[]]][];
    const masters = new Set<Connection>();
    const owners: Connection[] = [...this.#owners];
    for (const [first, last, [host, port]] of ranges) {
      // An empty host means the host through which the node was reached.
      const address = { host: host?.toString() || asked.address.host, port };
      const master = this.#connectionTo(address);
      masters.add(master);
      for (const [bucket, slot] of this.#slots.entries()) if (slot >= first && slot <= last) owners[bucket] = master;
    }
    if (masters.size === 0) throw unserved('any key');
    this.#masters = [...masters];
    this.#owners = owners;
    this.#forgetNodes();
  }

  /** Closes connections to nodes that have left the cluster. */
  #forgetNodes(): void {
    for (const [id, connection] of this.#connections) {
      if (connection.isReady || this.#masters.includes(connection)) continue;
      this.#connections.delete(id);
      connection.close();
    }
  }
}

/** A route that sends ASKING before every command, for a slot that is being migrated to this server. */
function askingRoute(connection: Connection): Route {
  return {
    connection,
    send(command): Promise<Reply> {
      connection.send(['ASKING']).catch(() => {});
      return connection.sendEncoded(command);
    },
  };
}

/** Parses `MOVED 3999 127.0.0.1:6381`. An empty host means the host through which the node was reached. */
function addressIn(error: Error, from: Connection): Address {
  const address = error.message.split(' ')[2] ?? '';
  const cut = address.lastIndexOf(':');
  return { host: address.slice(0, cut) || from.address.host, port: Number(address.slice(cut + 1)) };
}

function idOf({ host, port }: Address): string {
  return `${host}:${port}`;
}

function unserved(key: string): TidemarkError {
  return new TidemarkError('UNAVAILABLE', `No master of the cluster serves the slot of ${key} right now; try again`);
}

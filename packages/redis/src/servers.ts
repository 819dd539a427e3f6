/** Finds the server of a bucket: the single server, or in a Cluster the master of the bucket's slot. */
import { invalidArgument } from '@tidemark/core';
import type { EngineCall } from '@tidemark/core/engine';
import { Connection } from './connection.ts';
import { replyCode } from './errors.ts';
import type { Settings } from './options.ts';
import type { Encoded } from './protocol/encode.ts';
import type { Reply } from './protocol/replies.ts';

/** A route to a bucket. */
export interface Route {
  readonly connection: Connection;
  send(command: Encoded): Promise<Reply>;
}

export interface Servers {
  /** Runs work on the route to a bucket. Retries only if the server replied that it executed nothing. */
  reach<T>(bucket: number, call: EngineCall, work: (route: Route) => Promise<T>): Promise<T>;
  /** The connection for commands that only read, if a single server has all buckets, so that none is ever redirected. */
  readonly reader: Connection | null;
  /** Whether a command waits for its reply. */
  isWaiting(): boolean;
  /** The known masters. */
  masters(): readonly Connection[];
  close(): void;
}

/**
 * The connection to a single server. Everything that callers do in one turn of the event loop is one write to its
 * socket, and at most one flush of the server to its disk.
 */
export class SingleServer implements Servers {
  readonly #route: Route;
  /**
   * Reads use the connection of the writes. On a separate one they would not wait behind `WAIT`, but after a failover
   * they could stay with the former master while writes go to the new one.
   */
  readonly reader: Connection;

  private constructor(connection: Connection) {
    this.#route = { connection, send: (command) => connection.sendEncoded(command) };
    this.reader = connection;
  }

  static async open(settings: Settings): Promise<SingleServer> {
    const connection = new Connection(settings.nodes[0]!, settings);
    try {
      await connection.open();
      await refuseCluster(connection);
    } catch (error) {
      connection.close();
      throw error;
    }
    return new SingleServer(connection);
  }

  async reach<T>(_bucket: number, _call: EngineCall, work: (route: Route) => Promise<T>): Promise<T> {
    try {
      return await work(this.#route);
    } catch (error) {
      // The master has become a replica, so its name may now resolve to another server.
      if (replyCode(error) === 'READONLY') this.#route.connection.renew();
      throw error;
    }
  }

  isWaiting(): boolean {
    return this.reader.waiting > 0;
  }

  masters(): readonly Connection[] {
    return [this.#route.connection];
  }

  close(): void {
    this.reader.close();
  }
}

/** Throws for a node of a Cluster, because a single node serves only its own slots and redirects all other commands. */
async function refuseCluster(connection: Connection): Promise<void> {
  const info = await connection.send(['INFO', 'cluster']).catch(() => null);
  if (info instanceof Buffer && info.includes('cluster_enabled:1'))
    throw invalidArgument('url', 'one with ?cluster=1, or with several nodes: this server is a node of a Cluster');
}

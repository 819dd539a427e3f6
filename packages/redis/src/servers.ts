/** Finds the server of a bucket: the single server, or in a Cluster the master of the bucket's slot. */
import { invalidArgument } from '@tidemark/core';
import type { EngineCall } from '@tidemark/core/engine';
import { Connection } from './connection.ts';
import type { Encoded } from './protocol/encode.ts';
import type { Reply } from './protocol/replies.ts';
import { replyCode } from './errors.ts';
import type { Settings } from './options.ts';

/** A route to a bucket. */
export interface Route {
  readonly connection: Connection;
  send(command: Encoded): Promise<Reply>;
}

export interface Servers {
  /** Runs work on the route to a bucket. Retries only if the server replied that it executed nothing. */
  reach<T>(bucket: number, call: EngineCall, work: (route: Route) => Promise<T>): Promise<T>;
  /** The connection of a bucket, if a single server has them all, so that no command is ever redirected. */
  laneOf(bucket: number): Connection | null;
  /** Whether a command waits for its reply. */
  isWaiting(): boolean;
  /** The known masters. */
  masters(): readonly Connection[];
  close(): void;
}

/**
 * Connections to a single server. While one batch is executed, another is prepared or its replies are read. On one
 * connection, client and server would wait for each other, because both would handle two batches together.
 */
export const LANES = 2;

export class SingleServer implements Servers {
  readonly #routes: readonly Route[];

  private constructor(connections: readonly Connection[]) {
    this.#routes = connections.map((connection) => ({ connection, send: (command) => connection.sendEncoded(command) }));
  }

  static async open(settings: Settings): Promise<SingleServer> {
    const connections = Array.from({ length: LANES }, () => new Connection(settings.nodes[0]!, settings));
    try {
      await Promise.all(connections.map((connection) => connection.open()));
      await refuseCluster(connections[0]!);
    } catch (error) {
      for (const connection of connections) connection.close();
      throw error;
    }
    return new SingleServer(connections);
  }

  async reach<T>(bucket: number, _call: EngineCall, work: (route: Route) => Promise<T>): Promise<T> {
    const route = this.#routes[bucket % LANES]!;
    try {
      return await work(route);
    } catch (error) {
      // The master has become a replica, so its name may now resolve to another server.
      if (replyCode(error) === 'READONLY') route.connection.renew();
      throw error;
    }
  }

  laneOf(bucket: number): Connection {
    return this.#routes[bucket % LANES]!.connection;
  }

  isWaiting(): boolean {
    return this.#routes.some(({ connection }) => connection.waiting > 0);
  }

  masters(): readonly Connection[] {
    return [this.#routes[0]!.connection];
  }

  close(): void {
    for (const { connection } of this.#routes) connection.close();
  }
}

/** Throws for a node of a Cluster, because a single node serves only its own slots and redirects all other commands. */
async function refuseCluster(connection: Connection): Promise<void> {
  const info = await connection.send(['INFO', 'cluster']).catch(() => null);
  if (info instanceof Buffer && info.includes('cluster_enabled:1'))
    throw invalidArgument('url', 'one with ?cluster=1, or with several nodes: this server is a node of a Cluster');
}

/** Which server a bucket is on: always the one, or in a Cluster the master of its slot. */
import { invalidArgument } from '@tidemark/core';
import type { EngineCall } from '@tidemark/core/engine';
import { type Argument, Connection, type Reply } from './connection.ts';
import { replyCode } from './errors.ts';
import type { Settings } from './options.ts';

/** A way to a bucket. */
export interface Route {
  readonly connection: Connection;
  send(args: Argument[]): Promise<Reply>;
}

export interface Servers {
  /** Does something on the way to a bucket; begins again only where the server said that it did nothing. */
  reach<T>(bucket: number, call: EngineCall, work: (route: Route) => Promise<T>): Promise<T>;
  /** The masters that are known. */
  masters(): readonly Connection[];
  close(): void;
}

/**
 * How many connections a single server gets. What one group asks for is under way while another is prepared or answered:
 * on one connection the client and the server would read and answer both together, and each wait for the other.
 */
export const LANES = 2;

export class SingleServer implements Servers {
  readonly #routes: readonly Route[];

  private constructor(connections: readonly Connection[]) {
    this.#routes = connections.map((connection) => ({ connection, send: (args) => connection.send(args) }));
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
      // A master that has become a replica: its name may lead to another server by now.
      if (replyCode(error) === 'READONLY') route.connection.renew();
      throw error;
    }
  }

  masters(): readonly Connection[] {
    return [this.#routes[0]!.connection];
  }

  close(): void {
    for (const { connection } of this.#routes) connection.close();
  }
}

/** A node of a Cluster would answer for its own slots and send us away for all others. */
async function refuseCluster(connection: Connection): Promise<void> {
  const info = await connection.send(['INFO', 'cluster']).catch(() => null);
  if (info instanceof Buffer && info.includes('cluster_enabled:1'))
    throw invalidArgument('url', 'one with ?cluster=1, or with several nodes: this server is a node of a Cluster');
}

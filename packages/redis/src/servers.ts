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

export class SingleServer implements Servers {
  readonly #connection: Connection;
  readonly #route: Route;

  private constructor(connection: Connection) {
    this.#connection = connection;
    this.#route = { connection, send: (args) => connection.send(args) };
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
      // A master that has become a replica: its name may lead to another server by now.
      if (replyCode(error) === 'READONLY') this.#connection.renew();
      throw error;
    }
  }

  masters(): readonly Connection[] {
    return [this.#connection];
  }

  close(): void {
    this.#connection.close();
  }
}

/** A node of a Cluster would answer for its own slots and send us away for all others. */
async function refuseCluster(connection: Connection): Promise<void> {
  const info = await connection.send(['INFO', 'cluster']).catch(() => null);
  if (info instanceof Buffer && info.includes('cluster_enabled:1'))
    throw invalidArgument('url', 'one with ?cluster=1, or with several nodes: this server is a node of a Cluster');
}

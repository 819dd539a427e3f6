/** A Redis Cluster for tests: masters, each with a number of replicas, all started by us. */

import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runQuietly } from '../processes.ts';
import { startKind } from './index.ts';
import { findProgram } from './install.ts';
import type { ServerKind } from './kind.ts';
import { redis } from './redis.ts';
import type { RunningServer } from './start.ts';

const NODE_TIMEOUT_MS = 2_000;
const READY_WITHIN_MS = 30_000;

/** Returns a server that can join a cluster. Its second port is for the other nodes. */
const nodeOf = (kind: ServerKind): ServerKind => ({
  ...kind,
  name: 'redis-node',
  title: `A node of ${kind.title} Cluster`,
  // A node in a container would announce an address that nothing else can reach.
  container: { ports: [6379, 16379], args: [], environment: {} },
  serverArgs: (installation) => [
    ...kind.serverArgs(installation),
    ...[
      '--cluster-enabled',
      'yes',
      '--cluster-config-file',
      'nodes.conf',
      '--cluster-port',
      String(installation.ports[1]),
    ],
    ...['--cluster-node-timeout', String(NODE_TIMEOUT_MS), '--cluster-replica-validity-factor', '0'],
  ],
});

export interface RunningCluster {
  /** Names all nodes. */
  url: string;
  nodes: readonly RunningServer[];
  /** Runs a redis-cli command on a node and returns its output. Rejects if the node refuses it. */
  cli(port: number, ...args: string[]): Promise<string>;
  stop(): Promise<void>;
}

export async function startRedisCluster({ masters = 3, replicas = 0, kind = redis } = {}): Promise<RunningCluster> {
  const node = nodeOf(kind);
  const started = await Promise.allSettled(Array.from({ length: masters * (1 + replicas) }, () => startKind(node)));
  const nodes = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const stop = async () => void (await Promise.all(nodes.map((server) => server.stop())));
  try {
    for (const result of started) if (result.status === 'rejected') throw result.reason;
    const places = nodes.map(({ url }) => new URL(url).host);
    await runCli(['--cluster', 'create', ...places, '--cluster-replicas', String(replicas), '--cluster-yes']);
    for (const { url } of nodes) await untilJoined(Number(new URL(url).port), nodes.length);
    const cli = (port: number, ...args: string[]) => runCli(['-e', '-p', String(port), ...args]);
    return { url: `redis://${places.join(',')}`, nodes, cli, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Waits until a node knows all others, the cluster accepts commands, and replicas are in sync. */
async function untilJoined(port: number, nodes: number): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const state = await runCli(['-p', String(port), 'CLUSTER', 'INFO']);
    const joined = state.includes('cluster_state:ok') && state.includes(`cluster_known_nodes:${nodes}\r`);
    if (joined && /role:master|master_link_status:up/.test(await runCli(['-p', String(port), 'INFO', 'replication'])))
      return;
    if (performance.now() > deadline) throw new Error(`The cluster did not come up:\n${state}`);
    await sleep(50);
  }
}

/** redis-cli is installed with the server. */
async function runCli(args: string[]): Promise<string> {
  const server = findProgram(redis);
  if (!server) throw new Error('redis-cli is missing: it comes with redis-server.');
  const { code, output } = await runQuietly(join(dirname(server), 'redis-cli'), args);
  if (code !== 0) throw new Error(`redis-cli ${args.join(' ')} failed:\n${output}`);
  return output;
}

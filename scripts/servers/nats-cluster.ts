/** Three NATS servers that form a cluster, each with its own process, which can be killed and restarted. */

import { setTimeout as sleep } from 'node:timers/promises';
import { startKind } from './index.ts';
import { type NatsVersion, natsOf } from './nats-versions.ts';
import { freePorts } from './ports.ts';
import type { RunningServer } from './start.ts';

const NODES = 3;
const HEALTHY_WITHIN_MS = 60_000;

export interface NatsCluster {
  /** The URLs of all nodes, separated by commas. */
  url: string;
  version: string;
  /** Named `n1`, `n2`, `n3`. */
  nodes: RunningServer[];
  /** The monitoring URL of each node. */
  monitoring: string[];
  /** Waits until every node reports that it is healthy. */
  healthy(): Promise<void>;
  stop(): Promise<void>;
}

export async function startNatsCluster(version: NatsVersion, jetstream = ''): Promise<NatsCluster> {
  const ports = await freePorts(NODES);
  const routes = ports.map((port) => `"nats://127.0.0.1:${port}"`).join(', ');
  const started = await Promise.allSettled(
    ports.map(async (port, at) => {
      const cluster = `cluster { name: tidemark, listen: "127.0.0.1:${port}", routes: [${routes}], no_advertise: true }`;
      const kind = await natsOf(
        version,
        () => `server_name: n${at + 1}\n${cluster}`,
        () => jetstream,
      );
      return startKind(kind);
    }),
  );
  const nodes = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const stop = async () => void (await Promise.all(nodes.map((node) => node.stop())));
  const monitoring = nodes.map((node) => `http://127.0.0.1:${node.started!.ports[1]}`);
  const healthy = async () => void (await Promise.all(monitoring.map(untilHealthy)));
  try {
    const failure = started.find((result) => result.status === 'rejected');
    if (failure) throw failure.reason;
    await healthy();
  } catch (error) {
    await stop();
    throw error;
  }
  const url = `nats://${nodes.map((node) => new URL(node.url).host).join(',')}`;
  return { url, version: nodes[0]!.version, nodes, monitoring, healthy, stop };
}

async function untilHealthy(address: string): Promise<void> {
  const deadline = performance.now() + HEALTHY_WITHIN_MS;
  for (;;) {
    const answer = await fetch(`${address}/healthz`).catch(() => null);
    await answer?.body?.cancel();
    if (answer?.status === 200) return;
    if (performance.now() > deadline) throw new Error(`The NATS node at ${address} does not become healthy.`);
    await sleep(50);
  }
}

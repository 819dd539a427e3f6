/** The NATS servers that tests use, and streams of their own on them. */
import { randomUUID } from 'node:crypto';
import { connect } from '@nats-io/transport-node';
import { neededServers, offeredUrl, startKind, startOwnServer } from '../../../scripts/servers/index.ts';
import { startNatsCluster } from '../../../scripts/servers/nats-cluster.ts';
import { type NatsVersion, natsOf } from '../../../scripts/servers/nats-versions.ts';
import type { NatsOptions } from '../src/index.ts';
import { serversOf } from '../src/options.ts';
import { STREAM_KINDS, streamName } from '../src/streams/streams.ts';

/** Whether this run of the tests leaves NATS out on purpose. */
export const WITHOUT_NATS = !neededServers().includes('nats');

/** The server that all tests share. */
export function sharedServer(): string {
  const url = offeredUrl('nats');
  if (url === undefined) throw new Error('No NATS was started for the tests.');
  return url;
}

/** Where the kit runs, and what ends it. */
export interface Setting {
  options: NatsOptions;
  version: string;
  stop(): Promise<void>;
}

export async function onSharedServer(): Promise<Setting> {
  return { options: { url: sharedServer() }, version: 'shared', stop: async () => {} };
}

/** One server of its own, as Debian 12 has it. */
async function onOwnServer(): Promise<Setting> {
  const server = await startOwnServer('nats');
  return { options: { url: server.url }, version: server.version, stop: () => server.stop() };
}

/** A cluster of three; servers that can, sync before they acknowledge. */
export async function onOwnCluster(version: NatsVersion): Promise<Setting> {
  const cluster = await startNatsCluster(version, version === 'installed' ? '' : 'sync_interval: always');
  const { url, monitoring } = cluster;
  return { options: { url, monitoring, replicas: 3 }, version: cluster.version, stop: () => cluster.stop() };
}

/** One server of its own that syncs before it acknowledges. */
export async function onSyncedServer(): Promise<Setting> {
  const kind = await natsOf(
    '2.10',
    () => '',
    () => 'sync_interval: always',
  );
  const server = await startKind(kind);
  const monitoring = [`http://127.0.0.1:${server.started!.ports[1]}`];
  return { options: { url: server.url, monitoring }, version: server.version, stop: () => server.stop() };
}

/** A prefix that no other test has, so that its streams are its own. */
export function newPrefix(): string {
  return `test_${randomUUID().replaceAll('-', '')}`;
}

/** Asks the JetStream of a server something, without our store. */
export async function askServer<T>(url: string, subject: string, question: unknown = ''): Promise<T> {
  const { servers, ...login } = serversOf(url);
  const connection = await connect({ servers, ...login });
  try {
    const data = typeof question === 'string' ? question : JSON.stringify(question);
    const answer = await connection.request(`$JS.API.${subject}`, data, { timeout: 5_000 });
    return answer.json<T>();
  } finally {
    await connection.close();
  }
}

export async function removeStreams(url: string, prefix: string): Promise<void> {
  for (const kind of STREAM_KINDS) await askServer(url, `STREAM.DELETE.${streamName(prefix, kind)}`);
}

/** Where `npm run test:matrix` runs the kit. */
export const SETTINGS: Record<string, () => Promise<Setting>> = {
  'NATS 2.9, one server': onOwnServer,
  'NATS 2.9, three servers': () => onOwnCluster('installed'),
  'NATS 2.10 that syncs always, one server': onSyncedServer,
  'NATS 2.10 that syncs always, three servers': () => onOwnCluster('2.10'),
};

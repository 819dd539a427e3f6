/** The NATS servers that tests use, and separate streams on them. */
import { randomUUID } from 'node:crypto';
import { connect } from '@nats-io/transport-node';
import { neededServers, offeredUrl, startKind, startOwnServer } from '../../../scripts/servers/index.ts';
import { startNatsCluster } from '../../../scripts/servers/nats-cluster.ts';
import { type NatsVersion, natsOf } from '../../../scripts/servers/nats-versions.ts';
import type { NatsOptions } from '../src/index.ts';
import { parseServers } from '../src/options.ts';
import { STREAM_KINDS, streamName } from '../src/streams/streams.ts';

/** Whether this test run deliberately excludes NATS. */
export const WITHOUT_NATS = !neededServers().includes('nats');

/** The server that all tests share. */
export function sharedServer(): string {
  const url = offeredUrl('nats');
  if (url === undefined) throw new Error('No NATS was started for the tests.');
  return url;
}

/** The servers that the kit runs on, and how to stop them. */
export interface Setting {
  options: NatsOptions;
  version: string;
  stop(): Promise<void>;
}

export async function onSharedServer(): Promise<Setting> {
  return { options: { url: sharedServer() }, version: 'shared', stop: async () => {} };
}

/** Starts a server of the version in Debian 12. */
async function onOwnServer(): Promise<Setting> {
  const server = await startOwnServer('nats');
  return { options: { url: server.url }, version: server.version, stop: () => server.stop() };
}

/** Starts a cluster of three. Servers that support it sync before they acknowledge. */
export async function onOwnCluster(version: NatsVersion): Promise<Setting> {
  const cluster = await startNatsCluster(version, version === 'installed' ? '' : 'sync_interval: always');
  const { url, monitoring } = cluster;
  return { options: { url, monitoring, replicas: 3 }, version: cluster.version, stop: () => cluster.stop() };
}

/** Starts a server that syncs before it acknowledges. */
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

/** Returns a prefix that no other test uses, for separate streams. */
export function newPrefix(): string {
  return `test_${randomUUID().replaceAll('-', '')}`;
}

/** Sends a request to the JetStream API of a server, without the store. */
export async function askServer<T>(url: string, subject: string, question: unknown = ''): Promise<T> {
  const { servers, login } = parseServers(url);
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

/** The setups on which `npm run test:matrix` runs the kit. */
export const SETTINGS: Record<string, () => Promise<Setting>> = {
  'NATS 2.9, one server': onOwnServer,
  'NATS 2.9, three servers': () => onOwnCluster('installed'),
  'NATS 2.10 that syncs always, one server': onSyncedServer,
  'NATS 2.10 that syncs always, three servers': () => onOwnCluster('2.10'),
};

/** NATS for tests: one server with JetStream on disk. Its second port is HTTP monitoring. */

import { join } from 'node:path';
import { converse } from './conversation.ts';
import type { ServerKind } from './kind.ts';

export const nats: ServerKind = {
  name: 'nats',
  title: 'NATS',
  program: 'nats-server',
  elsewhere: ['/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'],
  aptPackage: 'nats-server',
  container: { image: 'nats:2', ports: [4222, 8222], args: ['-js', '-m', '8222'], environment: {} },
  refusesRoot: false,
  stopSignal: 'SIGTERM',
  serverArgs: ({ directory, ports }) => [
    ...['-a', '127.0.0.1', '-p', String(ports[0]), '-m', String(ports[1])],
    ...['-js', '-sd', join(directory, 'jetstream')],
  ],
  url: (port) => `nats://127.0.0.1:${port}`,
  probe,
};

function probe(url: URL): Promise<string> {
  return converse(url, 4222, async ({ send, receive }) => {
    const info = await receive((received) => {
      const line = /^INFO (.+)\r\n/.exec(received.toString())?.[1];
      return line === undefined ? undefined : JSON.parse(line);
    });
    if (!info.jetstream) throw new Error('JetStream is off');
    if (info.tls_required) return info.version;
    const credentials = url.username
      ? { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) }
      : {};
    send(`CONNECT ${JSON.stringify({ verbose: false, lang: 'tidemark-tests', ...credentials })}\r\nPING\r\n`);
    await receive((received) => {
      const text = received.toString();
      if (text.startsWith('-ERR')) throw new Error(`NATS answered ${text.trim()}`);
      return text.includes('PONG\r\n') || undefined;
    });
    return info.version;
  });
}

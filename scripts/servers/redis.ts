/**
 * Redis for tests, in the only configuration that Tidemark considers durable: every write is in the append-only file
 * and flushed.
 */

import { converse } from './conversation.ts';
import type { ServerKind } from './kind.ts';

const DURABLE = [
  ...['--appendonly', 'yes', '--appendfsync', 'always', '--no-appendfsync-on-rewrite', 'no'],
  ...['--maxmemory-policy', 'noeviction', '--save', ''],
];

export const redis: ServerKind = {
  name: 'redis',
  title: 'Redis',
  program: 'redis-server',
  elsewhere: ['/usr/local/bin', '/opt/homebrew/bin'],
  aptPackage: 'redis-server',
  container: { image: 'redis:7', ports: [6379], args: ['redis-server', ...DURABLE], environment: {} },
  refusesRoot: false,
  stopSignal: 'SIGTERM',
  serverArgs: ({ directory, ports }) => [
    ...['--bind', '127.0.0.1', '--port', String(ports[0]), '--dir', directory, '--daemonize', 'no'],
    ...DURABLE,
  ],
  url: (port) => `redis://127.0.0.1:${port}`,
  probe,
};

function probe(url: URL): Promise<string> {
  return converse(url, 6379, async ({ send, receive }) => {
    if (url.password) {
      const credentials = [url.username, url.password].filter(Boolean).map(decodeURIComponent);
      send(command('AUTH', ...credentials));
      await receive(understandReply('+OK'));
    }
    send(command('PING'));
    await receive(understandReply('+PONG'));
    send(command('INFO', 'server'));
    return receive((received) => {
      const info = received.toString();
      // Valkey also reports the Redis version it is compatible with.
      return (/^valkey_version:(\S+)\r\n/m.exec(info) ?? /^redis_version:(\S+)\r\n/m.exec(info))?.[1];
    });
  });
}

function command(...parts: string[]): string {
  return `*${parts.length}\r\n${parts.map((part) => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join('')}`;
}

function understandReply(expected: string): (received: Buffer) => true | undefined {
  return (received) => {
    const text = received.toString();
    if (!text.endsWith('\r\n')) return undefined;
    if (text.trim() !== expected) throw new Error(`Redis answered ${text.trim()}`);
    return true;
  };
}

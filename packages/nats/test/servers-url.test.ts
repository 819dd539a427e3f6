/** The URL of servers: TLS that it asks for, and logins that cannot be decoded. */
import { describe, expect, it } from 'vitest';
import { natsStore } from '../src/index.ts';
import { parseServers } from '../src/options.ts';
import { newPrefix, sharedServer, WITHOUT_NATS } from './servers.ts';

describe('a URL of servers', () => {
  it('asks for TLS when one of them has the scheme tls', () => {
    expect(parseServers('nats://a:1,b:2')).toEqual({ servers: ['a:1', 'b:2'], needsTls: false, login: {} });
    expect(parseServers('tls://u:p@a:1,nats://b:2')).toEqual({
      servers: ['a:1', 'b:2'],
      needsTls: true,
      login: { user: 'u', pass: 'p' },
    });
    expect(parseServers('nats://a:1,tls://token@b:2')).toMatchObject({ needsTls: true, login: { token: 'token' } });
  });

  it('with broken percent escapes is rejected without showing them', () => {
    expect(() => parseServers('nats://secret%zz@a:1')).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        field: 'url',
        message: expect.not.stringContaining('secret'),
      }),
    );
  });
});

describe.skipIf(WITHOUT_NATS)('a server without TLS', () => {
  it.each([
    ['a URL that asks for it', (url: string) => ({ url: url.replace('nats://', 'tls://') })],
    ['the option tls', (url: string) => ({ url, tls: {} })],
  ])('is refused with %s', async (_, options) => {
    await expect(natsStore({ ...options(sharedServer()), prefix: newPrefix() })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
  });
});

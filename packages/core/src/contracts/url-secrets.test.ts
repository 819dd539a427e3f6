/** No part of a password, token or login is shown, wherever it is in a URL and whatever characters it has. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { invalidArgument } from './errors.ts';
import { hideUrlSecrets, holdsSecret, invalidUrl, shownUrl } from './url-secrets.ts';

/** Every word of a secret is this word, so that the tests detect any part of a secret that is shown. */
const WORD = 'Qx7secret';

const SCHEMES = ['postgres', 'postgresql', 'redis', 'rediss', 'nats', 'tls', 'http', 'https'];

const scheme = fc
  .tuple(fc.constantFrom(...SCHEMES), fc.boolean())
  .map(([name, isUpper]) => (isUpper ? name.toUpperCase() : name));
const secret = fc
  .array(fc.constantFrom('/', '?', '#', '@', ':', ',', '&', '=', '%', '%40', '%2F', '\\', ';', '.', '$', '//'), {
    maxLength: 4,
  })
  .map((separators) => [WORD, ...separators.map((it) => it + WORD)].join(''));
const name = fc.constantFrom('password', 'pass', 'token', 'sslpassword', 'user', 'key', 'PGPASSWORD', 'listenUrl', 'x');

type Form = (scheme: string, secret: string, name: string) => string;
const FORMS: Record<string, Form> = {
  'the password': (of, it) => `${of}://ada:${it}@host:5432/app`,
  'a password without a user': (of, it) => `${of}://:${it}@host/0`,
  'a token instead of a user': (of, it) => `${of}://${it}@host:4222`,
  'the user and the password': (of, it) => `${of}://${it}:${it}@host/app`,
  'the login of the second host': (of, it) => `${of}://a:7000,ada:${it}@b:7000`,
  'the logins of all hosts': (of, it) => `${of}://ada:${it}@a,ada:${it}@b,ada:${it}@c`,
  'the first of several URLs': (of, it) => `${of}://${it}@a:4222,${of}://b:4222`,
  'a value of the query': (of, it, as) => `${of}://host/app?${as}=${it}`,
  'a value among harmless ones': (of, it, as) => `${of}://host/app?schema=state&${as}=${it}&replicas=3`,
  'a query without a name': (of, it) => `${of}://host/app?${it}`,
  'the fragment': (of, it) => `${of}://host/app#${it}`,
  'no host at all': (of, it) => `${of}://ada:${it}@`,
  'a URL without its at sign': (of, it) => `${of}://ada:${it.replaceAll('@', '')}`,
  'a URL without slashes': (of, it) => `${of}:ada:${it}@host`,
  'a URL with backslashes': (of, it) => `${of}:\\\\ada:${it}@host`,
  'a URL with spaces in front': (of, it) => ` ${of}://ada:${it}@host`,
  'an unknown scheme': (of, it) => `${of}x://ada:${it}@host`,
  'no scheme': (_, it) => `ada:${it}@host`,
  'a file': (_, it) => `sqlite://ada:${it}@host/app.db`,
  'the query of a file': (_, it, as) => `sqlite:app.db?${as}=${it}`,
};

describe.each(Object.entries(FORMS))('a secret in %s', (_, form) => {
  it('is not shown, alone or in an error', () => {
    fc.assert(
      fc.property(scheme, secret, name, (of, it, as) => {
        const url = form(of, it, as);
        expect(shownUrl(url)).not.toContain(WORD);
        expect(holdsSecret(url)).toBe(true);
        expect(invalidUrl('another', url).message).not.toContain(WORD);
        expect(invalidArgument('url', 'another', url).message).not.toContain(WORD);
      }),
      { numRuns: 500 },
    );
  });
});

describe('a secret in a string', () => {
  const forms = Object.entries(FORMS).filter(([where]) => !/slashes|no scheme|query of a file/.test(where));
  it.each(forms)('with a URL that has it in %s is not shown', (_, form) => {
    fc.assert(
      fc.property(scheme, secret, name, (of, it, as) => {
        const url = form(of, it, as);
        const text = hideUrlSecrets(`connect to ${url} failed, and "${url}" too.`);
        expect(text).not.toContain(WORD);
        expect(text).toMatch(/^connect to .* failed, and ".*" too\.$/);
        expect(invalidArgument('text', 'another', `see ${url}`).message).not.toContain(WORD);
      }),
      { numRuns: 200 },
    );
  });

  it('takes time linear in the length of the text', () => {
    for (const piece of ['://', 'a://', 'postgres://a', 'postgres://u:p@h ', ':', '@', '/', 'x'])
      expect(hideUrlSecrets(piece.repeat(200_000)).length).toBeGreaterThan(0);
  });
});

describe('a harmless part of a URL', () => {
  it.each([
    ['memory:', 'memory:'],
    ['sqlite:./.tidemark/state.db', 'sqlite:./.tidemark/state.db'],
    ['sqlite:/home/ada@work/app.db', 'sqlite:/home/ada@work/app.db'],
    ['postgres://ada:pw@db.example.com:5432/app', 'postgres://***@db.example.com:5432/app'],
    ['postgres://db/app?schema=state&maxConnections=20', 'postgres://db/app?schema=state&maxConnections=20'],
    ['postgres://db/app?schema=state&password=pw', 'postgres://db/app?schema=state&***'],
    ['redis://:pw@a:7000,b:7001,[::1]:7002', 'redis://***@a:7000,b:7001,[::1]:7002'],
    ['NATS://token@host', 'nats://***@host'],
    ['http://127.0.0.1:7420', 'http://127.0.0.1:7420'],
    ['https://tidemark.example.com/base/path', 'https://tidemark.example.com/base/path'],
  ])('is shown: %s', (url, shown) => {
    expect(shownUrl(url)).toBe(shown);
  });

  it('is shown in a string', () => {
    const text = 'GET http://127.0.0.1:7420: refused; see https://tidemark.example.com/errors.';
    expect(hideUrlSecrets(text)).toBe(text);
    for (const line of [
      'archived at s3://bucket/acme/2026/pack.jsonl.zst, restore it first',
      '    at check (file:///work/node_modules/@tidemark/core/src/runs/chain.ts:109:11)',
      'see https://tidemark.example.com/v1/runs/a%20b/events',
    ])
      expect(hideUrlSecrets(line)).toBe(line);
  });
});

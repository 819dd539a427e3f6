/** Tokens: forged ones are refused, valid ones set their tenant, scopes and session. */
import { createHmac, generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bearer, SYSTEM_TENANT } from '../src/index.ts';
import { AUDIENCE, CLAIMS, ISSUER, newIssuer } from './issuer.ts';
import { bearing, startSecured } from './security-setup.ts';

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

describe('tokens', () => {
  it('set their tenant, scopes and session', async () => {
    const { options, sign } = await newIssuer();
    const { url } = await startSecured({}, { jwt: options });
    const statusOf = async (path: string, token: string) =>
      (await fetch(url + path, { headers: bearing(token) })).status;
    const token = await sign();
    expect(await statusOf('/v1/runs', token)).toBe(200);
    expect(await statusOf('/v1/runs?tenant=other', token)).toBe(403);
    expect(await statusOf('/v1/admin/removed-runs', token)).toBe(403);
    expect(await statusOf('/v1/admin/removed-runs', await sign({ scope: ['tidemark:admin'] }))).toBe(200);
    expect(await statusOf('/v1/runs', await sign({ scope: 'read admin' })), 'scopes of others').toBe(403);
    const session = await sign({ session: 's1' });
    expect(await statusOf('/v1/sessions/s1/tasks', session)).toBe(200);
    expect(await statusOf('/v1/sessions/s2/tasks', session)).toBe(403);
    expect(await statusOf('/v1/runs', session)).toBe(403);
  });

  it('are rejected with 401 when forged, in every way', async () => {
    const { options, publicKey, privateKey, sign } = await newIssuer();
    const fetched: string[] = [];
    const evil = createHttpServer((request, response) => {
      fetched.push(request.url!);
      response.end('{}');
    });
    await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void evil.close());
    const evilUrl = `http://127.0.0.1:${(evil.address() as { port: number }).port}/keys`;
    const other = await generateKeyPair('RS256', { extractable: true });
    const valid = await sign();
    const [header, payload, signature] = valid.split('.') as [string, string, string];
    const claims = { iss: ISSUER, aud: AUDIENCE, exp: Math.floor(Date.now() / 1_000) + 60, ...CLAIMS };
    const { exp: _, ...forever } = claims;
    const pem = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ type: 'spki', format: 'pem' });
    const withSecret = (secret: string | Buffer) => {
      const text = `${encoded({ alg: 'HS256', kid: 'one' })}.${encoded(claims)}`;
      return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
    };
    const publicText = JSON.stringify(await exportJWK(publicKey));
    const forged: Record<string, string> = {
      'alg none': `${encoded({ alg: 'none' })}.${encoded(claims)}.`,
      'alg NoNe with a signature': `${encoded({ alg: 'NoNe', kid: 'one' })}.${payload}.${signature}`,
      'no signature': `${header}.${payload}.`,
      'another payload': `${header}.${encoded({ ...claims, tenant: 'other' })}.${signature}`,
      'HMAC with the public key as its secret': withSecret(publicText),
      'HMAC with a PEM as its secret': withSecret(pem),
      'signed by another key': await sign({}, { key: other.privateKey }),
      'a key of its own (jwk)': await sign(
        {},
        {
          key: other.privateKey,
          header: { kid: undefined, jwk: await exportJWK(other.publicKey) },
        },
      ),
      'a key set of its own (jku)': await sign({}, { key: other.privateKey, header: { kid: 'evil', jku: evilUrl } }),
      'a certificate of its own (x5u)': await sign({}, { key: other.privateKey, header: { x5u: evilUrl } }),
      'an algorithm that is not allowed': await sign(
        {},
        {
          key: (await generateKeyPair('RS512')).privateKey,
          header: { alg: 'RS512' },
        },
      ),
      'a critical extension': `${encoded({ alg: 'RS256', kid: 'one', crit: ['x'], x: 1 })}.${payload}.${signature}`,
      'no end': await new SignJWT(forever).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(privateKey),
      expired: await sign({}, { expires: Math.floor(Date.now() / 1_000) - 60 }),
      'not valid yet': await sign({ nbf: Math.floor(Date.now() / 1_000) + 600 }),
      'another issuer': await sign({ iss: 'https://evil.test' }),
      'another audience': await sign({ aud: 'somebody else' }),
      'no tenant': await sign({ tenant: undefined }),
      'a tenant that is no text': await sign({ tenant: ['acme'] }),
      "the server's own tenant": await sign({ tenant: SYSTEM_TENANT }),
      'a session that is no text': await sign({ session: {} }),
      'two dots and nothing': '..',
      garbage: 'a.b.c',
    };
    const { url } = await startSecured({}, { jwt: options });
    for (const [kind, token] of Object.entries(forged)) {
      const answer = await fetch(`${url}/v1/runs`, { headers: bearing(token) });
      expect(answer.status, kind).toBe(401);
    }
    expect((await fetch(`${url}/v1/runs`, { headers: bearing(valid) })).status, 'the one that is not').toBe(200);
    expect(fetched, 'nothing that a token names is fetched').toEqual([]);
  });

  it('are verified with keys from a URL, fetched once, and rejected with 503 while there are none', async () => {
    const { file, options, sign } = await newIssuer();
    let requests = 0;
    let isUp = false;
    const provider = createHttpServer((_, response) => {
      requests++;
      response.writeHead(isUp ? 200 : 500, { 'content-type': 'application/json' });
      response.end(isUp ? readFileSync(file) : '');
    });
    await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void provider.close());
    const keys = `http://127.0.0.1:${(provider.address() as { port: number }).port}/keys`;
    const { url } = await startSecured({}, { jwt: { ...options, keys } });
    const token = await sign();
    const statusOf = async () => (await fetch(`${url}/v1/runs`, { headers: bearing(token) })).status;
    expect(await statusOf()).toBe(503);
    isUp = true;
    expect(await statusOf()).toBe(200);
    const before = requests;
    for (let n = 0; n < 10; n++) expect(await statusOf()).toBe(200);
    expect(requests).toBe(before);
  });
});

describe('settings', () => {
  it('that would weaken verification are rejected', async () => {
    const { options } = await newIssuer();
    for (const [field, wrong] of [
      ['algorithms', { algorithms: ['HS256'] }],
      ['algorithms', { algorithms: ['none'] }],
      ['algorithms', { algorithms: [] }],
      ['issuer', { issuer: '' }],
      ['audience', { audience: '' }],
      ['keys', { keys: 'http://id.test/keys' }],
    ] as const)
      expect(() => bearer({ jwt: { ...options, ...wrong } })).toThrow(expect.objectContaining({ field }));
  });
});
